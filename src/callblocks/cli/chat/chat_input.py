"""The line where a person types in a chat: several rows of it, history, and completion.

    Enter sends        Alt-Enter begins a new row        Ctrl-C drops what was typed
    Tab completes commands, the names of files after /attach, models and dialects

What was typed is kept in the state folder, for its owner alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings

from callblocks.cli.exits import say
from callblocks.cli.options.chat_options import SETTINGS, model_words
from callblocks.cli.options.read_options import MODEL_DIALECT
from callblocks.views.rows import Row, visible_line, wrap

if TYPE_CHECKING:
    from prompt_toolkit.key_binding.key_processor import KeyPressEvent

__all__ = (
    "COMMANDS",
    "HISTORY",
    "ChatCompleter",
    "KeptHistory",
    "Keyboard",
    "Line",
    "Order",
    "help_rows",
    "open_history",
    "read_line",
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
