"""Screens that show turns to a person: one for each turn, and a summary below it.

The line where a person types in a chat: several rows of it, history, and completion.

    Enter sends        Alt-Enter begins a new row        Ctrl-C drops what was typed
    Tab completes commands, the names of files after /attach, models and dialects

What was typed is kept in the state folder, for its owner alone.
"""

from __future__ import annotations

import os
import re
import signal
import termios
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings

from callblocks.cli.chat.chat_turn import Begin, TurnShown, ended_rows, perform_turn
from callblocks.cli.exits import say
from callblocks.cli.options.chat_options import SETTINGS, model_words
from callblocks.cli.options.read_options import MODEL_DIALECT
from callblocks.cli.options.state_folder import ARTIFACTS, state_folder
from callblocks.cli.terminal.io import STDIN
from callblocks.cli.terminal.paint import Paper, Screen, open_screen, page
from callblocks.core.blocks import Entry
from callblocks.core.events import TurnEnded
from callblocks.core.outcomes import Outcome
from callblocks.session.session import Session
from callblocks.views.chat.timeline_chat import Batch, Message, ShownFile, ShownItem, shown
from callblocks.views.rows import Row, visible_line, wrap
from callblocks.views.terminal.terminal import chat_rows, entry_rows

if TYPE_CHECKING:
    from prompt_toolkit.key_binding.key_processor import KeyPressEvent

__all__ = (
    "COMMANDS",
    "HISTORY",
    "ChatCompleter",
    "ChatScreen",
    "KeptHistory",
    "Keyboard",
    "Line",
    "Order",
    "echoing",
    "file_rows",
    "help_rows",
    "open_history",
    "read_line",
    "recent_rows",
    "view_rows",
)

# --- What a person types in a chat: a prompt, or a command that begins with a slash ---
#
# Add up the numbers in it.      a prompt
# /attach numbers.csv            a command, and what it is about
# /etc/hosts is odd              a prompt: only letters may follow the slash

COMMANDS: dict[str, tuple[str, str]] = {
    "help": ("", "this list"),
    "attach": ("FILE", "give a file with the next prompt"),
    "files": ("", "the files that wait, and those of this chat"),
    "tools": ("", "what the model may call"),
    "model": ("SPEC", "talk with another model; alone: which one it is"),
    "set": ("NAME VALUE", "system, temperature, max-tokens or mode; alone: what they are"),
    "dialect": ("NAME", "how calls are written; alone: which one it is"),
    "show": ("", "this chat, with each call and its result"),
    "raw": ("", "this chat block by block, as it is kept"),
    "view": ("", "this chat as the model gets it"),
    "resume": ("", "go on with a turn that was interrupted"),
    "new": ("[NAME]", "begin another chat"),
    "exit": ("", "leave; so does Ctrl-D"),
}
"""Each command: what may follow it, and what it does."""

_KEYS = "Enter sends, Alt-Enter begins a new line, Ctrl-C stops the model, Ctrl-D leaves."
_ORDER = re.compile(r"/([A-Za-z]+)(?:\s+(.*))?", re.DOTALL)


class Order(msgspec.Struct, frozen=True):
    """A command that was typed, and the rest of its line."""

    name: str
    rest: str = ""


Line: TypeAlias = str | Order
"""What was typed: a prompt, or a command."""


def read_line(text: str) -> Line:
    """Tell a command from a prompt; neither has blanks around it."""
    text = text.strip()
    found = _ORDER.fullmatch(text)
    return text if found is None else Order(found[1].lower(), (found[2] or "").strip())


def help_rows(width: int) -> list[Row]:
    """Every command, and the keys."""
    heads = [f"/{name} {follows}".rstrip() for name, (follows, _) in COMMANDS.items()]
    pad = max(map(len, heads)) + 2
    rows: list[Row] = []
    for head, (_, about) in zip(heads, COMMANDS.values(), strict=True):
        row: Row = (("code", f"  {head:<{pad}}"), ("quiet", about))
        rows += wrap(row, width, (("plain", " " * (pad + 2)),))
    return [*rows, (), *wrap((("quiet", _KEYS),), width)]


# --- The line where a person types in a chat: several rows of it, history, and completion ---

HISTORY = "chat-history"
_PROMPT = "> "


class Keyboard:
    """Reads what a person types."""

    def __init__(self, state: Path) -> None:
        self._session: PromptSession[str] = PromptSession(
            history=open_history(state / HISTORY),
            completer=ChatCompleter(),
            complete_while_typing=True,
            key_bindings=_keys(),
            multiline=True,
            reserve_space_for_menu=4,
            prompt_continuation="  ",
        )

    async def line(self) -> str:
        """Return the line typed; raise `EOFError` on Ctrl-D, `KeyboardInterrupt` on Ctrl-C."""
        return await self._session.prompt_async(_PROMPT)


class KeptHistory(FileHistory):
    """History of typed lines in a file; errors of writing are ignored, as on a full disk."""

    def store_string(self, string: str) -> None:
        with suppress(OSError):
            super().store_string(string)


def open_history(path: Path) -> History:
    """The history in a file that only its owner reads; of this run alone, where that fails."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(handle, 0o600)
        finally:
            os.close(handle)
    except OSError as error:
        say(f"{path}: {error.strerror}; what you type is not kept")
        return InMemoryHistory()
    return KeptHistory(path)


class ChatCompleter(Completer):
    """Completes commands, and what may follow them."""

    def __init__(self) -> None:
        self._files = PathCompleter(expanduser=True)

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """Yield the completions of the text before the cursor."""
        head, blank, rest = document.text_before_cursor.partition(" ")
        if not head.startswith("/"):
            return
        if not blank:
            yield from _words(head, (f"/{name}" for name in COMMANDS))
        elif head == "/attach":
            for found in self._files.get_completions(Document(rest), complete_event):
                # A name may have been chosen by whoever wrote the file.
                shown = visible_line(found.display_text)
                yield Completion(found.text, found.start_position, display=shown)
        elif head == "/dialect":
            yield from _words(rest, MODEL_DIALECT.names)
        elif head == "/model":
            yield from _words(rest, model_words())
        elif head == "/set":
            yield from _words(rest, (f"{name} " for name in SETTINGS))


def _words(begun: str, words: Iterable[str]) -> Iterable[Completion]:
    for word in words:
        if word.startswith(begun):
            yield Completion(word, -len(begun))


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-c")
    @keys.add("<sigint>")
    def _(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=KeyboardInterrupt)

    return keys


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
        self._screen = open_screen(STDIN, self.paper, expanded=True, live=True, rendered=True)
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


def recent_rows(entries: Iterable[Entry], width: int, *, rendered: bool = False) -> list[Row]:
    """The last turns; what is long is cut."""
    items = shown(entries)
    turns = list(dict.fromkeys(item.turn for item in items))
    last = [_short(item) for item in items if item.turn in turns[-_TURNS:]]
    rows = list(chat_rows(last, width, expanded=False, rendered=rendered))
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
        from callblocks.views.terminal.terminal import part_rows

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
