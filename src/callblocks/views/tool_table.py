"""Tools for people: a table of them, and all about one.

file_read   read_only, idempotent    path, start_line?, lines?
  Read a text file of the workspace.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from callblocks.model.calls import Call
from callblocks.model.errors import CallerError
from callblocks.parsing.dialect import Dialect
from callblocks.tools.tool import Tool
from callblocks.views.rows import Row, columns, wrap
from callblocks.views.safe import visible, visible_line

__all__ = ("about_tool", "tool_table")

_GAP = 2
_INDENT: Row = (("plain", "  "),)


def tool_table(tools: Iterable[Tool], width: int) -> list[Row]:
    """Each tool in two rows: its name, traits and parameters; what it is for."""
    known = list(tools)
    names = max((columns(tool.name) for tool in known), default=0) + _GAP
    traits = max((len(_traits(tool)) for tool in known), default=0) + _GAP
    rows: list[Row] = []
    for tool in known:
        hang: Row = (("plain", " " * (names + traits)),)
        head: Row = (
            ("name", tool.name.ljust(names)),
            ("quiet", _traits(tool).ljust(traits)),
            ("key", ", ".join(_parameters(tool))),
        )
        rows += wrap(head, width, hang)
        rows += wrap((*_INDENT, ("plain", _first_line(tool))), width, _INDENT)
    return rows


def about_tool(
    tool: Tool, dialects: Sequence[Dialect], width: int, example: Call | None = None
) -> list[Row]:
    """What a tool is for, what it takes, and how a call of it is written in each dialect.

    Without an `example`, its input is made up from the schema.
    """
    rows: list[Row] = [(("name", tool.name), ("quiet", f"  {_traits(tool)}"))]
    for line in visible(tool.spec.description).split("\n"):
        rows += wrap((*_INDENT, ("plain", line)), width, _INDENT)
    facts = [f"stopped after {tool.timeout:g} s"] if tool.timeout else []
    facts += ["a person must approve each call"] if tool.needs_approval else []
    facts += [f"a block's body is its {visible_line(tool.spec.body)}"] if tool.spec.body else []
    facts += ["it cannot run here"] if tool.function is None else []
    rows += [row for fact in facts for row in wrap((("quiet", f"  {fact}"),), width)]
    rows += _titled("Parameters") + _parameter_rows(tool, width)
    # Dialects that write it alike share an example.
    spoken: dict[str, list[str]] = {}
    for dialect in dialects:
        spoken.setdefault(_example(tool, dialect, example), []).append(dialect.name)
    for shown, names in spoken.items():
        rows += _titled("Example", ", ".join(names)) + _indented(shown)
    return rows + _titled("Schema") + _indented(_json(tool.spec.parameters))


def _titled(title: str, note: str = "") -> list[Row]:
    return [(), (("heading", title), ("quiet", f"  {note}"))]


def _example(tool: Tool, dialect: Dialect, call: Call | None) -> str:
    tools = [tool.spec]
    try:
        text = dialect.example(tools) if call is None else dialect.write([call], tools)
        return text.strip("\n")
    except CallerError as error:
        return str(error)


def _parameter_rows(tool: Tool, width: int) -> list[Row]:
    names = max((columns(visible_line(name)) for name in tool.spec.properties), default=0) + _GAP
    rows: list[Row] = []
    for name, schema in tool.spec.properties.items():
        said = [_type(schema), *([] if name in tool.spec.required else [_default(schema)])]
        text = visible_line(", ".join(said))
        about = schema.get("description", "")
        hang: Row = (("plain", " " * (names + 4)),)
        shown = visible_line(name)
        head: Row = (("key", f"  {shown}{' ' * (names - columns(shown))}"), ("quiet", text))
        rows += wrap((*head, ("plain", f"  {visible_line(str(about))}")), width, hang)
    return rows or [(("quiet", "  none"),)]


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches:
        return " | ".join(_type(branch) for branch in branches)
    given = schema.get("type", "any")
    return given if isinstance(given, str) else " | ".join(given)


def _default(schema: dict[str, Any]) -> str:
    return f"default {_json(schema['default'], None)}" if "default" in schema else "optional"


def _parameters(tool: Tool) -> list[str]:
    required = tool.spec.required
    return [visible_line(name if name in required else f"{name}?") for name in tool.spec.properties]


def _traits(tool: Tool) -> str:
    return ", ".join(tool.traits.names()) or "plain"


def _first_line(tool: Tool) -> str:
    return visible_line(tool.spec.description.strip().partition("\n")[0])


def _json(value: object, indent: int | None = 2) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False)


def _indented(text: str) -> list[Row]:
    """Lines as they are, however long: what is shown can be copied and used."""
    return [(*_INDENT, ("plain", line)) for line in visible(text).split("\n")]
