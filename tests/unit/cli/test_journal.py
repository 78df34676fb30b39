from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from callblocks.core.outcomes import Failure, Outcome
from callblocks.runtime.journal import Intent, Journal
from support.command import run
from support.command_home import move_in


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A journal with one entry of each kind."""
    move_in(tmp_path, monkeypatch)
    file = tmp_path / "state" / "journal.sqlite"
    now = iter(range(100))
    journal = Journal(file, clock=lambda: next(now))
    for key in ("d0ne", "f41led", "0pen", "1ive"):
        journal.begin(Intent(key=key, turn="t", call="c", tool=key, input={"x": "\x1b[2J"}))
    journal.end("d0ne", Outcome(id="c", name="a"))
    journal.end("f41led", Outcome(id="c", name="a", error=Failure(code="x", message="m")))
    journal.close()
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("update intents set process = '1:1' where key = '0pen'")
    connection.close()
    return file


@pytest.fixture
def _empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_in(tmp_path, monkeypatch)


@pytest.mark.usefixtures("_empty")
def test_an_empty_journal_says_so() -> None:
    result = run("journal")
    assert (result.exit_code, result.stdout) == (0, "No call has changed anything.\n")


@pytest.mark.usefixtures("path")
def test_each_change_says_what_became_of_it_newest_first() -> None:
    result = run("journal")
    states = [line.split()[3] for line in result.stdout.splitlines()]
    assert states == ["running", "indeterminate", "failed", "done"]
    assert result.exit_code == 1
    assert "\x1b" not in result.stdout


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize(("limit", "shown"), [("2", 2), ("0", 0), ("-3", 0), ("9" * 30, 4)])
def test_only_so_many_are_shown(limit: str, shown: int) -> None:
    result = run("journal", "--limit", limit)
    assert len(result.stdout.splitlines()) == shown


@pytest.mark.usefixtures("path")
def test_what_was_settled_is_gone() -> None:
    result = run("journal", "--settle", "0p")
    assert result.exit_code == 0
    assert result.stdout.startswith("settled 0p\n")
    assert "indeterminate" not in result.stdout


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("key", ["d0ne", "1ive", "zzz"])
def test_what_ended_or_still_runs_cannot_be_settled(key: str) -> None:
    result = run("journal", "--settle", key)
    assert result.exit_code == 2
    assert "no single indeterminate entry" in result.stderr
    assert len(run("journal").stdout.splitlines()) == 4


def test_a_file_that_is_no_journal_is_one_line(path: Path) -> None:
    path.write_bytes(b"no journal " * 500)
    result = run("journal")
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert "journal.sqlite" in line
