"""The calls of Cline and Roo: the tool's name is the tag::

    <write_to_file>
    <path>a.txt</path>
    <content>
    some text
    </content>
    </write_to_file>

Only declared tools and their parameters are tags. One line end on each side of a value belongs to
its tags. A list or an object in the schema may be JSON, or nested tags as in `morph_xml`.
`<use_mcp_tool>` is always a declared tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from callblocks.core.specs import ToolSpec
from callblocks.parsing.readers.tags import as_text
from callblocks.parsing.shapes.element_bodies import NamedTags
from callblocks.parsing.shapes.xml_call import Input

__all__ = ("Cline",)

MCP = ToolSpec(
    "use_mcp_tool",
    parameters={
        "properties": {
            "server_name": {"type": "string"},
            "tool_name": {"type": "string"},
            "arguments": {"type": "object"},
        }
    },
)


class Cline(NamedTags):
    """`<NAME>` with an element for each argument."""

    name = "cline"
    summary = "the tool's name as a tag, with a tag for each argument"
    syntax = "<NAME>\n<KEY>VALUE</KEY>\n</NAME>"
    rules = (
        "A call is a tag with the tool's name. Each argument stands in a tag with its name.",
        "Write text as it is, without quotes and without escapes; text of several lines on lines "
        "of its own. Write numbers, booleans, lists and objects as JSON.",
        "A call without arguments has nothing between its tags. Close every tag.",
    )
    trims = True

    def is_tool(self, name: str, tools: Mapping[str, ToolSpec]) -> bool:
        return name == MCP.name or super().is_tool(name, tools)

    def is_key(self, key: str, tool: ToolSpec | None) -> bool:
        return super().is_key(key, tool or MCP)

    def read_body(self, body: str, tool: ToolSpec | None, depth: int) -> Input:
        return super().read_body(body, tool or MCP, depth)

    def _compose_argument(self, key: str, value: Any, tool: ToolSpec | None) -> str:
        text = as_text(self.name, value)
        after = "" if text.endswith("\r") else "\n"
        return self.argument(key, f"\n{text}{after}" if "\n" in text else text)
