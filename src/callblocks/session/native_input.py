"""The input of a call that came in the API's own form: JSON text, as models really write it."""

from __future__ import annotations

from typing import Any, cast

from callblocks.parsing.json_value import read_json
from callblocks.parsing.limits import USUAL
from callblocks.parsing.repair.tolerant import Tolerant

__all__ = ("read_native_input",)


def read_native_input(text: str, *, is_cut: bool) -> dict[str, Any]:
    """Return the input, or raise `ValueError` saying why the text is none.

    No text at all is an empty input. What is not quite JSON is repaired, unless the reply broke
    off: then what is missing is not known. A string that holds the object is read again.
    """
    if not text.strip():
        return {}
    value: object = _read(text, is_cut)
    if isinstance(value, str):
        return read_native_input(value, is_cut=is_cut)
    if not isinstance(value, dict):
        raise ValueError(f"the input is an object, not {text[:60]!r}")
    return cast("dict[str, Any]", value)


def _read(text: str, is_cut: bool) -> Any:
    try:
        return read_json(text, USUAL.depth)
    except ValueError:
        if is_cut:
            raise
    tolerant = Tolerant(text, ended=True, max_depth=USUAL.depth)
    value, end = tolerant.read(tolerant.solid(0))
    if tolerant.solid(end) != len(text):
        raise ValueError("something follows the object")
    return value
