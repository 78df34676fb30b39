"""`callblocks workspace`: the office that tools work on: lay a sample, look at it, sign in.

Each command below it is imported when it is called.
"""

from __future__ import annotations

import click

from callblocks.cli.exits import EXIT_CODES
from callblocks.cli.main import LazyGroup

__all__ = ("command",)

COMMANDS = {
    "init": (
        "callblocks.cli.commands.office_local:lay_sample",
        "Lay a small sample office to try things on.",
    ),
    "show": (
        "callblocks.cli.commands.office_local:show_office",
        "Show mail, files, events, tasks and the like.",
    ),
    "connect": (
        "callblocks.cli.commands.office_google:connect_google",
        "Sign in at Google Workspace.",
    ),
    "forget": (
        "callblocks.cli.commands.office_google:forget_google",
        "Sign out at Google Workspace.",
    ),
}


@click.group(
    "workspace",
    cls=LazyGroup,
    table=COMMANDS,
    short_help="Lay, show and connect mail, files, events and tasks.",
    epilog=EXIT_CODES,
)
def command() -> None:
    """Lay, show and connect the office: mail, files, events, documents, sheets and tasks.

    It is the folder office/ in the workspace, in formats that ordinary programs read, or with
    --office google an account of Google Workspace.
    """
