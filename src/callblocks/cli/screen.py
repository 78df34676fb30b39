"""A chat on standard output: what is settled is printed once, in order."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager

from callblocks.cli.io import streams
from callblocks.cli.paint import Paper
from callblocks.model.events import Event
from callblocks.views.chat import Chat, Speaker
from callblocks.views.terminal import Terminal

__all__ = ("Mute", "Screen", "open_screen")


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

    def feed(self, events: Iterable[Event | Speaker]) -> None:
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

    def feed(self, events: Iterable[Event | Speaker]) -> None:
        pass


def open_screen(path: str, paper: Paper, *, expanded: bool, live: bool = False) -> Screen:
    """The screen for a text: one that grows where a person watches and the text comes slowly.

    Growing needs rich; without it what is settled is printed.
    """
    if paper.terminal and paper.console is not None and (live or streams(path)):
        from callblocks.cli.live import LiveScreen

        return LiveScreen(paper, expanded=expanded)
    return Screen(paper, expanded=expanded)
