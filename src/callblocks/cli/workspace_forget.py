"""`callblocks workspace forget`: end what was allowed at Google Workspace."""

from __future__ import annotations

import sys

import click

from callblocks.cli.exits import Refusal
from callblocks.cli.state import GOOGLE, state_folder

__all__ = ("command",)


@click.command("forget", short_help="Sign out at Google Workspace.")
def command() -> None:
    """Sign out: what was allowed ends at Google, and its file is removed here."""
    from callblocks.model.errors import ToolError
    from callblocks.toolkits.workspace.opening import require_google

    require_google()
    from callblocks.toolkits.workspace.google.auth import forget

    try:
        was_there = forget(state_folder() / GOOGLE)
    except ToolError as error:
        raise Refusal(f"{error.code}: {error.message}") from error
    sys.stdout.write("Signed out.\n" if was_there else "No account was connected.\n")
