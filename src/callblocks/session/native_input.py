"""The input of a call that came in the API's own form: JSON text, as models really write it."""

from __future__ import annotations

from typing import Any, cast

from callblocks.parsing.json_value import read_json
from callblocks.parsing.limits import USUAL
from callblocks.parsing.repair.tolerant import Tolerant

__all__ = ("read_native_input",)


def read_native_input(text: str, *, is_cut: bool) -> dict[str, Any]:
    """Return the input, or raise `ValueError` with the reason why the text is none.

    Empty text is an empty input. Text that is almost JSON is repaired, unless the reply was cut:
    then the missing rest is unknown. A JSON string that contains the object is decoded a second
    time.
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
    # The tolerant reader stops at the end of the first value. Anything after it means that the text
    # was not one object, and guessing which one to run would be wrong.
    value, end = tolerant.read(tolerant.solid(0))
    if tolerant.solid(end) != len(text):
        raise ValueError("something follows the object")
    return value
