"""Line ends: one character or two, they mean the same.

Markers meet both (`markers`), and give what stands in the text. Whoever compares that with a
literal, or leaves a line end out, does it by these. Line ends inside prose and values stay as they
were written.
"""

from __future__ import annotations

import re

__all__ = ("line_start", "with_lf", "without_line_end", "without_line_ends")

_LINE_START = re.compile(r"\A\r?\n")


def with_lf(text: str) -> str:
    """A text with each line end in one character, to be compared with a literal."""
    return text.replace("\r\n", "\n")


def line_start(text: str) -> str:
    """The line end that a text begins with, or `""`."""
    found = _LINE_START.match(text)
    return found[0] if found else ""


def without_line_end(text: str) -> str:
    """A text without the line end that it ends with, if any."""
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


def without_line_ends(text: str) -> str:
    """A text without the one line end that it begins with, and that it ends with."""
    return without_line_end(_LINE_START.sub("", text))
