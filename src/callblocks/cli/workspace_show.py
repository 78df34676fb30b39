"""`callblocks workspace show`: what an office holds, as tables or as JSON."""

from __future__ import annotations

import sys

import click
import msgspec

from callblocks.cli.exits import Refusal, say
from callblocks.cli.paint import Paper
from callblocks.cli.workplace import (
    given_office,
    office_option,
    open_workspace,
    workspace_option,
)
from callblocks.views.office_table import part_rows

__all__ = ("command",)

_PARTS = ("mail", "drive", "calendar", "tasks", "sheets", "docs")
_FEW, _MANY = 3, 100


@click.command("show", short_help="Show mail, files, events, tasks and the like.")
@click.argument("part", nargs=-1, type=click.Choice(_PARTS), metavar="[PART]...")
@click.option(
    "--limit",
    "-n",
    type=click.IntRange(1, 10_000),
    help=f"Lines of each part.  [default: {_FEW}; where PART is given: {_MANY}]",
)
@click.option("--json", "as_json", is_flag=True, help="One object: lists in Google's shape.")
@workspace_option
@office_option
def command(
    part: tuple[str, ...], limit: int | None, as_json: bool, workspace: str, office: str
) -> None:
    """Show what an office holds: all parts in short, or each PART that is named.

    PART is mail, drive, calendar, tasks, sheets or docs. What is newest comes first; events and
    tasks stand in their order, the next events first; after the last one, the last.
    """
    from callblocks.cli.office_parts import read_part
    from callblocks.model.errors import ToolError
    from callblocks.toolkits.workspace.opening import has_office, local_office

    lines = limit or (_MANY if part else _FEW)
    with open_workspace(workspace) as root:
        given = given_office(office)
        absent = given is None and not has_office(root)
        opened = given or local_office(root)
        try:
            read = {name: read_part(opened, name, lines) for name in part or _PARTS}
        except ToolError as error:
            raise Refusal(f"{error.code}: {error.message}") from error
    if as_json:
        found = {name: one.resources for name, one in read.items()}
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(found)) + b"\n")
    elif absent:
        Paper().print([(("plain", "no office here; callblocks workspace init makes a sample"),)])
    else:
        paper = Paper()
        for at, one in enumerate(read.values()):
            paper.print([*([()] if at else []), *part_rows(one.table, paper.width)])
    for fault in dict.fromkeys(fault for one in read.values() for fault in one.faults):
        say(fault)
