"""`callblocks run --ask` with a person at a real terminal, who types, waits and interrupts."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from callblocks.approvals.book import ApprovalBook
from callblocks.runtime.journal import Journal
from callblocks.timeline.timeline import Timeline
from support.command_home import TOOLS, fence
from support.terminals import SECONDS, Terminal, in_terminal

PROMPT = "? "


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "tools.py").write_text(
        TOOLS + "\n\n@tool\ndef wait() -> None:\n"
        '    """Wait for ever."""\n    import time\n\n'
        "    while True:\n        time.sleep(0.01)\n"
        '\n\n@tool\nasync def stay() -> None:\n    """Stay when told to go."""\n'
        "    import asyncio\n\n    while True:\n        try:\n"
        "            await asyncio.sleep(0.01)\n"
        "        except asyncio.CancelledError:\n            await asyncio.sleep(0.5)\n"
    )
    return tmp_path


@contextmanager
def at_terminal(home: Path, text: str, *args: str) -> Iterator[Terminal]:
    """Run a text with `--ask` in a session of its own, whose terminal is ours."""
    workspace = home / "workspace"
    (workspace / "chat.md").write_text(text)
    env = {name: value for name, value in os.environ.items() if "COLOR" not in name}
    env |= {"CALLBLOCKS_HOME": str(home / "state"), "NO_COLOR": "1", "TERM": "xterm"}
    argv = [sys.executable, "-m", "callblocks", "run", "chat.md", "-T", "tools.py", "--ask", *args]
    with in_terminal(argv, cwd=workspace, env=env) as shown:
        yield shown


def notes(home: Path) -> str:
    path = home / "workspace" / "notes.txt"
    return path.read_text() if path.exists() else ""


def test_a_yes_runs_what_was_shown_and_the_diff_is_shown_first(home: Path) -> None:
    (home / "workspace" / "a.md").write_text("old\n")
    evil = "new \x1b[2J\u202e\n"
    with at_terminal(home, fence("file_write", path="a.md", content=evil)) as terminal:
        question = terminal.until(PROMPT)
        assert "file_write wants to run: no rule names this call" in question
        assert "path     a.md" in question
        assert "content  new ␛[2J⟨U+202E⟩" in question
        assert "-old" in question
        assert "+new ␛[2J⟨U+202E⟩" in question
        assert "5 10 30 minutes, any file_write" in question
        assert question.index("+new") < question.index("y once") < question.index("Run file_write(")
        assert (home / "workspace" / "a.md").read_text() == "old\n"
        terminal.type("y\n")
        terminal.until("1 done")
        assert terminal.wait() == 0
    assert (home / "workspace" / "a.md").read_text() == evil


def test_a_no_is_told_with_its_reason_and_the_others_go_on(home: Path) -> None:
    text = fence("note", "a", text="one") + fence("note", "b", text="two")
    with at_terminal(home, text, "--timeline", "kept") as terminal:
        assert "text  one" in terminal.until(PROMPT)
        terminal.type("n because I say so\n")
        assert "text  two" in terminal.until(PROMPT)
        terminal.type("yes\n")
        terminal.until("1 refused")
        assert terminal.wait() == 1
        assert "denied by you: because I say so" in terminal.shown
    assert notes(home) == "two\n"
    with Timeline.open(home / "state" / "timelines.sqlite", "kept") as kept:
        answers = [one.block for one in kept.entries() if one.block.type == "timeline.approval"]
    assert [(one.call_id, one.meta.get("approved"), one.meta.get("answer")) for one in answers] == [
        ("a", None, "because I say so"),
        ("b", True, None),
    ]


def test_minutes_cover_what_comes_after(home: Path) -> None:
    text = "".join(fence("note", id, text=id) for id in "abc")
    with at_terminal(home, text) as terminal:
        terminal.until(PROMPT)
        terminal.type("10\n")
        terminal.until("3 done")
        assert terminal.wait() == 0
        assert terminal.shown.count(PROMPT) == 1
    assert notes(home) == "a\nb\nc\n"


def test_there_is_no_yes_before_v_has_shown_the_rest_of_a_long_call(home: Path) -> None:
    long = "\n".join(f"line {number}" for number in range(300))
    with at_terminal(home, fence("note", text=long)) as terminal:
        question = terminal.until(PROMPT)
        assert "more lines, before you can say yes" in question
        terminal.type("y\n")
        terminal.until(PROMPT)
        assert "line 299" not in question[question.index("wants to run") :]
        terminal.type("v\n")
        assert "line 299" in terminal.until(PROMPT)
        terminal.type("n\n")
        assert terminal.wait() == 1
    assert notes(home) == ""


def test_ctrl_d_leaves_the_question_in_the_book(home: Path) -> None:
    with at_terminal(home, fence("note", text="a")) as terminal:
        terminal.until(PROMPT)
        terminal.type("\x04")
        terminal.until("callblocks approvals approve")
        assert terminal.wait() == 1
    with ApprovalBook(home / "state" / "approvals.sqlite") as book:
        assert [one.state for one in book.list()] == ["pending"]
    assert notes(home) == ""


def test_ctrl_c_at_a_question_cancels_all_that_is_left(home: Path) -> None:
    text = fence("note", "a", text="one") + fence("note", "b", text="two")
    with at_terminal(home, text) as terminal:
        terminal.until(PROMPT)
        terminal.type("\x03")
        terminal.until("2 failed")
        assert terminal.wait() == 130
        assert terminal.shown.count("cancelled") >= 2
        assert terminal.shown.count(PROMPT) == 1
        assert "Traceback" not in terminal.shown
    assert notes(home) == ""


def test_ctrl_c_ends_a_tool_that_runs(home: Path) -> None:
    with at_terminal(home, fence("wait"), "--allow", "wait") as terminal:
        terminal.until("⏳")
        journal = home / "state" / "journal.sqlite"
        _until_begun(journal)
        terminal.type("\x03")
        terminal.until("1 failed")
        assert terminal.wait() == 130
        assert "Traceback" not in terminal.shown
    opened = Journal(journal)
    (entry,) = opened.entries()
    opened.close()
    assert entry.outcome
    assert entry.outcome.error
    assert entry.outcome.error.code == "cancelled"


def test_a_second_ctrl_c_ends_at_once(home: Path) -> None:
    with at_terminal(home, fence("stay"), "--allow", "stay") as terminal:
        terminal.until("⏳")
        _until_begun(home / "state" / "journal.sqlite")
        terminal.type("\x03")
        time.sleep(0.2)
        terminal.type("\x03")
        assert terminal.wait() == 130
        assert "Traceback" not in terminal.shown


def _until_begun(path: Path) -> None:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if path.exists():
            opened = Journal(path)
            begun = opened.entries()
            opened.close()
            if begun:
                return
        time.sleep(0.02)
    raise AssertionError("the tool did not begin")


def test_what_was_typed_ahead_answers_nothing(home: Path) -> None:
    with at_terminal(home, fence("note", text="a")) as terminal:
        terminal.type("y\ny\ny\n")
        terminal.until(PROMPT)
        # An answer that was there already would have been read by now.
        terminal.type("n\n")
        terminal.until("1 refused")
        assert terminal.wait() == 1
    assert notes(home) == ""


def test_a_reply_is_clean_of_the_question(home: Path) -> None:
    """Standard output is the reply; the question goes to the terminal itself."""
    text = fence("note", text="a")
    with at_terminal(home, text, "--reply") as terminal:
        terminal.until(PROMPT)
        terminal.type("y\n")
        assert terminal.wait() == 0
        reply = terminal.shown[terminal.shown.index(PROMPT) :]
    assert "written" in reply
    assert json.dumps("a")[1:-1] in reply
    assert notes(home) == "a\n"


def test_code_shows_its_steps_and_whoever_is_asked_sees_its_files(home: Path) -> None:
    asked = {"code": "echo hello; echo a > files/a.txt", "contract": ["a.txt", "b.txt"]}
    with at_terminal(home, fence("exec_tools.execute_code_shell", **asked)) as terminal:
        question = terminal.until(PROMPT)
        assert "writes, and nothing else:" in question
        assert "files/b.txt" in question
        terminal.type("y\n")
        assert "hello" in terminal.until("file 1 of 2: files/a.txt (2B)")
        terminal.until("file 2 of 2: files/b.txt (file not produced)")
        terminal.until("1 done")
    assert (home / "workspace" / "files" / "a.txt").read_text() == "a\n"
