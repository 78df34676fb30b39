"""Rows on standard output: each kind in its colour, or plain text where there is no terminal.

`NO_COLOR`, `FORCE_COLOR` and `TERM` are honoured, as rich does. Rows hold safe text only, and
rich's own markup is never read in them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from shutil import get_terminal_size
from typing import TYPE_CHECKING, TypeVar

import click

from callblocks.cli.terminal.io import STDIN
from callblocks.views.rows import Kind, Row, plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.text import Text

__all__ = (
    "STYLES",
    "Paper",
    "counted",
    "page",
    "paint",
    "plain_text",
    "progress",
)

STYLES: dict[Kind, str] = {
    "plain": "",
    "quiet": "dim",
    "strong": "bold",
    "mark": "cyan",
    "name": "bold cyan",
    "key": "blue",
    "error": "red",
    "warning": "yellow",
    "code": "green",
    "reasoning": "dim italic",
    "heading": "bold",
}

_WITHOUT_TERMINAL = 100
_WIDEST = 120
_FORCING = ("FORCE_COLOR", "TTY_COMPATIBLE")


class Paper:
    """Standard output, for rows.

    `console` is None where plain text is wanted, or where rich is not installed.
    """

    def __init__(self) -> None:
        self.terminal = sys.stdout.isatty()
        self.console = _console() if self.terminal or any(map(os.environ.get, _FORCING)) else None
        wide = get_terminal_size().columns if self.terminal else _WITHOUT_TERMINAL
        if self.console and self.terminal:
            wide = self.console.width
        self.width = min(wide, _WIDEST)

    def print(self, rows: Sequence[Row]) -> None:
        """Print rows, which have their width, at once."""
        if not rows:
            return
        if self.console is not None:
            self.console.print(paint(rows), soft_wrap=True)
        else:
            sys.stdout.write(plain_text(rows))
        sys.stdout.flush()


def plain_text(rows: Iterable[Row]) -> str:
    """Rows without colours, each on its line."""
    return "".join(f"{plain(row).rstrip()}\n" for row in rows)


def paint(rows: Iterable[Row]) -> Text:
    """Rows as one rich text."""
    from rich.text import Text

    lines = [Text.assemble(*((text, STYLES[kind]) for kind, text in row)) for row in rows]
    return Text("\n", no_wrap=True, overflow="ignore").join(lines)


def _console() -> Console | None:
    """Return the console of rich, or None where rich is not installed: text is plain then."""
    try:
        from rich.console import Console
    except ImportError:
        return None

    return Console(highlight=False, markup=False, emoji=False)


# --- Rows for a person, with a pager where they are more than the screen holds ---
#
# Without a terminal they are plain text, as everywhere. `PAGER` is honoured.

_AT_ONCE = 100


def page(paper: Paper, rows: Iterable[Row]) -> None:
    """Show rows as they come; no more of them are made than are looked at."""
    coming = iter(rows)
    if paper.console is None or not paper.terminal or not sys.stdin.isatty():
        for some in _some(coming):
            paper.print(some)
        return
    first = list(islice(coming, paper.console.height))
    if len(first) < paper.console.height:
        paper.print(first)
        return
    click.echo_via_pager(_texts(paper.console, chain([first], _some(coming))))


def _some(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while some := list(islice(rows, _AT_ONCE)):
        yield some


def _texts(console: Console, rows: Iterable[list[Row]]) -> Iterator[str]:
    for some in rows:
        with console.capture() as captured:
            console.print(paint(some), soft_wrap=True)
        yield captured.get()


# --- How far a long file, or a long timeline, is read, on standard error ---
#
# Shown only where a person can see it and nothing else is written to that terminal meanwhile.

T = TypeVar("T")

LONG = 5 * 1024 * 1024
MANY = 2_000


@contextmanager
def progress(path: str, *, quiet: bool = False) -> Generator[Callable[[int], object] | None]:
    """Something to tell how many more bytes were read, or None where nobody would see it."""
    size = 0 if path == STDIN or not os.path.isfile(path) else os.path.getsize(path)
    bar = None if quiet or size < LONG or not sys.stderr.isatty() else _bar("DownloadColumn")
    if bar is None:
        yield None
        return
    with bar:
        task = bar.add_task("", total=size)
        yield lambda count: bar.advance(task, count)


def counted(things: Iterable[T], total: int) -> Iterator[T]:
    """The things as they come; how far they are is shown, if they are many."""
    bar = None if total < MANY or not sys.stderr.isatty() else _bar("MofNCompleteColumn")
    if bar is None:
        yield from things
        return
    with bar:
        yield from bar.track(things, total)


def _bar(column: str) -> Progress | None:
    """Return a bar with a column of that name, or None where rich is not installed."""
    try:
        from rich import progress as parts
        from rich.console import Console
    except ImportError:
        return None
    columns = (parts.BarColumn(), getattr(parts, column)(), parts.TimeRemainingColumn())
    return parts.Progress(*columns, console=Console(stderr=True, markup=False), transient=True)
