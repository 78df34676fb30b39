"""A chat that grows on a terminal.

What is settled is printed once and scrolls away; what still may change is drawn again below
it: the count of calls, ⏳ and then a result, and the last lines that a running tool says. What
would not fit on the screen is given up: printed as it is, because a terminal cannot change what
has scrolled away.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from callblocks.cli.terminal.io import streams
from callblocks.cli.terminal.paint import Paper, paint
from callblocks.views.chat.chat import Chat, Shown
from callblocks.views.rows import Row, visible, wrap
from callblocks.views.terminal.terminal import Terminal

if TYPE_CHECKING:
    from rich.live import Live

__all__ = (
    "LiveScreen",
    "Mute",
    "Screen",
    "open_screen",
)

# --- A chat on standard output: what is settled is printed once, in order ---


class Screen:
    """Takes events; used with `with`, at whose end all that is left is printed."""

    def __init__(self, paper: Paper, *, expanded: bool) -> None:
        self.paper = paper
        self.chat = Chat()
        self.terminal = Terminal(expanded=expanded, width=paper.width)

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        self.paper.print(self.terminal.draw(self.chat.close()))

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


def open_screen(path: str, paper: Paper, *, expanded: bool, live: bool = False) -> Screen:
    """The screen for a text: one that grows where a person watches and the text comes slowly.

    Growing needs rich; without it what is settled is printed.
    """
    if paper.terminal and paper.console is not None and (live or streams(path)):
        return LiveScreen(paper, expanded=expanded)
    return Screen(paper, expanded=expanded)


# --- A chat that grows on a terminal ---

_SAID_LINES = 5


class LiveScreen(Screen):
    """A screen for a person who watches."""

    def __init__(self, paper: Paper, *, expanded: bool) -> None:
        super().__init__(paper, expanded=expanded)
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
        rows = self.terminal.copy().draw(self.chat.items)
        for line in self._said:
            rows += wrap((("quiet", f"    {line}"),), self.paper.width)[:1]
        return rows

    def _print(self, rows: list[Row]) -> None:
        if rows:
            self._console.print(paint(rows), soft_wrap=True)
