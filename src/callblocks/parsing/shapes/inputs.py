"""Conversion of a call's arguments to its input, an object, in whatever form they were written."""

from __future__ import annotations

from typing import Any, cast

from callblocks.model.specs import ToolSpec
from callblocks.parsing.json_value import read_json
from callblocks.parsing.repair.calls import mend_value
from callblocks.parsing.repair.tolerant import Tolerant

__all__ = ("as_input", "raw_input", "read_input")


def read_input(
    text: str, *, ended: bool, strict: bool, depth: int
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the input that is the whole text and the codes of repairs, or raise `ValueError`.

    `ended`: a marker closed the text, so it was not cut off.
    """
    repairs: tuple[str, ...] = ()
    try:
        value = read_json(text, depth)
    except ValueError as error:
        mended = None if strict else _mended(text, ended, depth)
        if mended is None:
            raise ValueError(str(error)) from None
        value, repairs = mended
    value, inner = as_input(value, strict=strict, as_text=False, depth=depth)
    return value, (*inner, *repairs)


def _mended(text: str, ended: bool, depth: int) -> tuple[Any, tuple[str, ...]] | None:
    """Return the repaired value of a text, behind which surplus brackets may stand; else None."""
    try:
        found = mend_value(text, ended=ended, depth=depth)
    except ValueError:
        return None
    rest = "".join(text[found.after :].split())
    if rest.strip("}]"):
        return None
    stray = ("repaired-braces",) if rest and "repaired-braces" not in found.repairs else ()
    return found.value, (*found.repairs, *stray)


def raw_input(tool: ToolSpec | None, text: str, usual: str = "code") -> dict[str, Any]:
    """Return the input of a tool that takes raw text: its only parameter, or the usual one."""
    names = list(tool.properties) if tool else []
    return {names[0] if len(names) == 1 else usual: text}


def as_input(
    value: Any, *, strict: bool, as_text: bool, depth: int
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the input and the codes of repairs, or raise `ValueError` with the reason.

    None, null and the empty string are an empty input. `as_text`: the grammar writes arguments as a
    string that holds JSON; without it such a string is a mistake that is repaired.
    """
    if value is None or value == "":
        return {}, ()
    if isinstance(value, str) and (as_text or not strict):
        inner, repairs = _inner(value, strict, depth)
        if isinstance(inner, dict):
            found = repairs if as_text else ("repaired-input", *repairs)
            return cast("dict[str, Any]", inner), found
    if not isinstance(value, dict):
        raise ValueError("the arguments are not an object")
    return cast("dict[str, Any]", value), ()


def _inner(text: str, strict: bool, depth: int) -> tuple[Any, tuple[str, ...]]:
    """Return the value of the JSON in a string and its repairs; None if it is no JSON."""
    try:
        return read_json(text, depth), ()
    except ValueError:
        if strict:
            return None, ()
    tolerant = Tolerant(text, ended=True, max_depth=depth)
    try:
        value, end = tolerant.read(tolerant.solid(0))
    except ValueError:
        return None, ()
    whole = tolerant.solid(end) == len(text)
    return (value, tuple(tolerant.repairs)) if whole else (None, ())
