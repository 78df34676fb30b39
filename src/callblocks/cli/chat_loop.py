"""A person talks with a model: prompts become turns, commands are followed, until one leaves."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable

import click

from callblocks.cli.asked import AttachedFile, attached
from callblocks.cli.chat_left import after_known, left_events
from callblocks.cli.chat_place import Place, left_turn
from callblocks.cli.chat_screen import ChatScreen
from callblocks.cli.chat_show import file_rows, recent_rows, view_rows
from callblocks.cli.chat_turn import Going
from callblocks.cli.chat_words import COMMANDS, Order, help_rows, read_line
from callblocks.cli.exits import INTERRUPTED
from callblocks.cli.model_options import read_setting
from callblocks.model.blocks import Entry
from callblocks.model.errors import CallblocksError
from callblocks.model.shown import format_size
from callblocks.session.session import Session, Tell
from callblocks.session.settings import Attachment
from callblocks.tools.names import close_to
from callblocks.views.rows import Kind, Row, wrap
from callblocks.views.safe import visible_line
from callblocks.views.tool_table import tool_table

__all__ = ("ChatLoop",)


_FAMILY = "the dialect of its family"


class ChatLoop:
    """One chat after the other; `read` gives what was typed."""

    def __init__(
        self,
        place: Place,
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
        """What was typed; None once the person leaves."""
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
        """What goes wrong with it is one line."""
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
        if rows := recent_rows(self._entries(), self._screen.width):
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
