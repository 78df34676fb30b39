"""Asking the person at the terminal.

    y        this call, once
    10       any call of this tool, for so many minutes
    n WHY    no, and why
    v        show the rest, and what is not given

The question and the answer go through the terminal itself: standard input may be the text. What
was typed before the question is thrown away. Where not all that is given is on the screen, there
is no yes before the rest was shown.
"""

from __future__ import annotations

import asyncio
import os
import termios
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TextIO

from callblocks.cli.paint import paint, plain_text
from callblocks.cli.question import (
    choice_rows,
    default_rows,
    prompt_line,
    question_rows,
    unseen_row,
)
from callblocks.runtime.approvals.approval import MINUTES
from callblocks.runtime.asking import Answer, Question
from callblocks.views.rows import Row

__all__ = ("TerminalAsker", "open_terminal", "read_answer")

_LEAST = 24
"""Rows of a question that are shown at first, however small the screen."""


def open_terminal() -> TextIO | None:
    """The terminal of this process; `None` where there is none, and so nobody to ask."""
    try:
        handle = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    return os.fdopen(handle, "w", encoding="utf-8", errors="replace")


class TerminalAsker:
    """Asks on a terminal; `aside` keeps what is drawn there out of the way meanwhile."""

    def __init__(
        self, terminal: TextIO, width: int, aside: Callable[[], AbstractContextManager[object]]
    ) -> None:
        self._terminal = terminal
        self._width = width
        self._aside = aside

    async def __call__(self, question: Question) -> Answer | None:
        """Show the question until it is answered."""
        # A terminal that was closed fails at every turn: nobody is there any more.
        with self._aside(), suppress(OSError, termios.error):
            return await self._ask(question)
        return None

    async def _ask(self, question: Question) -> Answer | None:
        rows, defaults = question_rows(question, self._width), default_rows(question, self._width)
        room = self._room()
        shown, rest = rows[:room], rows[room:]
        self._print(shown)
        self._choices(question, rest, defaults)
        termios.tcflush(self._terminal, termios.TCIFLUSH)
        while line := await self._prompt(question):
            answer = read_answer(line)
            if answer is not None and (not rest or answer.verdict == "deny"):
                return answer
            if line.strip().lower() == "v" and (rest or defaults):
                self._print([*rest, *defaults])
                rest, defaults = [], []
            elif answer is not None:
                self._print([unseen_row(len(rest))])
            self._choices(question, rest, defaults)
        return None

    def _choices(self, question: Question, rest: list[Row], defaults: list[Row]) -> None:
        name, more = question.tool.name, len(rest)
        self._print(choice_rows(name, self._width, more=more, defaults=len(defaults)))

    def _room(self) -> int:
        """Rows of a question that are on the screen together with the prompt."""
        try:
            return max(os.get_terminal_size(self._terminal.fileno()).lines - 4, _LEAST)
        except OSError:
            return _LEAST

    async def _prompt(self, question: Question) -> str:
        """Ask for a line; "" at the end of all input."""
        self._terminal.write(prompt_line(question, self._width))
        self._terminal.flush()
        await _readable(self._terminal.fileno())
        return os.read(self._terminal.fileno(), 4096).decode(errors="replace")

    def _print(self, rows: Sequence[Row]) -> None:
        try:
            from rich.console import Console
        except ImportError:
            self._terminal.write(plain_text(rows))
            return
        console = Console(file=self._terminal, highlight=False, markup=False, emoji=False)
        console.print(paint(rows), soft_wrap=True)


async def _readable(handle: int) -> None:
    """Wait for a line without a thread that nobody could end."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(handle, lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(handle)


def read_answer(line: str) -> Answer | None:
    """What a line means; `None` for one that means nothing."""
    word, _, rest = line.strip().partition(" ")
    match word.lower():
        case "y" | "yes":
            return Answer("once")
        case "n" | "no":
            return Answer("deny", reason=rest.strip())
        case digits if digits in map(str, MINUTES):
            return Answer("while", minutes=int(digits))
        case _:
            return None
