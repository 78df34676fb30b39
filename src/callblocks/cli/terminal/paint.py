"""Rows on standard output: each kind in its colour, or plain text where there is no terminal.

`NO_COLOR`, `FORCE_COLOR` and `TERM` are honoured, as rich does. Rows hold safe text only, and
rich's own markup is never read in them.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from shutil import get_terminal_size
from typing import TYPE_CHECKING, TypeVar

import click

from callblocks.cli.terminal.io import STDIN, streams
from callblocks.views.chat.chat import Chat, Shown
from callblocks.views.rows import Kind, Row, plain, visible, wrap
from callblocks.views.terminal.terminal import Terminal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.progress import Progress
    from rich.text import Text

__all__ = (
    "STYLES",
    "LiveScreen",
    "Mute",
    "Paper",
    "Screen",
    "counted",
    "open_screen",
    "page",
    "paint",
    "plain_text",
    "progress",
)

STYLES: dict[Kind, str] = {
    "plain": "",
    "quiet": "dim",
    "strong": "bold",
    "emphasis": "italic",
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


# --- A chat that grows on a terminal ---
#
# What is settled is printed once and scrolls away; what still may change is drawn again below
# it: the count of calls, ⏳ and then a result, and the last lines that a running tool says. What
# would not fit on the screen is given up: printed as it is, because a terminal cannot change what
# has scrolled away.


# --- A chat on standard output: what is settled is printed once, in order ---


class Screen:
    """Takes events; used with `with`, at whose end all that is left is printed."""

    def __init__(self, paper: Paper, *, expanded: bool, rendered: bool = False) -> None:
        self.paper = paper
        self.chat = Chat()
        # Nothing on a terminal closes what is open.
        self.terminal = Terminal(
            expanded=expanded, width=paper.width, rendered=rendered, folds=not expanded
        )

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        self.paper.print([*self.terminal.draw(self.chat.close()), *self.terminal.close()])

    def feed(self, events: Iterable[Shown]) -> None:
        """Take more events, and print what they settled."""
        self.chat.feed(events)
        self.paper.print(self.terminal.draw(self.chat.settle()))

    def say(self, text: str) -> None:
        """Show what a running tool says, where that can be taken away again: not here."""

    @contextmanager
    def aside(self) -> Generator[None]:
        """Leave the terminal to somebody else for a while."""
        yield


class Mute(Screen):
    """A screen that shows nothing: standard output is for something else."""

    def __exit__(self, *_: object) -> None:
        pass

    def feed(self, events: Iterable[Shown]) -> None:
        pass


def open_screen(
    path: str, paper: Paper, *, expanded: bool, live: bool = False, rendered: bool = False
) -> Screen:
    """The screen for a text: one that grows where a person watches and the text comes slowly.

    Growing needs rich; without it what is settled is printed. Markdown that is to be rendered is
    rendered for a person: a pipe gets it as it was written.
    """
    if paper.terminal and paper.console is not None and (live or streams(path)):
        return LiveScreen(paper, expanded=expanded, rendered=rendered)
    return Screen(paper, expanded=expanded)


# --- A chat that grows on a terminal ---

_SAID_LINES = 5


class LiveScreen(Screen):
    """A screen for a person who watches."""

    def __init__(self, paper: Paper, *, expanded: bool, rendered: bool = False) -> None:
        super().__init__(paper, expanded=expanded, rendered=rendered)
        assert paper.console is not None
        self._console = paper.console
        self._said: deque[str] = deque(maxlen=_SAID_LINES)
        self._live = self._new_live()
        self._is_aside = False

    def __enter__(self) -> LiveScreen:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()
        super().__exit__()

    def feed(self, events: Iterable[Shown]) -> None:
        self.chat.feed(events)
        self._said.clear()
        self._redraw()

    def say(self, text: str) -> None:
        self._said.extend(line for line in visible(text).split("\n") if line.strip())
        self._redraw()

    @contextmanager
    def aside(self) -> Generator[None]:
        self._live.stop()
        self._is_aside = True
        try:
            yield
        finally:
            self._is_aside = False
            self._live = self._new_live()
            self._live.start()
            self._redraw()

    def _new_live(self) -> Live:
        from rich.live import Live  # the base has no rich, and prints settled text alone

        return Live(console=self._console, auto_refresh=False, transient=True)

    def _redraw(self) -> None:
        # Others may go on while somebody has the terminal.
        if self._is_aside:
            return
        self._print(self.terminal.draw(self.chat.settle()))
        while len(self._open_rows()) > self._console.height - 2 and self.chat.items:
            self._print(self.terminal.draw(self.chat.give_up()))
        self._live.update(paint(self._open_rows()), refresh=True)

    def _open_rows(self) -> list[Row]:
        ahead = self.terminal.copy()
        rows = [*ahead.draw(self.chat.items), *ahead.close()]
        for line in self._said:
            rows += wrap((("quiet", f"    {line}"),), self.paper.width)[:1]
        return rows

    def _print(self, rows: list[Row]) -> None:
        if rows:
            self._console.print(paint(rows), soft_wrap=True)
