"""Plain text and source code: one part, which is cut at paragraphs."""

from __future__ import annotations

from callblocks.toolkits.finding.chunks import Part

__all__ = ("read_plain",)


def read_plain(text: str) -> tuple[str, list[Part]]:
    """Return no title and the whole text."""
    return "", [Part(text=text, line=1)]
