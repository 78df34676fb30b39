r"""Paths as text: a normal path below the workspace, or a refusal.

    ./notes//a.md    notes/a.md      .                 the workspace itself
    a..b  ...  ..a   fine names      ../x  a/../b      refused
    /etc/passwd      refused         ~/x  C:x  a\b     refused

Nothing is ever removed from a path to make it safe: a path is accepted as written, or refused. A
sanitizer that deletes `../` can be fed `....//`. A path that passes here may still lead through
links; `links` and `openat` deal with those.
"""

from __future__ import annotations

import re
import unicodedata

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError

__all__ = ("HERE", "MAX_DEPTH", "MAX_NAME", "MAX_PATH", "STATE", "relative", "unsafe")

# The workspace itself.
HERE = "."
# The folder in a workspace that holds the state of callblocks.
STATE = ".callblocks"

# The most bytes in one name that file systems accept.
MAX_NAME = 255

# The most bytes in a path that the kernel accepts, without the terminating NUL.
MAX_PATH = 4095

# The most names in a path; deeper trees are hard to copy and to remove.
MAX_DEPTH = 128

# C0, DEL, C1, line separators and bidirectional controls. With these, a person who is asked for
# approval would read another path than the one that is written.
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
    """Return the normal form of a relative path; raise `unsafe_path` if it is not one."""
    fault = _fault_of_text(path)
    if fault:
        raise unsafe(path, fault)
    names = [name for name in path.split("/") if name not in ("", HERE)]
    fault = _fault_of_names(names)
    if fault:
        raise unsafe(path, fault)
    return "/".join(names) or HERE


def unsafe(path: str, fault: str) -> ToolError:
    """Return the refusal of a path, with the reason in words."""
    return ToolError("unsafe_path", f"the path {brief(path)} is refused: {fault}")


def _fault_of_text(path: str) -> str:
    if len(path.encode(errors="surrogatepass")) > MAX_PATH:
        return f"it is longer than {MAX_PATH} bytes"
    fault = next((words for pattern, words in _FAULTS if pattern.search(path)), "")
    # Format characters (category Cf) such as the zero-width joiner make two paths look the same.
    if fault or path.isascii() or not any(unicodedata.category(char) == "Cf" for char in path):
        return fault
    return "it has an invisible character"


def _fault_of_names(names: list[str]) -> str:
    if len(names) > MAX_DEPTH:
        return f"it is nested deeper than {MAX_DEPTH} folders"
    if any(len(name.encode()) > MAX_NAME for name in names):
        return f"a name in it is longer than {MAX_NAME} bytes"
    return ""
