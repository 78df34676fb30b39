"""One JSON object that a model meant, in a text that is over."""

from __future__ import annotations

from typing import Any, cast

from callblocks.parsing.repair.tolerant import Tolerant

__all__ = ("mended_object",)


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
