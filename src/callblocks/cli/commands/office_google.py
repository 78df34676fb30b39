"""`callblocks workspace connect`: let callblocks in at Google Workspace."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from callblocks.cli.exits import Refusal
from callblocks.cli.options.state_folder import GOOGLE, state_folder

__all__ = (
    "connect_google",
    "forget_google",
)


@click.command("connect", short_help="Sign in at Google Workspace.")
@click.argument("client_file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--only",
    multiple=True,
    metavar="TOOL",
    help="Ask for what this tool needs, and no more; a pattern such as gmail_*; may be given"
    " again.  [default: all]",
)
@click.option("--browser/--no-browser", default=True, help="Open a browser, where there is one.")
def connect_google(client_file: Path, only: tuple[str, ...], browser: bool) -> None:
    """Sign in at Google Workspace, so that --office google works on your account.

    CLIENT_FILE is the JSON file of an OAuth client of the type "Desktop app", from Google's
    console. What you allow is kept in the state folder, for you alone to read.
    """
    from callblocks.core.errors import ToolError
    from callblocks.toolkits.office.open_office import require_google

    require_google()
    from callblocks.toolkits.office.google.auth import connect

    try:
        address = connect(
            client_file, state_folder() / GOOGLE, _names(only), open_browser=browser, say=_say
        )
    except ToolError as error:
        raise Refusal(f"{error.code}: {error.message}") from error
    _say(f"Connected{f' as {address}' if address else ''}. Use it by --office google.")


def _names(only: tuple[str, ...]) -> list[str]:
    from fnmatch import fnmatchcase

    from callblocks.toolkits.office.open_office import OFFICE_TOOLS

    chosen = [
        name for name in OFFICE_TOOLS if not only or any(fnmatchcase(name, one) for one in only)
    ]
    if not chosen:
        raise click.BadParameter(f"no tool of the office is called {', '.join(only)}")
    return chosen


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


# --- `callblocks workspace forget`: end what was allowed at Google Workspace ---


@click.command("forget", short_help="Sign out at Google Workspace.")
def forget_google() -> None:
    """Sign out: what was allowed ends at Google, and its file is removed here."""
    from callblocks.core.errors import ToolError
    from callblocks.toolkits.office.open_office import require_google

    require_google()
    from callblocks.toolkits.office.google.auth import forget

    try:
        was_there = forget(state_folder() / GOOGLE)
    except ToolError as error:
        raise Refusal(f"{error.code}: {error.message}") from error
    sys.stdout.write("Signed out.\n" if was_there else "No account was connected.\n")
