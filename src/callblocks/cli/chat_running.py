"""Opens what a chat needs, lets it take place, and says how the command ends."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Iterable
from contextlib import ExitStack, asynccontextmanager, redirect_stdout

import click

from callblocks.cli.asked import Asked, AttachedFile
from callblocks.cli.asking import TerminalAsker, open_terminal
from callblocks.cli.chat_options import ChatOptions
from callblocks.cli.chat_place import Place
from callblocks.cli.chat_screen import ChatScreen
from callblocks.cli.chat_turn import TurnLines, perform_turn
from callblocks.cli.exits import INTERRUPTED, PROBLEMS, say
from callblocks.cli.state import state_folder
from callblocks.cli.timeline_store import without_password
from callblocks.model.turn_events import TurnEnded
from callblocks.session.session import Session, Tell
from callblocks.session.settings import Attachment

__all__ = ("ask", "talk")


def talk(
    name: str | None, files: Iterable[AttachedFile], options: ChatOptions, *, last: bool
) -> None:
    """Talk with the person at the terminal until they leave."""
    from callblocks.cli.chat_input import Keyboard
    from callblocks.cli.chat_loop import ChatLoop

    async def run() -> None:
        screen, keyboard = ChatScreen(), Keyboard(state_folder())
        async with _open(options, screen) as place:
            chat = place.session(_name(place, name, last))
            await ChatLoop(place, screen, chat, read=keyboard.line, files=files).run()

    with without_password(options["store"]):
        asyncio.run(run())


def ask(name: str | None, given: Asked, options: ChatOptions, *, last: bool, as_json: bool) -> None:
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


async def _shown(session: Session, given: Asked, screen: ChatScreen) -> int:
    ended = await screen.play(session, lambda tell: _run(session, given, tell))
    return _code(ended, ok=all(outcome.ok for outcome in screen.outcomes))


async def _lines(session: Session, given: Asked) -> int:
    lines = TurnLines(sys.stdout.buffer)
    # What a tool prints does not get among what we print for programs.
    with redirect_stdout(sys.stderr):
        ended = await perform_turn(session, lambda tell: _run(session, given, tell), lines)
    return _code(ended, ok=all(outcome.ok for outcome in lines.outcomes))


async def _run(session: Session, given: Asked, tell: Tell) -> TurnEnded:
    files = [Attachment(file.name, file.content) for file in given.files]
    return await session.run(given.prompt, files, tell=tell)


def _code(ended: TurnEnded | None, *, ok: bool) -> int:
    if ended is not None and ended.status == "stopped":
        return INTERRUPTED
    return 0 if ok and ended is not None and ended.status == "answered" else PROBLEMS


@asynccontextmanager
async def _open(options: ChatOptions, screen: ChatScreen) -> AsyncGenerator[Place]:
    """The place; the person at the terminal is asked, where there is one."""
    with ExitStack() as stack:
        terminal = open_terminal()
        asker = None
        if terminal is not None:
            stack.callback(terminal.close)
            asker = TerminalAsker(terminal, screen.width, screen.aside)
        place = Place(options, asker)
        try:
            yield place
        finally:
            await place.close()


def _name(place: Place, given: str | None, last: bool) -> str:
    return place.newest() if last else given or place.new_name()
