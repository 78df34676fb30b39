"""Which blocks a tool's outcome becomes, by the tool's name.

react.write                     write      digest, content
rendering_tools.write_*         rendering  digest, and PDF or image
exec_tools.execute_code_*       exec       report, then digest and content of each file
react.read                      read       status, then what it brought
react.hide                      hide       digest, content, and the record
web_tools.web_search            search     digest, rows of the sources pool
web_tools.web_fetch             fetch      digest, pages by URL
any other                       plain      digest, content
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from itertools import chain
from typing import Literal, TypeAlias

__all__ = ("SHAPES", "Shape", "shape_of")

Shape: TypeAlias = Literal["plain", "write", "rendering", "exec", "read", "hide", "search", "fetch"]

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


def shape_of(tool: str, shapes: Mapping[str, Shape] | None = None) -> Shape:
    """The shape of a tool's results; what `shapes` says comes before the table here."""
    for pattern, shape in chain((shapes or {}).items(), SHAPES.items()):
        if fnmatchcase(tool, pattern):
            return shape
    return "plain"
