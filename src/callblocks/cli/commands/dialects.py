"""`callblocks dialects`: the table of them, or all about one."""

from __future__ import annotations

import sys
from typing import TypedDict, get_args

import click
import msgspec

from callblocks.cli.exits import EXIT_CODES, Refusal
from callblocks.cli.options.read_options import ONE_DIALECT
from callblocks.cli.options.tool_setup import SAMPLE_TOOLS, Tools, tools_option
from callblocks.cli.terminal.paint import Paper
from callblocks.core.errors import UnknownTool, Unsupported, Unwritable
from callblocks.core.specs import ToolSpec
from callblocks.dialects import dialects
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.grammar.grammar import Calls
from callblocks.views.terminal.dialect_table import GRAMMARS, PARTS, about, part_of, record, table

__all__ = ("command",)


@click.command(
    "dialects", short_help="List the dialects, or print all about one.", epilog=EXIT_CODES
)
@click.argument("name", type=ONE_DIALECT, required=False)
@tools_option("Tools to teach and constrain with.", SAMPLE_TOOLS)
@click.option("--part", type=click.Choice(PARTS), help="Print this part alone, as it is.")
@click.option(
    "--calls",
    type=click.Choice(get_args(Calls)),
    help="How many calls a grammar demands; required if a tool is named, else any.",
)
@click.option("--tool", metavar="NAME", help="The only tool that a grammar lets a model call.")
@click.option("--json", "as_json", is_flag=True, help="Names and abilities as JSON.")
def command(
    name: str | None,
    tools: Tools,
    part: str | None,
    calls: Calls | None,
    tool: str | None,
    as_json: bool,
) -> None:
    """List the dialects and what each can do, or print all about one.

    Each has a name, aliases, which servers may have for a parser of it, and families of models
    that write it. All about one is its syntax, an example, the prompt that teaches it to a model,
    and the grammars that hold a model to it. They use a few sample tools where none are given.
    """
    demands = _Demands(calls=calls, tool=tool)
    if (calls or tool) and (name is None or part not in (None, *GRAMMARS)):
        raise click.UsageError(
            "--calls and --tool are for grammars: name a dialect, and no other part"
        )
    if tool is not None and tool not in {known.name for known in tools}:
        raise click.BadParameter(str(UnknownTool(tool, [known.name for known in tools])))
    if as_json:
        if part or calls or tool:
            raise click.UsageError("--json prints names and abilities: no part, and no grammar")
        every = [record(dialects[one], SAMPLE_TOOLS) for one in ([name] if name else dialects)]
        encoded = msgspec.json.format(msgspec.json.encode(every[0] if name else every))
        sys.stdout.buffer.write(encoded + b"\n")
    elif part is not None:
        if name is None:
            raise click.UsageError("--part needs the NAME of a dialect")
        # Bytes, because a prompt or a grammar in a file is UTF-8, whatever the terminal is.
        sys.stdout.buffer.write(_raw(dialects[name], part, tuple(tools), demands).encode())
    elif name is None:
        paper = Paper()
        paper.print(table(dialects.values(), SAMPLE_TOOLS))
    else:
        paper = Paper()
        paper.print(about(dialects[name], tuple(tools), paper.width, **demands))


class _Demands(TypedDict):
    """Constraints of a grammar."""

    calls: Calls | None
    tool: str | None


def _raw(dialect: Dialect, part: str, tools: tuple[ToolSpec, ...], demands: _Demands) -> str:
    try:
        return part_of(dialect, part, tools, **demands).removesuffix("\n") + "\n"
    except (Unsupported, Unwritable) as error:
        raise Refusal(str(error)) from error
