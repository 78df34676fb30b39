"""Plain text, and source code: one part, cut at its paragraphs."""

from __future__ import annotations

from callblocks.toolkits.finding.chunks import Part

__all__ = ("read_plain",)


def read_plain(text: str) -> tuple[str, list[Part]]:
    """The whole text; it has no title."""
    return "", [Part(text=text, line=1)]
