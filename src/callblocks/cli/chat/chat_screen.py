"""Screens that show turns to a person: one for each turn, and a summary below it."""

from __future__ import annotations

import os
import signal
import termios
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress

import msgspec

from callblocks.cli.chat.chat_turn import Begin, TurnShown, ended_rows, perform_turn
from callblocks.cli.options.state_folder import ARTIFACTS, state_folder
from callblocks.cli.terminal.io import STDIN
from callblocks.cli.terminal.live import Screen, open_screen
from callblocks.cli.terminal.paint import Paper, page
from callblocks.core.blocks import Entry
from callblocks.core.outcomes import Outcome
from callblocks.core.turn_events import TurnEnded
from callblocks.session.session import Session
from callblocks.views.chat.timeline_chat import Batch, Message, ShownFile, ShownItem, shown
from callblocks.views.rows import Row, wrap
from callblocks.views.terminal.timeline_rows import chat_rows, entry_rows

__all__ = (
    "ChatScreen",
    "echoing",
    "file_rows",
    "recent_rows",
    "view_rows",
)

# --- Whether the terminal shows what is typed: not while a model speaks, and again at a question
# ---
#
# What is typed meanwhile is not lost: the next prompt has it. A program in the background leaves
# the terminal as it is.

_LOCAL = 3
"""Where the local modes stand among those of a terminal."""


@contextmanager
def echoing(shown: bool) -> Generator[None]:
    """Show what is typed, or do not; however that ends, it is then as it was before."""
    handle = _open()
    if handle is None:
        yield
        return
    try:
        before = _set(handle, shown)
        try:
            yield
        finally:
            _set(handle, before)
    finally:
        os.close(handle)


def _open() -> int | None:
    """The terminal of this program; `None` where it has none, or another has it now."""
    try:
        handle = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    with suppress(OSError):
        if os.tcgetpgrp(handle) == os.getpgrp():
            return handle
    os.close(handle)
    return None


def _set(handle: int, shown: bool) -> bool:
    """Set it, and say how it was."""
    try:
        modes = termios.tcgetattr(handle)
        before = bool(modes[_LOCAL] & termios.ECHO)
        modes[_LOCAL] = modes[_LOCAL] | termios.ECHO if shown else modes[_LOCAL] & ~termios.ECHO
        termios.tcsetattr(handle, termios.TCSANOW, modes)
    except termios.error:
        # The terminal has gone, and with it whoever would see something.
        return True
    return before


# --- Screens that show turns to a person: one for each turn, and a summary below it ---


class ChatScreen:
    """Shows one turn at a time; `outcomes` are those of the last."""

    def __init__(self) -> None:
        self.paper = Paper()
        self.outcomes: list[Outcome] = []
        self._screen: Screen | None = None

    @property
    def width(self) -> int:
        """Columns that rows may have."""
        return self.paper.width

    def print(self, rows: Sequence[Row]) -> None:
        """Print rows, while no turn is shown."""
        self.paper.print(rows)

    def page(self, rows: Iterable[Row]) -> None:
        """Print what may be long, with a pager; Ctrl-C ends that and no more."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            page(self.paper, rows)
        except KeyboardInterrupt:
            self.print([()])
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def aside(self) -> Generator[None]:
        """Leave the terminal to a question."""
        if self._screen is None:
            yield
        else:
            with self._screen.aside(), echoing(True):
                yield

    async def play(self, session: Session, begin: Begin) -> TurnEnded | None:
        """Show a turn as it happens, and then what came of it."""
        # The window may have another size by now.
        self.paper = Paper()
        self._screen = open_screen(STDIN, self.paper, expanded=True, live=True)
        shown = TurnShown(self._screen)
        try:
            with self._quiet(), self._screen:
                ended = await perform_turn(session, begin, shown)
        finally:
            self._screen, self.outcomes = None, shown.outcomes
        if ended is not None:
            folder = str(state_folder() / ARTIFACTS)
            self.print([*ended_rows(ended, shown.outcomes, folder, self.width), ()])
        return ended

    def _quiet(self) -> AbstractContextManager[None]:
        """Turn the terminal's echo off, so that typed characters do not mix with the output."""
        return echoing(False) if self.paper.terminal else nullcontext()


# --- A chat that is kept, for whoever goes on with it: its last turns, all of it, or its files ---

_TURNS = 3
_LINES = 8
_LENGTH = 600


def recent_rows(entries: Iterable[Entry], width: int) -> list[Row]:
    """The last turns; what is long is cut."""
    items = shown(entries)
    turns = list(dict.fromkeys(item.turn for item in items))
    last = [_short(item) for item in items if item.turn in turns[-_TURNS:]]
    rows = list(chat_rows(last, width, expanded=False))
    if earlier := len(turns[:-_TURNS]):
        words = "1 turn before" if earlier == 1 else f"{earlier} turns before"
        rows[:0] = [(("quiet", f"… {words}; /show has all of it"),), ()]
    return rows


def view_rows(entries: Iterable[Entry], view: str, width: int, budget: int | None) -> Iterator[Row]:
    """All of it: `show`, with each call and its result; `raw`, block by block; or the `view`."""
    if view == "raw":
        return (row for entry in entries for row in entry_rows(entry, width))
    if view == "view":
        from callblocks.views.model_view.view import render
        from callblocks.views.terminal.timeline_rows import part_rows

        return part_rows(render(entries, budget=budget), width)
    return chat_rows(shown(entries), width, expanded=True)


def file_rows(entries: Iterable[Entry], width: int) -> list[Row]:
    """The files of a chat: those that the person gave, and those that calls made."""
    rows: list[Row] = []
    for item in shown(entries):
        for file in _files(item):
            rows += wrap((("plain", f"  {file.about}"),), width, (("plain", "    "),))
    return rows


def _files(item: ShownItem) -> list[ShownFile]:
    match item:
        case Message(files=files):
            return files
        case Batch(calls=calls):
            return [file for call in calls for file in call.files]
        case _:
            return []


def _short(item: ShownItem) -> ShownItem:
    """A message that fits between others."""
    if not isinstance(item, Message):
        return item
    lines = item.text.split("\n")
    text = "\n".join(lines[:_LINES])[:_LENGTH]
    cut = text if text == item.text else f"{text.rstrip()} …"
    return msgspec.structs.replace(item, text=cut)
