"""The arguments of a call as an input: an object, whatever way it was given."""

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
    """The input that all of a text is, and the codes of what was repaired; or `ValueError`.

    `ended` says that a marker closed the text: it was not cut off.
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
    """The value that a text was meant to be; brackets too many may follow it."""
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
    """Text for a tool that takes no JSON: its only parameter, or what such tools usually have."""
    names = list(tool.properties) if tool else []
    return {names[0] if len(names) == 1 else usual: text}


def as_input(
    value: Any, *, strict: bool, as_text: bool, depth: int
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The input, and the codes of what was repaired; `ValueError` says why it is none.

    Nothing, null and the empty string are an empty input. `as_text` says that the grammar gives
    arguments as a string that holds JSON; anywhere else that is a mistake that can be repaired.
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
    """What the JSON in a string says, and the repairs that it needed; None if it says nothing."""
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
