"""Tests whether an input is JSON at all, and small enough to be processed.

A parser gives plain JSON; a caller's own code may give anything. NaN and Infinity, lone surrogates,
numbers of thousands of digits, nesting past 100 levels and more than 100,000 values are faults,
with their places.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any, cast

from callblocks.tools.tool import FieldFault
from callblocks.tools.words import path_text, said

__all__ = ("MAX_DEPTH", "MAX_VALUES", "is_too_deep", "odd_values", "written")

MAX_DEPTH = 100
MAX_VALUES = 100_000
# Python neither parses nor formats longer integers.
_MAX_BITS = 14_000

_encode = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode


def written(value: dict[str, Any]) -> bytes | None:
    """Return the input as JSON; `None` if it is no JSON or too much: `odd_values` says where."""
    try:
        text = _encode(value)
        content = text.encode()
    except (ValueError, TypeError, RecursionError, OverflowError):
        return None
    # A cheap test first: text with few brackets cannot be deep, and short text cannot hold many
    # values. Only otherwise is the whole value walked.
    shallow = text.count("[") + text.count("{") <= MAX_DEPTH
    if (shallow and len(text) <= 2 * MAX_VALUES) or next(odd_values(value), None) is None:
        return content
    return None


def is_too_deep(value: object) -> bool:
    """Return whether a value is nested deeper than an input may be."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 2):
        held: list[Any] = [one for one in level if isinstance(one, dict | list | tuple)]
        if not held:
            return False
        level = [part for one in held for part in _parts(one)]
    return True


def _parts(held: Any) -> Iterable[Any]:
    return cast("dict[Any, Any]", held).values() if isinstance(held, dict) else held


def odd_values(value: object) -> Iterator[FieldFault]:
    """Yield every place that is no JSON, too deep or past the count; the latter ends the walk."""
    # Depth-first with an explicit stack, so that a hostile depth costs memory in proportion and no
    # RecursionError.
    waiting: list[tuple[tuple[str | int, ...], object]] = [((), value)]
    seen = 0
    while waiting:
        place, one = waiting.pop()
        seen += 1
        if seen > MAX_VALUES:
            yield FieldFault(
                "", f"has more than {MAX_VALUES:,} values; put them in a file and pass its path"
            )
            return
        if len(place) > MAX_DEPTH:
            problem = f"is nested deeper than {MAX_DEPTH} levels; make it flatter"
            yield FieldFault(path_text(place[:3]), problem)
        elif problem := _problem(one):
            yield FieldFault(path_text(place), problem)
        else:
            waiting.extend(reversed(list(_inside(place, one))))


def _inside(
    place: tuple[str | int, ...], value: object
) -> Iterator[tuple[tuple[str | int, ...], object]]:
    if isinstance(value, dict):
        for key, part in cast("dict[Any, Any]", value).items():
            yield (*place, key), part
    elif isinstance(value, list | tuple):
        for at, part in enumerate(cast("list[Any]", value)):
            yield (*place, at), part


def _problem(value: object) -> str:
    match value:
        case None | bool() | list() | tuple():
            return ""
        case str():
            return "" if _is_text(value) else "has half a character (a lone surrogate)"
        case int() | float():
            return _number_problem(value)
        case dict():
            return _key_problem(cast("dict[Any, Any]", value))
        case _:
            return f"must be a JSON value, got a {type(value).__name__}"


# Judged by bits: converting a huge integer to text, only to count its digits, takes quadratic time.
def _number_problem(value: float) -> str:
    if isinstance(value, int):
        return "has too many digits" if value.bit_length() > _MAX_BITS else ""
    return "" if math.isfinite(value) else f"must be a finite number, got {said(value)}"


def _key_problem(value: dict[Any, Any]) -> str:
    for key in value:
        if not isinstance(key, str):
            return f"must have text as keys, got {said(key)}"
        if not _is_text(key):
            return "has a key with half a character (a lone surrogate)"
    return ""


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
