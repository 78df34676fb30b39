"""A chat that grows on a terminal.

What is settled is printed once and scrolls away; what still may change is drawn again below
it: the count of calls, ⏳ and then a result. What would not fit on the screen is given up:
printed as it is, because a terminal cannot change what has scrolled away.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.live import Live

from callblocks.cli.paint import Paper, paint
from callblocks.cli.reading import Read
from callblocks.views.chat import Chat, Item
from callblocks.views.rows import Row
from callblocks.views.terminal import Terminal

__all__ = ("show_live",)


def show_live(reads: Iterable[Read], terminal: Terminal, paper: Paper) -> None:
    """Show a chat while its text arrives."""
    assert paper.console is not None
    chat = Chat()
    with Live(console=paper.console, auto_refresh=False, transient=True) as live:
        for _, events in reads:
            chat.feed(events)
            _redraw(chat, terminal, live)
    paper.print(terminal.draw(chat.close()))


def _redraw(chat: Chat, terminal: Terminal, live: Live) -> None:
    _print(live.console, terminal.draw(chat.settle()))
    rows = _open_rows(chat.items, terminal)
    while len(rows) > live.console.height - 2 and chat.items:
        _print(live.console, terminal.draw(chat.give_up()))
        rows = _open_rows(chat.items, terminal)
    live.update(paint(rows), refresh=True)


def _open_rows(items: list[Item], terminal: Terminal) -> list[Row]:
    return terminal.copy().draw(items)


def _print(console: Console, rows: list[Row]) -> None:
    if rows:
        console.print(paint(rows), soft_wrap=True)
