"""The dialects that were asked to read a text, and their refusals."""

from __future__ import annotations

from callblocks import Parser
from callblocks.parsing.engine.parse_state import Attempt

__all__ = ("attempts",)


def attempts(dialect: str, text: str, **given: object) -> list[Attempt]:
    """Who was asked to read what in a text, whole and by characters."""
    kept: list[Attempt] = []
    for pieces in ([text], text):
        parser = Parser(dialect, **given)  # pyright: ignore[reportArgumentType] options of a case
        parser.attempts = kept
        for piece in pieces:
            parser.feed(piece)
        parser.close()
    return kept
