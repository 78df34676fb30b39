"""A strict JSON reader for complete text.

RFC 8259 has no NaN and no Infinity, and a number too big for a float would become Infinity: neither
could be written again, so neither is read. An object with a duplicate key is refused too; a repair
reads it and reports that.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from callblocks.core.errors import Unwritable
from callblocks.core.text import brief
from callblocks.parsing.values.json_scan import JsonScan

__all__ = (
    "dumps",
    "read_json",
    "read_json_at",
    "write_json",
)


def read_json(text: str, max_depth: int | None = None) -> Any:
    """Return the value, or raise `ValueError` with the reason why the text is refused."""
    # A string has no levels, and text with no more brackets than allowed levels cannot be too deep:
    # neither needs a scan. The scan comes first otherwise, because `json` recurses.
    if (
        max_depth is not None
        and not text.startswith('"')
        and text.count("[") + text.count("{") > max_depth
    ):
        scan = JsonScan(max_depth)
        scan.feed(text)
        if scan.too_deep:
            raise ValueError(f"it is nested deeper than {max_depth}")
    try:
        # Most texts are a value and nothing else; `decode` also skips blanks, which costs more.
        value, end = _decoder.raw_decode(text)
        return value if end == len(text) else _decoder.decode(text)
    except json.JSONDecodeError:
        return _decoder.decode(text)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def read_json_at(text: str, at: int) -> tuple[Any, int]:
    """Return the value at a position and the position behind it, or raise `ValueError`."""
    try:
        return _decoder.raw_decode(text, at)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen = set[str]()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise ValueError(f"{twice!r:.60} stands twice")
    return value


def _read_float(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text)


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text:.80} is not a number that JSON can say")


# Shared: making a decoder costs more than reading a small value.
_decoder = json.JSONDecoder(
    parse_float=_read_float, parse_constant=_refuse, object_pairs_hook=_read_object
)


# --- A value as JSON in one line, or a refusal that names it ---


def write_json(dialect: str, value: Any) -> str:
    """Write a value as JSON; raise `Unwritable` if JSON cannot represent it."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Unwritable(dialect, f"the value {brief(value)}: {error}") from error


# --- The JSON that a dialect writes for a value ---


def dumps(value: Any, dialect: str) -> str:
    """Return a value as JSON in one line, without `\\u` escapes, or raise `Unwritable`."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Unwritable(dialect, f"the value {brief(value)}: {error}") from error
