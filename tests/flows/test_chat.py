"""`callblocks chat` with a person at a real terminal, and a model that plays scripts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.command_home import TOOLS
from support.terminals import SECONDS, Terminal, in_terminal

PROMPT, QUESTION = ">\x1b[0m", "? "
CTRL_C, CTRL_D, UP = "\x03", "\x04", "\x1b[A"
STAYING = '''

@tool
async def stay(context: Context) -> None:
    """Stay when told to go."""
    import asyncio

    context.report("it stays")
    while True:
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            await asyncio.sleep(0.5)


@tool(read_only=True)
def speak(context: Context) -> str:
    """Say something meanwhile."""
    import time

    context.report("half of it \\x1b[2J")
    time.sleep(0.2)
    return "spoken"
'''
SCRIPTS = {
    "two-notes": (
        "Two notes \x1b[2J then.\n\n```tool note one\ninput: {text: first}\n```\n"
        "```tool note two\ninput: {text: second}\n```\n<!-- results -->\n"
        "One gave {{result:1}}, and that is all.\n"
    ),
    "count-slowly": "---\npace: 40\n---\n" + " ".join(map(str, range(500))),
    "stay-here": "```tool stay s\ninput: {}\n```\n<!-- results -->\nIt went.\n",
    "speak-up": "```tool speak s\ninput: {}\n```\n<!-- results -->\nIt was {{result}}.\n",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "tools.py").write_text(TOOLS + STAYING)
    (tmp_path / "scripts").mkdir()
    for name, text in SCRIPTS.items():
        pace = "" if text.startswith("---") else "---\npace: 0\n---\n"
        (tmp_path / "scripts" / f"{name}.md").write_text(pace + text)
    return tmp_path


def command(home: Path, *args: str) -> list[str]:
    model = f"scripted:{home / 'scripts'}"
    return [sys.executable, "-m", "callblocks", "chat", "--model", model, "-T", "tools.py", *args]


def environment(home: Path) -> dict[str, str]:
    env = {name: value for name, value in os.environ.items() if "COLOR" not in name}
    own = {"CALLBLOCKS_HOME": str(home / "state"), "NO_COLOR": "1", "TERM": "xterm"}
    # This terminal does not say where its cursor is.
    return env | own | {"PROMPT_TOOLKIT_NO_CPR": "1"}


@contextmanager
def at_terminal(home: Path, *args: str) -> Iterator[Terminal]:
    argv = command(home, *args)
    with in_terminal(argv, cwd=home / "workspace", env=environment(home)) as terminal:
        terminal.until(PROMPT)
        yield terminal


def notes(home: Path) -> str:
    path = home / "workspace" / "notes.txt"
    return path.read_text() if path.exists() else ""


def test_calls_are_asked_for_one_runs_and_one_is_denied_with_a_reason(home: Path) -> None:
    with at_terminal(home, "trip", "--ask") as terminal:
        terminal.type("two notes\r")
        question = terminal.until(QUESTION)
        assert "Two notes ␛[2J then." in question
        assert "note wants to run: no rule names this call" in question
        assert "text  first" in question
        terminal.type("y\n")
        assert "text  second" in terminal.until(QUESTION)
        terminal.type("n not that one\n")
        rest = terminal.until("1 refused")
        assert "2 tool calls, 1 not run" in rest
        assert "note(text=first)" in rest
        assert "denied by you: not that one" in rest
        assert "One gave written, and that is all." in rest
        terminal.until(PROMPT)
        terminal.type(CTRL_D)
        assert terminal.wait() == 0
    assert "[2J then" not in terminal.shown.replace("␛[2J then", "")
    assert notes(home) == "first\n"


def test_ctrl_c_stops_a_slow_reply_and_a_second_start_shows_what_was_said(home: Path) -> None:
    with at_terminal(home, "trip") as terminal:
        terminal.type("count slowly\r")
        terminal.until("0 1 2 3")
        terminal.type(CTRL_C)
        terminal.until("stopped: the person stopped the turn")
        terminal.until(PROMPT)
        terminal.type("/exit\r")
        assert terminal.wait() == 0
        assert "Traceback" not in terminal.shown
    with in_terminal(
        command(home, "--last"), cwd=home / "workspace", env=environment(home)
    ) as terminal:
        greeting = terminal.until(PROMPT)
        assert "trip, with scripted:scripts" in greeting
        assert "count slowly" in greeting
        assert "0 1 2 3" in greeting
        assert "interrupted" not in greeting
        # What was typed the last time is one key away: /exit, before it the prompt.
        terminal.type(UP)
        terminal.until("/exit")
        terminal.type("\r")
        assert terminal.wait() == 0


def test_a_second_ctrl_c_leaves(home: Path) -> None:
    with at_terminal(home, "--allow", "stay") as terminal:
        terminal.type("stay here\r")
        terminal.until("it stays")
        terminal.type(CTRL_C)
        # Two signals that come at once are one.
        time.sleep(0.2)
        terminal.type(CTRL_C)
        assert terminal.wait() == 130
        assert "Traceback" not in terminal.shown


def test_what_a_tool_says_is_shown_while_it_runs(home: Path) -> None:
    with at_terminal(home, "--allow", "speak") as terminal:
        terminal.type("speak up\r")
        terminal.until("half of it ␛[2J")
        terminal.until("It was spoken.")
        terminal.until(PROMPT)
        terminal.type(CTRL_D)
        assert terminal.wait() == 0


def test_a_turn_whose_program_was_killed_goes_on_after_the_next_start(home: Path) -> None:
    with at_terminal(home, "trip") as terminal:
        terminal.type("count slowly\r")
        terminal.until("0 1 2 3")
        terminal.process.kill()
        terminal.process.wait(SECONDS)
    scripts = home / "scripts" / "count-slowly.md"
    scripts.write_text("---\npace: 0\n---\nNow it is quick.\n")
    with in_terminal(
        command(home, "trip"), cwd=home / "workspace", env=environment(home)
    ) as terminal:
        assert "turn_1 was interrupted; /resume goes on with it" in terminal.until(PROMPT)
        terminal.type("/resume\r")
        terminal.until("Now it is quick.")
        terminal.until(PROMPT)
        terminal.type("/resume\r")
        terminal.until("no turn of this chat was interrupted")
        terminal.until(PROMPT)
        terminal.type(CTRL_D)
        assert terminal.wait() == 0


def test_a_call_that_a_dead_program_left_is_shown_when_its_turn_goes_on(home: Path) -> None:
    with at_terminal(home, "trip", "--allow", "stay") as terminal:
        terminal.type("stay here\r")
        terminal.until("it stays")
        terminal.process.kill()
        terminal.process.wait(SECONDS)
    with in_terminal(
        command(home, "trip", "--allow", "stay"), cwd=home / "workspace", env=environment(home)
    ) as terminal:
        terminal.until("/resume goes on with it")
        terminal.until(PROMPT)
        terminal.type("/resume\r")
        shown = terminal.until("It went.")
        assert "stay()" in shown
        assert "indeterminate: " in shown
        terminal.until(PROMPT)
        terminal.type(CTRL_D)
        assert terminal.wait() == 0


def test_what_is_typed_while_the_model_speaks_is_not_among_its_words(home: Path) -> None:
    with at_terminal(home, "trip") as terminal:
        terminal.type("count slowly\r")
        terminal.until("0 1 2 3")
        terminal.type("zebra")
        assert "zebra" not in terminal.until(" 14 15")
        terminal.type(CTRL_C)
        terminal.until("stopped: the person stopped the turn")
        terminal.until(PROMPT)
        terminal.type(CTRL_C)
        terminal.type(CTRL_D)
        assert terminal.wait() == 0


def test_for_a_program_each_event_is_a_line_and_standard_input_is_the_prompt(home: Path) -> None:
    process = subprocess.run(
        command(home, "trip", "--allow", "note", "--json"),
        input=b"two notes\n",
        capture_output=True,
        cwd=home / "workspace",
        env=environment(home),
        timeout=SECONDS,
        check=False,
    )
    assert (process.returncode, process.stderr) == (0, b"")
    events = [json.loads(line) for line in process.stdout.splitlines()]
    types = [event["type"] for event in events]
    assert types[0] == "turn-began"
    assert types.count("call-ended") == 2
    assert events[-1]["status"] == "answered"
    assert notes(home) == "first\nsecond\n"
