"""Which blocks a tool's outcome becomes: by the kind of its result.

write      digest, content                            react.write
rendering  digest, and PDF or image                   rendering_tools.write_*
exec       report, then digest and content of each    exec_tools.execute_code_*
           file
read       status, then what it brought               react.read
hide       digest, content, and the record            react.hide
search     digest, rows of the sources pool           web_tools.web_search
fetch      digest, pages by URL                       web_tools.web_fetch
plain      digest, content                            any other

A tool says it itself (`@tool(result="search")`), and the checked call has that. Of one that does
not say it, and of a call that was not checked, the name decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TypeAlias

from callblocks.model.calls import CheckedCall, ResultKind

__all__ = ("SHAPES", "Shape", "shape_of")

Shape: TypeAlias = ResultKind

SHAPES: dict[str, Shape] = {
    "react.write": "write",
    "react.read": "read",
    "react.hide": "hide",
    "rendering_tools.write_*": "rendering",
    "exec_tools.execute_code_*": "exec",
    "web_tools.web_search": "search",
    "web_tools.web_fetch": "fetch",
}
"""Names and patterns; the first that fits counts."""


def shape_of(
    tool: str, shapes: Mapping[str, Shape] | None = None, checked: CheckedCall | None = None
) -> Shape:
    """The shape of a tool's results; what `shapes` says of its name comes before all else."""
    name = tool if checked is None else checked.name
    said = None if checked is None else checked.result
    return _by_name(name, shapes or {}) or said or _by_name(name, SHAPES) or "plain"


def _by_name(tool: str, shapes: Mapping[str, Shape]) -> Shape | None:
    return next((shape for pattern, shape in shapes.items() if fnmatchcase(tool, pattern)), None)
