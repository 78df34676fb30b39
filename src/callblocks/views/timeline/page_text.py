"""Text of unknown origin for a page: escaped, and nothing in it steers how it is read."""

from __future__ import annotations

import html

from callblocks.model.shown import show_result
from callblocks.views.safe import visible, visible_line

__all__ = ("LONGEST", "line", "lines", "text")

LONGEST = 200_000
"""Characters of one text that stand in a page; all of it is in the timeline."""


def line(said: str) -> str:
    """A text on one line, also for an attribute in double quotes."""
    return html.escape(visible_line(said))


def lines(said: str) -> str:
    """A text with its lines, without secrets, cut only where it is very long; not escaped yet."""
    return visible(show_result(said, LONGEST)[0])


def text(said: str) -> str:
    """The same, escaped."""
    return html.escape(lines(said))
