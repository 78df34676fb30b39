"""Conversion of a tool's return value to a JSON value.

Dataclasses, structs, pydantic models, sets, dates, paths and the like become their usual JSON form;
anything else becomes its text. A lone surrogate becomes U+FFFD.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any, cast

import msgspec

from callblocks.core.errors import ToolError

__all__ = ("to_json_value",)

_HALF = re.compile("[\ud800-\udfff]")
_DEPTH = 200
_SAFE = (int, float, bool, type(None))
# The most bits of an integer; Python itself refuses to write more than 4300 digits.
_BITS = 14_000


def to_json_value(value: Any) -> Any:
    """Return the value as dicts, lists, strings, numbers, booleans and null."""
    if isinstance(value, str):
        return _whole(value)
    if isinstance(value, _SAFE) and not _is_huge(value):
        return value
    try:
        return _clean(msgspec.to_builtins(value, enc_hook=_known, str_keys=True), 0)
    except (RecursionError, TypeError, ValueError, UnicodeError) as error:
        kind = type(value).__name__
        raise ToolError("bad_output", f"the output, {kind}, cannot be written: {error}") from error


def _known(value: Any) -> Any:
    """Convert a value unknown to msgspec: a pydantic model to its fields, anything else to its
    text.
    """
    if isinstance(value, PurePath):
        return str(value)
    # By duck typing: pydantic may not be installed where this runs.
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    return str(value)


def _clean(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return _whole(value)
    if _is_huge(value):
        raise ValueError(f"an integer of {value.bit_length():,} bits")
    if depth > _DEPTH:
        raise ValueError(f"nested deeper than {_DEPTH}")
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return {_whole(key): _clean(item, depth + 1) for key, item in pairs}
    if isinstance(value, list | tuple):
        return [_clean(item, depth + 1) for item in cast("list[Any]", value)]
    return value


def _is_huge(value: Any) -> bool:
    return isinstance(value, int) and value.bit_length() > _BITS


def _whole(text: str) -> str:
    return text if text.isascii() else _HALF.sub("\ufffd", text)
