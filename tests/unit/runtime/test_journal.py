from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from callblocks.core.errors import CallblocksError
from callblocks.core.outcomes import Failure, Outcome
from callblocks.guard.workers import worker_process as processes
from callblocks.runtime import journal as journals
from callblocks.runtime.journal import Intent, Journal, JournalUnavailable
from support.roots import open_files


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.sqlite"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    opened = Journal(path)
    yield opened
    opened.close()


def intent(key: str = "k", **more: object) -> Intent:
    return Intent(key=key, turn="t", call="c", tool="act", input=more)


def died(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, whoever wrote an intent is dead."""
    monkeypatch.setattr(journals, "lives", lambda process: False)


def database(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement)
    connection.close()


def test_an_intent_is_on_disk_before_begin_returns(journal: Journal, path: Path) -> None:
    assert journal.begin(intent(path="a")) is None
    other = Journal(path)
    found = other.find("k")
    other.close()
    assert found
    assert (found.intent, found.state, found.outcome) == (intent(path="a"), "running", None)


def test_every_commit_is_flushed(journal: Journal) -> None:
    assert journal._store.execute("pragma synchronous").fetchone() == (2,)
    assert journal._store.execute("pragma journal_mode").fetchone() == ("wal",)


def test_the_file_is_for_its_owner_only(journal: Journal, path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_an_end_is_kept_with_its_outcome(journal: Journal) -> None:
    journal.begin(intent())
    failed = Outcome(id="c", name="act", error=Failure(code="timeout", message="late"))
    journal.end("k", failed)
    found = journal.begin(intent())
    assert found
    assert (found.state, found.outcome) == ("ended", failed)


def test_an_intent_that_is_there_is_not_changed(journal: Journal) -> None:
    journal.begin(intent(path="a"))
    found = journal.begin(intent(path="b"))
    assert found
    assert found.intent.input == {"path": "a"}


def test_the_intent_of_a_dead_process_is_indeterminate(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.begin(intent())
    assert journal.indeterminate() == []
    died(monkeypatch)
    assert [one.state for one in journal.indeterminate()] == ["indeterminate"]


def test_a_later_process_with_the_same_number_is_another(journal: Journal, path: Path) -> None:
    journal.begin(intent())
    mine = processes.this_process()
    pid, _, start = mine.partition(":")
    assert pid == str(os.getpid())
    database(path, f"update intents set process = '{pid}:{int(start) - 1}'")
    assert [one.intent.key for one in journal.indeterminate()] == ["k"]
    database(path, f"update intents set process = '{mine}'")
    assert journal.indeterminate() == []


def test_an_interrupted_intent_is_taken_over(
    journal: Journal, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.begin(intent())
    database(path, "update intents set process = '1:1'")
    assert len(journal.indeterminate()) == 1
    journal.again("k")
    assert journal.indeterminate() == []
    journal.end("k", Outcome(id="c", name="act"))
    journal.again("k")
    assert [one.state for one in journal.entries()] == ["ended"]


def test_the_latest_come_first(path: Path) -> None:
    now = iter(range(100))
    journal = Journal(path, clock=lambda: next(now))
    for key in "abc":
        journal.begin(intent(key))
    assert [one.intent.key for one in journal.entries(2)] == ["c", "b"]
    assert [one.began for one in journal.entries()] == [2, 1, 0]
    journal.close()


def test_what_a_person_settled_is_forgotten(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.begin(intent("abc"))
    journal.begin(intent("abd"))
    assert not journal.forget("abc")
    died(monkeypatch)
    assert not journal.forget("ab")
    assert not journal.forget("x")
    assert journal.forget("abc")
    assert [one.intent.key for one in journal.entries()] == ["abd"]


def test_what_is_not_there_is_not_found(journal: Journal) -> None:
    assert journal.find("k") is None


@pytest.mark.parametrize(
    "content", [b"not a database, and long enough to look at" * 50, b"\0" * 99]
)
def test_a_file_that_is_no_journal_is_said_and_left_alone(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    before = open_files()
    with pytest.raises(JournalUnavailable, match=r"journal\.sqlite"):
        Journal(path)
    assert path.read_bytes() == content
    assert open_files() == before


def test_a_folder_in_the_place_of_the_file_is_said(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(JournalUnavailable):
        Journal(path)
    assert issubclass(JournalUnavailable, CallblocksError)


@pytest.mark.parametrize(
    ("column", "value"), [("input", "'{'"), ("process", "'me'"), ("outcome", "'[]'")]
)
def test_a_record_that_makes_no_sense_is_said(
    journal: Journal, path: Path, column: str, value: str
) -> None:
    journal.begin(intent())
    database(path, f"update intents set {column} = {value}")
    with pytest.raises(JournalUnavailable):
        journal.entries()


def test_what_cannot_be_written_is_said(journal: Journal) -> None:
    with pytest.raises(JournalUnavailable):
        journal.begin(intent(text="\ud800"))
    with pytest.raises(JournalUnavailable):
        journal.begin(intent("\ud800"))


def test_a_process_without_a_known_start_is_looked_up_by_its_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "_process", lambda pid: None)
    mine = processes.this_process()
    assert mine == str(os.getpid())
    assert processes.lives(mine)


@pytest.mark.parametrize(
    ("raised", "alive"), [(None, True), (ProcessLookupError(), False), (PermissionError(), True)]
)
def test_a_number_that_may_not_be_signalled_still_lives(
    raised: OSError | None, alive: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(pid: int, signal: int) -> None:
        assert (pid, signal) == (4711, 0)
        if raised is not None:
            raise raised

    monkeypatch.setattr(os, "kill", kill)
    assert processes.lives("4711") is alive


def test_a_process_that_is_gone_does_not_live() -> None:
    assert not processes.lives(f"{2**22 + 1}:1")
    assert processes.lives(processes.this_process())


def test_the_intents_of_a_turn_are_those_of_no_other(journal: Journal) -> None:
    for key, turn in (("a", "t"), ("b", "u"), ("c", "t")):
        journal.begin(Intent(key=key, turn=turn, call=key, tool="act", input={}))
    journal.end("a", Outcome(id="a", name="act", output="done"))
    assert [(one.intent.call, one.state) for one in journal.of_turn("t")] == [
        ("a", "ended"),
        ("c", "running"),
    ]
    assert journal.of_turn("v") == []
