"""Asking the person at the terminal, with all of the arguments in sight.

    file_write wants to run: no rule names this call
      destructive, idempotent, writer
      path     notes/a.md
      --- notes/a.md
      +++ notes/a.md
      @@ -1 +1 @@
      -old
      +new
      content  new
      y once   n no   n WHY no, and why   5 10 30 minutes, any file_write
    Run file_write(path=notes/a.md, content=new)?

The question and the answer go through the terminal itself: standard input may be the text. What
was typed before the question is thrown away. Where not all of it is on the screen, `v` shows the
rest, and before that there is no yes.
"""

from __future__ import annotations

import asyncio
import os
import termios
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TextIO

from callblocks.cli.paint import paint
from callblocks.model.shown import show_call, to_compact_text
from callblocks.runtime.approvals.approval import MINUTES
from callblocks.runtime.asking import Answer, Question
from callblocks.views.exact import exact, exact_line
from callblocks.views.rows import Bit, Kind, Row, columns, wrap
from callblocks.views.safe import visible_line

__all__ = (
    "TerminalAsker",
    "choice_rows",
    "open_terminal",
    "prompt_line",
    "question_rows",
    "read_answer",
)

_INDENT = "  "
_HANG: Row = (("plain", _INDENT),)
_KEY_WIDTH = 16
_LONG = 3
"""Line ends from which on an argument stands below what the call would change."""
_LEAST = 12
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
        rows, room = question_rows(question, self._width), self._room()
        more = len(rows) - room
        self._print(rows[:room])
        self._print(choice_rows(question.tool.name, more, self._width))
        termios.tcflush(self._terminal, termios.TCIFLUSH)
        while line := await self._prompt(question):
            answer = read_answer(line)
            if more > 0 and line.strip().lower() == "v":
                self._print(rows[room:])
                more = 0
            elif answer is not None and (more <= 0 or answer.verdict == "deny"):
                return answer
            self._print(choice_rows(question.tool.name, more, self._width))
        return None

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
    given = {key: to_compact_text(value) for key, value in question.call.input.items()}
    defaults = _defaults(question)
    names = map(exact_line, (*given, *defaults))
    pad = min(max(map(columns, names), default=0), _KEY_WIDTH)
    long = {key for key, text in given.items() if text.count("\n") >= _LONG}
    for key, text in given.items():
        rows += [] if key in long else _argument(key, text, pad, width)
    for key, default in defaults.items():
        rows += _argument(key, f"{to_compact_text(default)}  (default)", pad, width)
    # What changes comes before what is long.
    rows += _preview(exact(question.preview), width) if question.preview else []
    for key, text in given.items():
        rows += _argument(key, text, pad, width) if key in long else []
    return rows


def prompt_line(question: Question, width: int) -> str:
    """The call on one line, as a question."""
    line = exact_line(show_call(question.call.name, question.call.input)[0])
    room = width - 10
    return f"Run {line if len(line) <= room else line[: room - 1] + '…'}? "


def _defaults(question: Question) -> dict[str, object]:
    """The parameters that are not given, and what they then are."""
    properties = question.tool.spec.properties
    return {
        name: schema["default"]
        for name, schema in properties.items()
        if "default" in schema and name not in question.call.input
    }


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


def choice_rows(tool: str, more: int, width: int) -> list[Row]:
    """What may be answered, in words."""
    minutes = " ".join(map(str, MINUTES))
    choices = [("n", "no"), ("n WHY", "no, and why")]
    if more > 0:
        choices.append(("v", f"show {more:,} more lines, before you can say yes"))
    else:
        choices[:0] = [("y", "once")]
        choices.append((minutes, f"minutes, any {visible_line(tool)}"))
    bits: list[Bit] = [("plain", _INDENT)]
    for key, meaning in choices:
        bits.append(("key", f"{key} "))
        bits.append(("quiet", f"{meaning}   "))
    return wrap(tuple(bits), width, _HANG)


def _argument(key: str, text: str, pad: int, width: int) -> list[Row]:
    name = exact_line(key)
    first, *rest = exact(text).split("\n")
    indent = " " * (len(_INDENT) + max(columns(name), pad) + 2)
    hang: Row = (("plain", indent),)
    gap = " " * (len(indent) - len(_INDENT) - columns(name))
    rows = wrap((("key", f"{_INDENT}{name}{gap}"), ("plain", first)), width, hang)
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
