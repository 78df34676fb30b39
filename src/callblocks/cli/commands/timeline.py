"""`callblocks timeline`: what happened, as it was kept.

Each command below it is imported when it is called.
"""

from __future__ import annotations

import click

from callblocks.cli.exits import EXIT_CODES
from callblocks.cli.main import LazyGroup

__all__ = ("command",)

COMMANDS = {
    "list": (
        "callblocks.cli.commands.timeline_read:list_timelines",
        "List the timelines of a store.",
    ),
    "show": ("callblocks.cli.commands.timeline_read:show_timeline", "Show a timeline to a person."),
    "follow": (
        "callblocks.cli.commands.timeline_read:follow_timeline",
        "Show each block as it is written.",
    ),
    "verify": (
        "callblocks.cli.commands.timeline_read:verify_timelines",
        "Check that nothing was changed or lost.",
    ),
    "export": (
        "callblocks.cli.commands.timeline_move:export_timeline",
        "Write a timeline as JSONL, Markdown or HTML.",
    ),
    "import": (
        "callblocks.cli.commands.timeline_move:import_timeline",
        "Read a timeline that was exported.",
    ),
}


@click.group(
    "timeline",
    cls=LazyGroup,
    table=COMMANDS,
    short_help="Show, check and move what was kept of runs.",
    epilog=EXIT_CODES,
)
def command() -> None:
    """Show, check and move what was kept of runs.

    `callblocks run --timeline NAME` writes down what a model said, each call before it runs, and
    what came of it. A timeline only grows: each block has a number and the hash of all before it.
    """
