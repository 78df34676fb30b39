"""`callblocks show`: a text as a chat, live where it comes slowly and a person watches."""

from __future__ import annotations

from typing import Unpack

import click

from callblocks.cli.exits import EXIT_CODES
from callblocks.cli.files import file_heading, files_argument
from callblocks.cli.io import pieces, streams
from callblocks.cli.live import show_live
from callblocks.cli.paint import Paper
from callblocks.cli.progress import progress
from callblocks.cli.reading import ReadingOptions, make_parser, read, reading_options
from callblocks.views.chat import Chat
from callblocks.views.terminal import Terminal

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
        terminal = Terminal(expanded=expand, width=paper.width)
        if paper.terminal and streams(path):
            show_live(read(pieces(path), make_parser(options)), terminal, paper)
        else:
            _show(path, options, terminal, paper)


def _show(path: str, options: ReadingOptions, terminal: Terminal, paper: Paper) -> None:
    chat = Chat()
    with progress(path, quiet=paper.terminal) as advance:
        for _, events in read(pieces(path, advance), make_parser(options)):
            chat.feed(events)
            paper.print(terminal.draw(chat.settle()))
    paper.print(terminal.draw(chat.close()))
