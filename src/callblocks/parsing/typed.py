"""Text that a model wrote for a parameter, as the type that the tool's schema says.

A string stays exactly as written. Text that does not fit its schema stays text, and the
caller is told.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from callblocks.parsing.json_value import read_json
from callblocks.parsing.limits import Limits

__all__ = ("typed",)

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_MAX_DIGITS = 4000  # beyond this Python refuses to read an integer


def typed(text: str, schema: Mapping[str, Any] | bool) -> tuple[Any, bool]:
    """Return the value, and whether it fits the schema."""
    types = list(_types(schema))
    if not types:
        return text, True
    for kind in sorted(types, key=lambda kind: kind == "string"):
        if kind == "string":
            return text, True
        value = _READERS.get(kind, _read_nothing)(text.strip())
        if value is not None:
            return value[0], True
    return text, False


def _types(schema: Mapping[str, Any] | bool) -> Iterator[str]:
    if isinstance(schema, bool):  # JSON Schema's "anything" and "nothing"
        return
    given = schema.get("type", ())
    yield from [given] if isinstance(given, str) else given
    for branch in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _types(branch)


def _read_integer(text: str) -> tuple[int] | None:
    match = _NUMBER.fullmatch(text)
    if not match or match[1] or match[2] or len(text) > _MAX_DIGITS:
        return None
    return (int(text),)


def _read_number(text: str) -> tuple[float] | None:
    if (whole := _read_integer(text)) or not _NUMBER.fullmatch(text):
        return whole
    value = float(text)
    return (value,) if math.isfinite(value) else None


def _read_boolean(text: str) -> tuple[bool] | None:
    return {"true": (True,), "false": (False,)}.get(text.lower())


def _read_null(text: str) -> tuple[None] | None:
    return (None,) if text in ("null", "None") else None


def _read_json(kind: type, text: str) -> tuple[Any] | None:
    try:
        value = read_json(text, Limits().depth)
    except ValueError:
        return None
    return (value,) if isinstance(value, kind) else None


def _read_array(text: str) -> tuple[Any] | None:
    return _read_json(list, text)


def _read_object(text: str) -> tuple[Any] | None:
    return _read_json(dict, text)


def _read_nothing(text: str) -> None:
    return None


_READERS = {
    "integer": _read_integer,
    "number": _read_number,
    "boolean": _read_boolean,
    "null": _read_null,
    "array": _read_array,
    "object": _read_object,
}
