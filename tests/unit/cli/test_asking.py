from __future__ import annotations

import asyncio
import os
import pty
import re
import termios
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TextIO

import pytest

from callblocks.approvals.question import Answer, Question
from callblocks.cli.terminal import ask as asking
from callblocks.cli.terminal.ask import TerminalAsker, open_terminal, read_answer
from callblocks.tools.declare import tool
from support.tool_runtime import call


@tool
def write(path: str, content: str = "") -> None:
    """Write."""


def question(preview: str = "", **input: Any) -> Question:
    return Question(
        call=call("write", **input),
        tool=write,
        approval_id="1",
        reason="no rule names this call",
        preview=preview,
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("y\n", Answer("once")),
        (" YES \n", Answer("once")),
        ("5\n", Answer("while", minutes=5)),
        ("10", Answer("while", minutes=10)),
        ("30\n", Answer("while", minutes=30)),
        ("n\n", Answer("deny")),
        ("No  use the other file \n", Answer("deny", reason="use the other file")),
        ("\n", None),
        ("7\n", None),
        ("yy\n", None),
        ("why?\n", None),
        ("05\n", None),
        ("v\n", None),
    ],
)
def test_only_a_clear_answer_is_one(line: str, expected: Answer | None) -> None:
    assert read_answer(line) == expected


PROMPT = "? "
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@contextmanager
def terminal() -> Iterator[tuple[int, TextIO]]:
    """Our end of a terminal, and the asker's."""
    ours, theirs = pty.openpty()
    mode = termios.tcgetattr(theirs)
    mode[3] &= ~termios.ECHO
    termios.tcsetattr(theirs, termios.TCSANOW, mode)
    with os.fdopen(theirs, "w", encoding="utf-8") as file:
        try:
            yield ours, file
        finally:
            os.close(ours)


async def shown_until(ours: int, words: str) -> str:
    """What the terminal shows, up to some words, within 20 seconds."""
    os.set_blocking(ours, False)
    shown = b""
    for _ in range(2000):
        try:
            shown += os.read(ours, 65536)
        except BlockingIOError:
            await asyncio.sleep(0.01)
        if words.encode() in shown:
            return _COLOUR.sub("", shown.decode())
    raise AssertionError(f"{words!r} is not in {shown!r}")


def ask(asked: Question, *typed: bytes, before: bytes = b"") -> tuple[Answer | None, list[str]]:
    """The answer, and what was shown before each line that is typed."""

    async def act() -> tuple[Answer | None, list[str]]:
        with terminal() as (ours, file):
            os.write(ours, before)
            asking_now = asyncio.ensure_future(TerminalAsker(file, 80, nullcontext)(asked))
            shown: list[str] = []
            for line in typed:
                shown.append(await shown_until(ours, PROMPT))
                os.write(ours, line)
            return await asyncio.wait_for(asking_now, 120), shown

    return asyncio.run(act())


def test_a_person_is_asked_until_the_answer_is_clear() -> None:
    answer, shown = ask(question(path="a"), b"what\n", b"\n", b"n not now\n")
    assert answer == Answer("deny", reason="not now")
    assert "write wants to run" in shown[0]
    assert shown[0].endswith("\r\nRun write(path=a)? ")
    assert all("wants to run" not in more for more in shown[1:])
    choices = "  y once   n no   n WHY no, and why   5 10 30 minutes, any write   v show the"
    assert all(choices in more for more in shown)


def test_what_was_typed_before_the_question_is_thrown_away() -> None:
    answer, _ = ask(question(path="a"), b"n\n", before=b"y\ny\n")
    assert answer == Answer("deny")


def test_the_end_of_input_is_no_answer() -> None:
    assert ask(question(path="a"), b"\x04")[0] is None


def test_what_does_not_fit_is_shown_on_demand() -> None:
    long = "\n".join(f"line {number}" for number in range(300))
    answer, shown = ask(question(path=long), b"v\n", b"v\n", b"y\n")
    assert answer == Answer("once")
    assert "  n no   n WHY no, and why   v show 279 more lines, before you can say yes" in shown[0]
    assert "line 299" not in shown[0]
    assert "line 299" in shown[1]
    assert "more lines" not in shown[1] + shown[2]


def test_a_yes_to_what_was_not_all_shown_is_told_why_it_does_not_count() -> None:
    _, shown = ask(question(path="x\n" * 30), b"y\n", b"what\n", b"v\n", b"n\n")
    said = [each.count("Not yet: this call has 10 more lines") for each in shown]
    assert said == [0, 1, 0, 0]


def test_what_has_its_default_is_shown_on_demand_and_a_yes_does_not_wait_for_it() -> None:
    answer, shown = ask(question(path="a"), b"y\n")
    assert answer == Answer("once")
    assert "(default)" not in shown[0]
    answer, shown = ask(question(path="a"), b"v\n", b"y\n")
    assert answer == Answer("once")
    assert "  content    (default)" in shown[1]
    assert "v show" in shown[0]
    assert "v show" not in shown[1]


def test_what_would_change_is_whole_where_it_has_24_lines_with_the_rest() -> None:
    mail = "\n".join(f"line {number}" for number in range(20))
    _, shown = ask(question(mail, path="a"), b"n\n")
    assert "line 19" in shown[0]
    assert "more line" not in shown[0]


@pytest.mark.parametrize("typed", [b"y\n", b"yes\n", b"30\n"])
def test_there_is_no_yes_to_what_was_not_shown(typed: bytes) -> None:
    answer, shown = ask(question(path="x\n" * 30), typed, b"n\n")
    assert answer == Answer("deny")
    assert all("before you can say yes" in each for each in shown)
    assert all("y once" not in each for each in shown)


def test_a_no_needs_no_more_to_be_shown() -> None:
    answer, _ = ask(question(path="x\n" * 30), b"n too long\n")
    assert answer == Answer("deny", reason="too long")


def test_a_long_call_is_shortened_where_it_is_asked() -> None:
    _, shown = ask(question(path="x" * 200), b"n\n")
    last = shown[0].rpartition("\r\n")[2]
    assert last.startswith("Run write(path=xxx")
    assert last.endswith("…? ")
    assert len(last) <= 80


def test_as_much_is_shown_as_the_screen_has_room_for() -> None:
    async def act() -> str:
        with terminal() as (ours, file):
            termios.tcsetwinsize(ours, (50, 80))
            asked = TerminalAsker(file, 80, nullcontext)(question(path="x\n" * 60))
            asking_now = asyncio.ensure_future(asked)
            shown = await shown_until(ours, PROMPT)
            os.write(ours, b"n\n")
            await asyncio.wait_for(asking_now, 120)
            return shown

    assert len(asyncio.run(act()).splitlines()) == 50 - 4 + 2


def test_a_short_question_has_no_more_to_show() -> None:
    answer, shown = ask(question(path="a"), b"v\n", b"y\n")
    assert answer == Answer("once")
    assert "more lines" not in "".join(shown)


def test_a_terminal_that_goes_away_is_no_answer() -> None:
    async def act() -> Answer | None:
        ours, theirs = pty.openpty()
        with os.fdopen(theirs, "w", encoding="utf-8") as file:
            asked = asyncio.ensure_future(TerminalAsker(file, 80, nullcontext)(question(path="a")))
            await shown_until(ours, PROMPT)
            os.close(ours)
            return await asyncio.wait_for(asked, 120)

    assert asyncio.run(act()) is None


def test_a_stream_that_is_no_terminal_is_no_answer(tmp_path: Any) -> None:
    async def act() -> Answer | None:
        with open(tmp_path / "file", "w", encoding="utf-8") as file:
            return await TerminalAsker(file, 80, nullcontext)(question(path="a"))

    assert asyncio.run(act()) is None


def test_without_a_terminal_there_is_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(6, "No such device or address")

    monkeypatch.setattr(asking.os, "open", refuse)
    assert open_terminal() is None


def test_the_terminal_is_opened_for_both(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    name = os.ttyname(theirs)
    really = os.open
    monkeypatch.setattr(asking.os, "open", lambda path, flags: really(name, flags))
    opened = open_terminal()
    assert opened is not None
    opened.write("hello")
    opened.close()
    assert os.read(ours, 100) == b"hello"
    os.close(ours)
    os.close(theirs)
