"""Asking the person at the terminal, with all of the arguments in sight.

    file_write wants to run: no rule names this call
      path  notes/a.md
      --- notes/a.md
      +++ notes/a.md
      @@ -1 +1 @@
      -old
      +new
    Run it?  [y] once  [5] [10] [30] minutes, any file_write  [n] no  [n why] no, and why:

The question and the answer go through the terminal itself: standard input may be the text. What
was typed before the question is thrown away. Where not all of it fits, `[v]` shows the rest.
"""

from __future__ import annotations

import asyncio
import os
import termios
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TextIO

from callblocks.cli.paint import paint
from callblocks.model.shown import to_compact_text
from callblocks.runtime.approvals.approval import MINUTES
from callblocks.runtime.asking import Answer, Question
from callblocks.views.rows import Kind, Row, columns, wrap
from callblocks.views.safe import visible, visible_line

__all__ = ("TerminalAsker", "open_terminal", "question_rows", "read_answer")

_INDENT = "  "
_HANG: Row = (("plain", _INDENT),)
_ROWS = 120
"""Rows of a question that are shown at first."""


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
        rows = question_rows(question, self._width)
        more = len(rows) - _ROWS
        self._print(rows[:_ROWS])
        termios.tcflush(self._terminal, termios.TCIFLUSH)
        while line := await self._prompt(question.tool.name, more):
            if more > 0 and line.strip().lower() == "v":
                self._print(rows[_ROWS:])
                more = 0
            elif (answer := read_answer(line)) is not None:
                return answer
        return None

    async def _prompt(self, tool: str, more: int) -> str:
        """Ask for a line; "" at the end of all input."""
        hidden = f"{_INDENT}… {more:,} more lines: [v] shows them\n" if more > 0 else ""
        self._terminal.write(hidden + _choices(tool))
        self._terminal.flush()
        await _readable(self._terminal.fileno())
        return os.read(self._terminal.fileno(), 4096).decode(errors="replace")

    def _print(self, rows: Sequence[Row]) -> None:
        from rich.console import Console

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


def question_rows(question: Question, width: int) -> list[Row]:
    """The call with every argument as it is, and what it would change."""
    name = visible_line(question.call.name)
    rows: list[Row] = [()]
    head: Row = (
        ("warning", f"{name} wants to run"),
        ("plain", f": {visible_line(question.reason)}"),
    )
    rows += wrap(head, width, (("plain", _INDENT),))
    traits = ", ".join(question.tool.traits.names())
    if traits:
        rows.append((("quiet", f"{_INDENT}{traits}"),))
    for key, value in question.call.input.items():
        rows += _argument(visible_line(key), visible(to_compact_text(value)), width)
    if question.preview:
        rows += _preview(visible(question.preview), width)
    return rows


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


def _choices(tool: str) -> str:
    minutes = " ".join(f"[{number}]" for number in MINUTES)
    name = visible_line(tool)
    return f"Run it?  [y] once  {minutes} minutes, any {name}  [n] no  [n why] no, and why: "


def _argument(key: str, text: str, width: int) -> list[Row]:
    first, *rest = text.split("\n")
    indent = " " * (len(_INDENT) + columns(key) + 2)
    hang: Row = (("plain", indent),)
    rows = wrap((("key", f"{_INDENT}{key}  "), ("plain", first)), width, hang)
    for line in rest:
        rows += wrap((("plain", indent + line),), width, hang)
    return rows


def _preview(text: str, width: int) -> list[Row]:
    rows: list[Row] = []
    for line in text.rstrip("\n").split("\n"):
        rows += wrap(((_colour(line), _INDENT + line),), width, (("plain", _INDENT * 2),))
    return rows


def _colour(line: str) -> Kind:
    if line.startswith(("---", "+++", "@@")):
        return "quiet"
    return "code" if line.startswith("+") else "error" if line.startswith("-") else "plain"
