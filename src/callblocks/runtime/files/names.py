r"""A path that a model wrote, as text alone: a normal path below the workspace, or a refusal.

    ./notes//a.md    notes/a.md      .                 the workspace itself
    a..b  ...  ..a   fine names      ../x  a/../b      refused
    /etc/passwd      refused         ~/x  C:x  a\b     refused

Nothing is ever cut out of a path to make it safe: a path is taken as written, or refused. What
passes says nothing of links: that is for the file system to answer.
"""

from __future__ import annotations

import re
import unicodedata

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError

__all__ = ("HERE", "MAX_DEPTH", "MAX_NAME", "MAX_PATH", "STATE", "relative", "unsafe")

HERE = "."
"""The workspace itself."""
STATE = ".callblocks"
"""The folder in a workspace that holds what callblocks knows of it."""

MAX_NAME = 255
"""Bytes in the name of one file: what file systems take."""

MAX_PATH = 4095
"""Bytes in a path: what the kernel takes beside the ending NUL."""

MAX_DEPTH = 128
"""Names in a path: deeper trees are hard to copy and to clear away."""

# C0, DEL, C1, line separators, and what turns the direction of text: a person who is asked would
# read another path than the one that is written.
_CONTROL = "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
_FAULTS = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"\A\Z", 'it is empty; write "." for the workspace itself'),
        ("[\ud800-\udfff]", "it has a lone surrogate, which no file name can have"),
        (_CONTROL, "it has a control character"),
        (r"\A/", "it is absolute; paths start at the workspace, without a leading /"),
        (r"\\", "it has a backslash; write / between folders"),
        (r"(?:\A|/)\.\.(?:/|\Z)", "it has .. in it; name the folder from the workspace down"),
        (
            r"\A(?:\./+)*(?:~|[A-Za-z]:)",
            "it starts at a home folder or a drive; paths start at the workspace",
        ),
    )
)


def relative(path: str) -> str:
    """Give the normal form of a relative path; one that is none is an `unsafe_path`."""
    fault = _fault_of_text(path)
    if fault:
        raise unsafe(path, fault)
    names = [name for name in path.split("/") if name not in ("", HERE)]
    fault = _fault_of_names(names)
    if fault:
        raise unsafe(path, fault)
    return "/".join(names) or HERE


def unsafe(path: str, fault: str) -> ToolError:
    """The refusal of a path, with the reason in words."""
    return ToolError("unsafe_path", f"the path {brief(path)} is refused: {fault}")


def _fault_of_text(path: str) -> str:
    if len(path.encode(errors="surrogatepass")) > MAX_PATH:
        return f"it is longer than {MAX_PATH} bytes"
    fault = next((words for pattern, words in _FAULTS if pattern.search(path)), "")
    if fault or path.isascii() or not any(unicodedata.category(char) == "Cf" for char in path):
        return fault
    return "it has an invisible character"


def _fault_of_names(names: list[str]) -> str:
    if len(names) > MAX_DEPTH:
        return f"it is nested deeper than {MAX_DEPTH} folders"
    if any(len(name.encode()) > MAX_NAME for name in names):
        return f"a name in it is longer than {MAX_NAME} bytes"
    return ""
