"""The fields of Drive's search, their operators and values.

name mimeType                                   contains = !=            text
fullText                                        contains                 words, or "a phrase"
modifiedTime createdTime viewedByMeTime         < <= = != >= >           a time, UTC by default
trashed starred sharedWithMe                    = !=                     true, false
parents owners writers readers                  'value' in               an id, an address
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

import msgspec

__all__ = ("FIELDS", "Field", "read_time", "read_value")


class Field(msgspec.Struct, frozen=True):
    """The operators of a field, and the kind of its values."""

    kind: Literal["text", "time", "truth", "members"]
    operators: tuple[str, ...]

    @property
    def stands_alone(self) -> bool:
        """True if the field by itself means `= true`."""
        return self.kind == "truth"


_TEXT = Field("text", ("contains", "=", "!="))
_TIME = Field("time", ("<", "<=", "=", "!=", ">=", ">"))
_TRUTH = Field("truth", ("=", "!="))
_MEMBERS = Field("members", ("in",))

# The fields by name.
FIELDS = {
    "name": _TEXT,
    "fullText": Field("text", ("contains",)),
    "mimeType": _TEXT,
    "modifiedTime": _TIME,
    "createdTime": _TIME,
    "viewedByMeTime": _TIME,
    "trashed": _TRUTH,
    "starred": _TRUTH,
    "sharedWithMe": _TRUTH,
    "parents": _MEMBERS,
    "owners": _MEMBERS,
    "writers": _MEMBERS,
    "readers": _MEMBERS,
}


def read_value(field: Field, text: str, *, quoted: bool) -> str | bool:
    """Parse the value of a field; `ValueError` with the reason."""
    match field.kind:
        case "truth":
            if text.lower() not in ("true", "false"):
                raise ValueError(f"the value is true or false, not {text!r}")
            return text.lower() == "true"
        case "time":
            return read_time(text)
        case "text" | "members":
            if not quoted:
                raise ValueError(f"put the value in quotes: '{text}'")
            return text


def read_time(text: str) -> str:
    """Return a time as Drive compares it: UTC, in milliseconds."""
    try:
        moment = datetime.fromisoformat(text)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return aware.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"{text!r} is no time; write 2024-05-01 or 2024-05-01T12:00:00+02:00"
        ) from error
