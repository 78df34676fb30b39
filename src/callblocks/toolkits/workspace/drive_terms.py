"""The fields that Drive's search knows, how each is compared, and with what values.

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
    """What a field is compared by, and with what."""

    kind: Literal["text", "time", "truth", "members"]
    operators: tuple[str, ...]

    @property
    def stands_alone(self) -> bool:
        """Whether the field by itself means `= true`."""
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
    """The value that a field is compared with; `ValueError` says why it is none."""
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
    """A moment as Drive compares it: UTC, without fractions beyond thousandths."""
    try:
        moment = datetime.fromisoformat(text)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return aware.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"{text!r} is no time; write 2024-05-01 or 2024-05-01T12:00:00+02:00"
        ) from error
