"""`callblocks show`: a text as a chat, live where it comes slowly and a person watches."""

from __future__ import annotations

from typing import Unpack

import click

from callblocks.cli.exits import EXIT_CODES
from callblocks.cli.options.read_options import ReadingOptions, make_parser, read, reading_options
from callblocks.cli.terminal.io import file_heading, files_argument, pieces
from callblocks.cli.terminal.live import open_screen
from callblocks.cli.terminal.paint import Paper, progress

__all__ = ("command",)


@click.command(
    "show", short_help="Show a text as a chat: prose, and calls with results.", epilog=EXIT_CODES
)
@files_argument
@click.option("--expand", is_flag=True, help="Show each call and its result.")
@reading_options
def command(files: tuple[str, ...], expand: bool, **options: Unpack[ReadingOptions]) -> None:
    """Show a text as a chat: prose, and calls with their results in groups.

    FILE is a path, or - for standard input, which is also the default. On a terminal the chat
    grows while standard input arrives.
    """
    paper = Paper()
    for path in files:
        if len(files) > 1:
            paper.print(file_heading(path, first=path == files[0]))
        with (
            open_screen(path, paper, expanded=expand) as screen,
            progress(path, quiet=paper.terminal) as advance,
        ):
            for _, events in read(pieces(path, advance), make_parser(options)):
                screen.feed(events)
