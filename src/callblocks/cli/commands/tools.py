"""`callblocks tools`: the table of them, or all about one."""

from __future__ import annotations

import sys

import click
import msgspec

from callblocks.cli.exits import EXIT_CODES, say
from callblocks.cli.options.read_options import ONE_DIALECT
from callblocks.cli.options.tool_setup import (
    Tools,
    every_tool,
    given_office,
    office_option,
    open_workspace,
    tools_option,
    workspace_option,
)
from callblocks.cli.terminal.paint import Paper
from callblocks.core.calls import Call
from callblocks.dialects import TAUGHT, dialects
from callblocks.toolkits.office.open_office import example_call
from callblocks.tools.tool import Tool
from callblocks.views.terminal.tables import about_tool, tool_table

__all__ = ("command",)


@click.command("tools", short_help="List the tools, or print all about one.", epilog=EXIT_CODES)
@click.argument("name", required=False)
@click.option(
    "--dialect",
    "-d",
    "named",
    multiple=True,
    type=ONE_DIALECT,
    help="Show a call in this dialect; may be given again.  [default: those of no model family]",
)
@click.option("--json", "as_json", is_flag=True, help="As a list in the shape of OpenAI's tools.")
@tools_option("More tools.")
@workspace_option
@office_option
def command(
    name: str | None,
    named: tuple[str, ...],
    as_json: bool,
    tools: Tools,
    workspace: str,
    office: str,
) -> None:
    """List the tools, or print all about one: its schema, and how a call of it is written.

    These are the tools that come with callblocks, and those of -T.
    """
    with open_workspace(workspace) as root:
        registry = every_tool(tools, root, office=given_office(office))
        chosen = registry.tools if name is None else (registry[name],)
    for how in dict.fromkeys(registry.absent.values() if name is None else ()):
        names = [one for one, way in registry.absent.items() if way == how]
        say(f"{len(names)} tools are not installed ({names[0]} and the like): {how}")
    if as_json:
        line = msgspec.json.format(msgspec.json.encode([_shape(tool) for tool in chosen]))
        sys.stdout.buffer.write(line + b"\n")
        return
    paper = Paper()
    if name is None:
        paper.print(tool_table(chosen, paper.width))
    else:
        spoken = [dialects[one] for one in named or TAUGHT]
        paper.print(about_tool(chosen[0], spoken, paper.width, _example(chosen[0])))


def _example(tool: Tool) -> Call | None:
    """A call that runs on the sample of `callblocks workspace init`."""
    return example_call(tool.name) if tool.origin == "builtin" else None


def _shape(tool: Tool) -> dict[str, object]:
    spec = tool.spec
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": function | ({"body": spec.body} if spec.body else {})}
