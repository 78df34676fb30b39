"""A person talks with a model: prompts become turns, commands are followed, until one leaves."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import ExitStack, asynccontextmanager, redirect_stdout

import click

from callblocks.cli.chat.chat_screen import (
    COMMANDS,
    ChatScreen,
    Order,
    file_rows,
    help_rows,
    read_line,
    recent_rows,
    view_rows,
)
from callblocks.cli.chat.chat_setup import ChatSetup, left_turn
from callblocks.cli.chat.chat_turn import Going, TurnLines, after_known, left_events, perform_turn
from callblocks.cli.exits import INTERRUPTED, PROBLEMS, say
from callblocks.cli.options.chat_options import (
    AttachedFile,
    ChatOptions,
    PromptInput,
    attached,
    read_setting,
)
from callblocks.cli.options.state_folder import state_folder, without_password
from callblocks.cli.terminal.ask import TerminalAsker, open_terminal
from callblocks.core.blocks import Entry
from callblocks.core.call_text import format_size
from callblocks.core.errors import CallblocksError
from callblocks.core.events import TurnEnded
from callblocks.core.text import close_to
from callblocks.session.model_choice import Attachment
from callblocks.session.session import Session, Tell
from callblocks.views.rows import Kind, Row, visible_line, wrap
from callblocks.views.terminal.tables import tool_table

__all__ = (
    "ChatLoop",
    "ask",
    "talk",
)

_FAMILY = "the dialect of its family"


class ChatLoop:
    """One chat after the other; `read` gives what was typed."""

    def __init__(
        self,
        place: ChatSetup,
        screen: ChatScreen,
        session: Session,
        *,
        read: Callable[[], Awaitable[str]],
        files: Iterable[AttachedFile] = (),
    ) -> None:
        self._place = place
        self._screen = screen
        self._session = session
        self._read = read
        self._files = {file.name: file for file in files}
        self._orders: dict[str, Callable[[str], Awaitable[None]]] = {
            "help": self._help,
            "attach": self._attach,
            "files": self._list_files,
            "tools": self._tools,
            "model": self._model,
            "set": self._set,
            "dialect": self._dialect,
            "show": lambda _: self._show("show"),
            "raw": lambda _: self._show("raw"),
            "view": lambda _: self._show("view"),
            "resume": self._resume,
            "new": self._new,
        }

    async def run(self) -> None:
        """Read, and do what was typed, until the person leaves."""
        self._greet()
        while (text := await self._line()) is not None:
            match read_line(text):
                case Order(name="exit"):
                    return
                case Order() as order:
                    await self._guard(self._follow(order))
                case "":
                    pass
                case str() as prompt:
                    await self._guard(self._prompt(prompt))

    async def _line(self) -> str | None:
        """Return the line typed; None once the person leaves."""
        try:
            return await self._read()
        except EOFError:
            return None
        except KeyboardInterrupt:
            self._note("Ctrl-C again, or Ctrl-D, leaves; /help lists the commands.")
        try:
            return await self._read()
        except EOFError:
            return None
        except KeyboardInterrupt:
            raise click.exceptions.Exit(INTERRUPTED) from None

    async def _guard(self, doing: Awaitable[None]) -> None:
        """Await it, and print an error as one line."""
        try:
            await doing
        except CallblocksError as error:
            self._note(str(error), "warning")
        except click.ClickException as fault:
            self._note(fault.message, "warning")

    async def _follow(self, order: Order) -> None:
        if order.name not in self._orders:
            near = close_to(order.name, COMMANDS)
            hint = f"did you mean /{near}?" if near else "/help lists them"
            self._note(f"no command /{order.name}; {hint}", "warning")
        else:
            await self._orders[order.name](order.rest)

    async def _prompt(self, prompt: str) -> None:
        files = [Attachment(file.name, file.content) for file in self._files.values()]
        session = self._session
        self._screen.print([()])
        await self._screen.play(session, lambda tell: session.run(prompt, files, tell=tell))
        self._files.clear()

    async def _resume(self, _: str) -> None:
        session = self._session
        known = left_events(self._entries(), left_turn(session))

        def begin(tell: Tell) -> Going:
            return session.resume(tell=after_known(known, tell))

        if await self._screen.play(session, begin) is None:
            self._note("no turn of this chat was interrupted")

    async def _help(self, _: str) -> None:
        self._screen.print(help_rows(self._screen.width))

    async def _attach(self, path: str) -> None:
        if not path:
            self._note("/attach FILE gives a file with the next prompt", "warning")
            return
        file = attached(os.path.expanduser(path))
        self._files[file.name] = file
        self._note(_waiting(file))

    async def _list_files(self, _: str) -> None:
        for file in self._files.values():
            self._note(_waiting(file))
        rows = file_rows(self._entries(), self._screen.width)
        self._screen.print(rows or [(("quiet", "This chat has no file."),)])

    async def _tools(self, _: str) -> None:
        tools = self._place.tools(self._session).tools
        self._screen.page(tool_table(tools, self._screen.width))

    async def _model(self, spec: str) -> None:
        if spec:
            self._session = await self._place.talk_with(spec, self._session.name)
        self._note(f"{self._place.who}, calls in {self._place.dialect or _FAMILY}")

    async def _set(self, words: str) -> None:
        name, _, text = words.partition(" ")
        if name:
            key, value = read_setting(name, text.strip())
            self._session = await self._place.set_option(key, value, self._session.name)
        for row in self._place.model_settings:
            self._note(row)

    async def _dialect(self, name: str) -> None:
        if name:
            self._session = self._place.talk_in(name, self._session.name)
        self._note(self._place.dialect or _FAMILY)

    async def _show(self, view: str) -> None:
        if not self._session.recorder.timeline.head().count:
            self._note("there is nothing in this chat yet")
            return
        budget = self._place.host.settings.session.budget_of(self._place.model)
        self._screen.page(view_rows(self._entries(), view, self._screen.width, budget))

    async def _new(self, name: str) -> None:
        self._session = self._place.session(name or self._place.new_name())
        self._greet()

    def _greet(self) -> None:
        """The chat's name and model, what was said last, and a turn that is not over."""
        session = self._session
        self._note(f"{session.name}, with {self._place.who}; /help lists the commands")
        if rows := recent_rows(
            self._entries(), self._screen.width, rendered=self._screen.paper.console is not None
        ):
            self._screen.print([(), *rows, ()])
        if turn := left_turn(session):
            self._note(f"{turn} was interrupted; /resume goes on with it", "warning")

    def _entries(self) -> Iterable[Entry]:
        return self._session.recorder.timeline.entries()

    def _note(self, words: str, kind: Kind = "quiet") -> None:
        row: Row = (("mark", "ⓘ "), (kind, visible_line(words)))
        self._screen.print(wrap(row, self._screen.width, (("plain", "  "),)))


def _waiting(file: AttachedFile) -> str:
    return f"{file.name} ({format_size(len(file.content))}) goes with the next prompt"


# --- Opens what a chat needs, lets it take place, and says how the command ends ---


def talk(
    name: str | None, files: Iterable[AttachedFile], options: ChatOptions, *, last: bool
) -> None:
    """Talk with the person at the terminal until they leave."""
    from callblocks.cli.chat.chat_screen import Keyboard

    async def run() -> None:
        screen, keyboard = ChatScreen(), Keyboard(state_folder())
        async with _open(options, screen) as place:
            chat = place.session(_name(place, name, last))
            await ChatLoop(place, screen, chat, read=keyboard.line, files=files).run()

    with without_password(options["store"]):
        asyncio.run(run())


def ask(
    name: str | None, given: PromptInput, options: ChatOptions, *, last: bool, as_json: bool
) -> None:
    """Go through one turn; its answer is printed, or each of its events."""

    async def run() -> int:
        screen = ChatScreen()
        async with _open(options, screen) as place:
            chat = place.session(_name(place, name, last))
            code = await (_lines(chat, given) if as_json else _shown(chat, given, screen))
            if name is None and not last:
                say(f"to go on: callblocks chat {chat.name}")
            return code

    with without_password(options["store"]):
        if code := asyncio.run(run()):
            raise click.exceptions.Exit(code)


async def _shown(session: Session, given: PromptInput, screen: ChatScreen) -> int:
    ended = await screen.play(session, lambda tell: _run(session, given, tell))
    return _code(ended, ok=all(outcome.ok for outcome in screen.outcomes))


async def _lines(session: Session, given: PromptInput) -> int:
    lines = TurnLines(sys.stdout.buffer)
    # What a tool prints does not get among what we print for programs.
    with redirect_stdout(sys.stderr):
        ended = await perform_turn(session, lambda tell: _run(session, given, tell), lines)
    return _code(ended, ok=all(outcome.ok for outcome in lines.outcomes))


async def _run(session: Session, given: PromptInput, tell: Tell) -> TurnEnded:
    files = [Attachment(file.name, file.content) for file in given.files]
    return await session.run(given.prompt, files, tell=tell)


def _code(ended: TurnEnded | None, *, ok: bool) -> int:
    if ended is not None and ended.status == "stopped":
        return INTERRUPTED
    return 0 if ok and ended is not None and ended.status == "answered" else PROBLEMS


@asynccontextmanager
async def _open(options: ChatOptions, screen: ChatScreen) -> AsyncGenerator[ChatSetup]:
    """The place; the person at the terminal is asked, where there is one."""
    with ExitStack() as stack:
        terminal = open_terminal()
        asker = None
        if terminal is not None:
            stack.callback(terminal.close)
            asker = TerminalAsker(terminal, screen.width, screen.aside)
        place = ChatSetup(options, asker)
        try:
            yield place
        finally:
            await place.close()


def _name(place: ChatSetup, given: str | None, last: bool) -> str:
    return place.newest() if last else given or place.new_name()
