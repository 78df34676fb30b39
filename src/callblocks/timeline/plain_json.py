"""Values as JSON text, whatever they are: writing what happened never fails.

Half a character becomes U+FFFD; what JSON cannot say, or what is nested deeper than 200 levels,
becomes its type in angle brackets.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, cast

__all__ = ("json_text", "plain", "whole")

_HALF = re.compile("[\ud800-\udfff]")
_DEPTH = 200
_BITS = 14_000
"""Of an integer; Python itself writes no more than 4300 digits."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def json_text(value: Any) -> str:
    """The value as JSON on one line; never raises."""
    return _encode(plain(value))


def plain(value: Any, depth: int = 0) -> Any:
    """The value in dicts, lists, strings, numbers, booleans and null."""
    match value:
        case None | bool():
            return value
        case str():
            return whole(value)
        case int() | float():
            return _number(value)
        case Mapping() | list() | tuple() if depth < _DEPTH:
            return _inside(cast("Any", value), depth + 1)
        case _:
            return f"<{type(value).__name__}>"


def whole(text: str) -> str:
    """A text with no half characters in it."""
    return text if text.isascii() else _HALF.sub("\ufffd", text)


def _inside(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        pairs = cast("Mapping[Any, Any]", value).items()
        return {_key(key): plain(item, depth) for key, item in pairs}
    return [plain(item, depth) for item in value]


def _number(value: float) -> Any:
    if isinstance(value, int):
        return value if value.bit_length() <= _BITS else "<int>"
    return value if math.isfinite(value) else f"<{value}>"


def _key(key: object) -> str:
    return whole(key) if isinstance(key, str) else _encode(plain(key))
