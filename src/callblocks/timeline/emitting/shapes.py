"""The shape of a tool's blocks, by the kind of its result.

    write      digest, content                            react.write
    rendering  digest, and PDF or image                   rendering_tools.write_*
    exec       report, then digest and content of each    exec_tools.execute_code_*
               file
    read       status, then what it brought               react.read
    hide       digest, content, and the record            react.hide
    search     digest, rows of the sources pool           web_tools.web_search
    fetch      digest, pages by URL                       web_tools.web_fetch
    plain      digest, content                            any other

A tool declares it itself (`@tool(result="search")`), and the checked call has that. Without a
declaration, and for an unchecked call, the name decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TypeAlias

from callblocks.model.calls import CheckedCall, ResultKind

__all__ = ("SHAPES", "Shape", "shape_of")

Shape: TypeAlias = ResultKind

# Names and patterns; the first match counts.
SHAPES: dict[str, Shape] = {
    "react.write": "write",
    "react.read": "read",
    "react.hide": "hide",
    "rendering_tools.write_*": "rendering",
    "exec_tools.execute_code_*": "exec",
    "web_tools.web_search": "search",
    "web_tools.web_fetch": "fetch",
}


# Precedence: the caller's table, the tool's own declaration, the name, `plain`.
def shape_of(
    tool: str, shapes: Mapping[str, Shape] | None = None, checked: CheckedCall | None = None
) -> Shape:
    """Return the shape of a tool's results; an entry of `shapes` for its name has precedence."""
    name = tool if checked is None else checked.name
    said = None if checked is None else checked.result
    return _by_name(name, shapes or {}) or said or _by_name(name, SHAPES) or "plain"


def _by_name(tool: str, shapes: Mapping[str, Shape]) -> Shape | None:
    return next((shape for pattern, shape in shapes.items() if fnmatchcase(tool, pattern)), None)
