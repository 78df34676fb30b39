"""One JSON object that a model meant, in a text that is over."""

from __future__ import annotations

from typing import Any, cast

from callblocks.parsing.codes import GENERAL_CODES
from callblocks.parsing.json_value import read_json
from callblocks.parsing.repair.tolerant import Tolerant

__all__ = ("mended_object", "read_object")


def read_object(
    text: str, depth: int, *, strict: bool
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The object that a text from its first brace on is, and what was repaired unless `strict`.

    `ValueError` says why it is none.
    """
    try:
        return read_json(text, depth), []
    except ValueError:
        value, codes = (None, ()) if strict else mended_object(text, depth)
        if value is None:
            raise
        return value, [(code, GENERAL_CODES[code]) for code in codes]


def mended_object(text: str, depth: int) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
    """The object that all of a text is, and the codes of what was repaired; None if it is none."""
    tolerant = Tolerant(text, ended=True, max_depth=depth)
    try:
        value, end = tolerant.read(tolerant.solid(0))
    except ValueError:
        return None, ()
    if not isinstance(value, dict) or tolerant.solid(end) != len(text):
        return None, ()
    return cast("dict[str, Any]", value), tuple(tolerant.repairs)
