"""Line ends: LF and CRLF mean the same.

A marker with a newline matches both, and is returned as it stands in the text. Code that compares
such a marker with a literal, or strips a line end, uses these functions. Line ends inside of prose
and values stay as they were written.
"""

from __future__ import annotations

import re

__all__ = ("line_start", "with_lf", "without_line_end", "without_line_ends")

_LINE_START = re.compile(r"\A\r?\n")


def with_lf(text: str) -> str:
    """Return a text with LF for each CRLF, to be compared with a literal."""
    return text.replace("\r\n", "\n")


def line_start(text: str) -> str:
    """Return the line end that a text begins with, or `""`."""
    found = _LINE_START.match(text)
    return found[0] if found else ""


def without_line_end(text: str) -> str:
    """Return a text without the line end at its end, if there is one."""
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


def without_line_ends(text: str) -> str:
    """Return a text without one line end at its start and one at its end."""
    return without_line_end(_LINE_START.sub("", text))
