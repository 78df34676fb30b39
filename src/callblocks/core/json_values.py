"""Any value as JSON text: recording what happened never fails.

A lone surrogate becomes U+FFFD; a value that JSON cannot express, or that is nested deeper than 200
levels, becomes its type in angle brackets.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from itertools import starmap
from typing import Any, cast

__all__ = (
    "json_text",
    "plain",
    "same",
    "whole",
)

_HALF = re.compile("[\ud800-\udfff]")
_DEPTH = 200
# The most bits of an integer; Python itself refuses to write more than 4300 digits.
_BITS = 14_000

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def json_text(value: Any) -> str:
    """Return the value as JSON on one line; never raises."""
    return _encode(plain(value))


def plain(value: Any, depth: int = 0) -> Any:
    """Return the value as dicts, lists, strings, numbers, booleans and null."""
    match value:
        # `bool` before `int`, of which it is a subclass.
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
    """Return a text without lone surrogates."""
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


# --- Equality of JSON-like values, types included: `1`, `1.0` and `true` differ ---


def same(one: Any, other: Any) -> bool:
    """Compare by type and value; the order of keys does not matter, and NaN equals NaN."""
    if type(one) is not type(other):
        return False
    if isinstance(one, str):
        return one == other
    if isinstance(one, dict):
        ours, theirs = cast("dict[Any, Any]", one), cast("dict[Any, Any]", other)
        pairs = ((item, theirs[key]) for key, item in ours.items())
        return ours.keys() == theirs.keys() and all(starmap(same, pairs))
    if isinstance(one, list):
        items, others = cast("list[Any]", one), cast("list[Any]", other)
        return len(items) == len(others) and all(map(same, items, others))
    return one == other or (one != one and other != other)  # noqa: PLR0124 only NaN differs from itself
