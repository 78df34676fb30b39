"""Any value as JSON: its text, its plain values, and equality.

`json_text` and `plain` never fail, because they record what happened; `to_json_value` raises where
what a tool returned cannot be written. A lone surrogate becomes U+FFFD. For `plain` a value that
JSON cannot express, or that is nested deeper than 200 levels, is its type in angle brackets.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from itertools import starmap
from typing import Any, cast

import msgspec

from callblocks.core.errors import ToolError

__all__ = (
    "json_text",
    "plain",
    "same",
    "to_json_value",
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


# --- Conversion of what a tool returns, which may fail ---
#
# Dataclasses, structs, pydantic models, sets, dates, paths and the like become their usual JSON
# form; anything else becomes its text. A lone surrogate becomes U+FFFD.

_SAFE = (int, float, bool, type(None))


def to_json_value(value: Any) -> Any:
    """Return the value as dicts, lists, strings, numbers, booleans and null."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, _SAFE) and not _is_huge(value):
        return value
    try:
        return _clean(msgspec.to_builtins(value, enc_hook=_foreign, str_keys=True), 0)
    except (RecursionError, TypeError, ValueError, UnicodeError) as error:
        kind = type(value).__name__
        raise ToolError("bad_output", f"the output, {kind}, cannot be written: {error}") from error


def _foreign(value: Any) -> Any:
    """Convert a value unknown to msgspec: a pydantic model to its fields, another to its text."""
    # By duck typing: pydantic may not be installed where this runs.
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    return str(value)


def _clean(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return whole(value)
    if _is_huge(value):
        raise ValueError(f"an integer of {value.bit_length():,} bits")
    if depth > _DEPTH:
        raise ValueError(f"nested deeper than {_DEPTH}")
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return {whole(key): _clean(item, depth + 1) for key, item in pairs}
    if isinstance(value, list | tuple):
        return [_clean(item, depth + 1) for item in cast("list[Any]", value)]
    return value


def _is_huge(value: Any) -> bool:
    return isinstance(value, int) and value.bit_length() > _BITS


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
