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
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TextIO

from callblocks.approvals.approval import MINUTES
from callblocks.approvals.question import Answer, Question
from callblocks.cli.terminal.paint import paint, plain_text
from callblocks.core.call_text import show_call, to_compact_text
from callblocks.views.rows import Bit, Kind, Row, columns, exact, exact_line, visible_line, wrap

__all__ = (
    "TerminalAsker",
    "choice_rows",
    "default_rows",
    "open_terminal",
    "prompt_line",
    "question_rows",
    "read_answer",
    "unseen_row",
)

# --- A question to the person at the terminal, in rows: what would change comes first ---
#
#     gmail_send wants to run: no rule names this call
#       destructive, open_world
#       Its input may come from gmail_read, which nobody checked.
#       │ to:      petra.novak@northschool.example
#       │ subject: Friday
#       │
#       │ 24 pupils are fine.
#       to       petra.novak@northschool.example
#       subject  Friday
#       body     24 pupils are fine.
#       y once   n no   n WHY no, and why   5 10 30 minutes, any gmail_send   v show the defaults
#     Run gmail_send(to=petra.novak@northschool.example, subject=Friday, body=24 pupils are fine.)?
#
# What the tool tells of the change has a bar before each line, so that no line of it can pass for
# an argument. What is not given, and so has its default, is shown on demand. Secrets are masked. A
# call in which a mask would hide more than a value is shown without masks.

_INDENT = "  "
_HANG: Row = (("plain", _INDENT),)
_BAR = f"{_INDENT}│ "
_KEY_WIDTH = 16
_IN_CLEAR = "It has secrets that cannot be covered without hiding what it does: all is shown."
_LONG = 3
"""Line ends from which on an argument stands below the shorter ones."""


def question_rows(question: Question, width: int) -> list[Row]:
    """Return the reason of a question, the preview of the change, and all arguments given."""
    head: Row = (
        ("warning", f"{visible_line(question.call.name)} wants to run"),
        ("plain", f": {visible_line(question.reason)}"),
    )
    rows: list[Row] = [(), *wrap(head, width, _HANG)]
    traits = ", ".join(question.tool.traits.names())
    if traits:
        rows.append((("quiet", f"{_INDENT}{traits}"),))
    rows += _taint(question.tainted, width)
    shown = question.shown
    preview, input = shown.preview, shown.input
    if not shown.is_whole:
        preview, input = question.preview, dict(question.call.input)
        rows += wrap((("warning", f"{_INDENT}{_IN_CLEAR}"),), width, _HANG)
    rows += _preview(exact(preview), width) if preview else []
    given = {key: to_compact_text(value) for key, value in input.items()}
    # A sort is stable: apart from that, the order is the given one.
    short_first = sorted(given, key=lambda key: given[key].count("\n") >= _LONG)
    return [*rows, *_arguments({key: given[key] for key in short_first}, width)]


def default_rows(question: Question, width: int) -> list[Row]:
    """The parameters that are not given, and what they then are."""
    defaults = {
        name: f"{to_compact_text(schema['default'])}  (default)"
        for name, schema in question.tool.spec.properties.items()
        if "default" in schema and name not in question.call.input
    }
    return _arguments(defaults, width)


def prompt_line(question: Question, width: int) -> str:
    """The call on one line, as a question."""
    line = exact_line(show_call(question.call.name, question.call.input)[0])
    room = width - 10
    return f"Run {line if len(line) <= room else line[: room - 1] + '…'}? "


def choice_rows(tool: str, width: int, *, more: int = 0, defaults: int = 0) -> list[Row]:
    """Return the possible answers; `more` rows and `defaults` are not shown yet."""
    choices = [("n", "no"), ("n WHY", "no, and why")]
    if more > 0:
        choices.append(("v", f"show {_more(more)}, before you can say yes"))
    else:
        choices[:0] = [("y", "once")]
        choices.append((" ".join(map(str, MINUTES)), f"minutes, any {visible_line(tool)}"))
        if defaults:
            choices.append(("v", "show the default" if defaults == 1 else "show the defaults"))
    bits: list[Bit] = [("plain", _INDENT)]
    for key, meaning in choices:
        bits.append(("key", f"{key} "))
        bits.append(("quiet", f"{meaning}   "))
    return wrap(tuple(bits), width, _HANG)


def unseen_row(more: int) -> Row:
    """Return the reason why a yes does not count yet."""
    words = f"Not yet: this call has {_more(more)}, and a yes is to all of it; v shows the rest."
    return (("warning", f"{_INDENT}{words}"),)


def _more(count: int) -> str:
    return "1 more line" if count == 1 else f"{count:,} more lines"


def _taint(sources: tuple[str, ...], width: int) -> list[Row]:
    """Return the untrusted sources of the input."""
    if not sources:
        return []
    *others, last = map(exact_line, sources)
    named = f"{', '.join(others)} and {last}" if others else last
    words = f"{_INDENT}Its input may come from {named}, which nobody checked."
    return wrap((("warning", words),), width, (("plain", _INDENT * 2),))


def _arguments(texts: Mapping[str, str], width: int) -> list[Row]:
    pad = min(max((columns(exact_line(key)) for key in texts), default=0), _KEY_WIDTH)
    return [row for key, text in texts.items() for row in _argument(key, text, pad, width)]


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
        hang: Row = (("quiet", _BAR), ("plain", _INDENT))
        rows += wrap((("quiet", _BAR), (_colour(line), line)), width, hang)
    return rows


def _colour(line: str) -> Kind:
    if line.startswith(("---", "+++", "@@")):
        return "quiet"
    return "code" if line.startswith("+") else "error" if line.startswith("-") else "plain"


# --- Asking the person at the terminal ---

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
    """Parse the line of an answer; `None` if it is not one."""
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
