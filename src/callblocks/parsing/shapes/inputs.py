"""The value of a call's arguments as an input: an object, whatever way it was given."""

from __future__ import annotations

from typing import Any, cast

from callblocks.parsing.json_value import read_json
from callblocks.parsing.repair.tolerant import Tolerant

__all__ = ("as_input",)


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
