"""The store, the journal or the book breaks in the middle of a turn: it ends, and says so."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callblocks.approvals.approval import ApprovalsUnavailable
from callblocks.approvals.question import BookAsker
from callblocks.core.errors import TimelineError
from callblocks.core.events import CallEnded, TurnEnded, TurnEvent
from callblocks.runtime.journal import JournalUnavailable
from callblocks.session.session import Session
from support.dying_session import acting_host, effects_of, yes
from support.scripted_sessions import blocks_of, check_grammar, of_type, run_turn


class Breaking:
    """An append that fails from the n-th time on, for so many times."""

    def __init__(self, session: Session, first: int, times: int) -> None:
        self._timeline: Any = session.recorder.timeline
        self._append = self._timeline.append
        self._first, self._times, self._count = first, times, 0
        self._timeline.append = self

    def __call__(self, blocks: Any, expected: int | None = None) -> Any:
        self._count += 1
        if self._first <= self._count < self._first + self._times:
            raise TimelineError("disk_full", "no room is left")
        return self._append(blocks, expected)

    def mend(self) -> bool:
        """Be whole from now on; whether it was broken at all."""
        self._times = 0
        return self._count >= self._first


def all_ended(session: Session) -> bool:
    blocks = blocks_of(session)
    called = [one.call_id for one in blocks if one.type == "react.tool.call"]
    return set(called) <= {one.call_id for one in blocks if one.type == "react.tool.result"}


@pytest.mark.parametrize("times", [1, 100])
@pytest.mark.parametrize("first", range(1, 8))
def test_a_store_that_breaks_fails_the_turn(tmp_path: Path, first: int, times: int) -> None:
    _, host = acting_host(tmp_path)
    with host:
        session = host.session("talk", yes)
        breaking = Breaking(session, first, times)
        events: list[TurnEvent] = []
        ended = asyncio.run(session.run("Go.", tell=events.append))
        if not breaking.mend():
            assert ended.status == "answered"
            return
        assert (ended.status, ended.code) == ("failed", "disk_full")
        assert events[-1] == ended
        if first > 1:
            check_grammar(events)
        if times == 1 and first > 1:
            assert all_ended(session)
            assert session.recorder.state.ended == {"turn_1": "failed"}
        done = len(effects_of(tmp_path))
        assert not session.is_running
        assert asyncio.run(session.run("Again.", tell=lambda event: None)).status == "answered"
        assert all_ended(session)
        assert len(effects_of(tmp_path)) == done + 1


def test_where_the_journal_cannot_be_read_nobody_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, host = acting_host(tmp_path)

    def broken(turn: str) -> None:
        raise JournalUnavailable("journal: disk I/O error")

    with host:
        session = host.session("talk", yes)
        Breaking(session, 4, 100)
        asyncio.run(session.run("Go.", tell=lambda event: None))
    _, host = acting_host(tmp_path)
    with host:
        monkeypatch.setattr(host.journal, "of_turn", broken)
        events: list[TurnEvent] = []
        ended = asyncio.run(host.session("talk", yes).resume(tell=events.append))
        assert ended
        assert ended.status == "answered"
        (told,) = of_type(events, CallEnded)
        assert told.outcome.error.code == "indeterminate"
    assert len(effects_of(tmp_path)) == 1


def test_where_the_book_breaks_nothing_is_approved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, host = acting_host(tmp_path)

    def broken(id: str) -> None:
        raise ApprovalsUnavailable("approvals: disk I/O error")

    with host:
        monkeypatch.setattr(host.book, "get", broken)
        events = asyncio.run(run_turn(host.session("talk", BookAsker(host.book)), "Go."))
    check_grammar(events)
    (told,) = of_type(events, CallEnded)
    assert told.outcome.error.code == "approval_required"
    assert isinstance(events[-1], TurnEnded)
    assert events[-1].status == "answered"
    assert effects_of(tmp_path) == []


def test_a_listener_that_raises_ends_the_turn_and_not_the_session(tmp_path: Path) -> None:
    _, host = acting_host(tmp_path)

    def tell(event: TurnEvent) -> None:
        if isinstance(event, CallEnded):
            raise ValueError("a bug")

    with host:
        session = host.session("talk", yes)
        with pytest.raises(ValueError, match="a bug"):
            asyncio.run(session.run("Go.", tell=tell))
        assert not session.is_running
        assert session.recorder.state.ended == {"turn_1": "interrupted"}
        assert all_ended(session)
        assert asyncio.run(session.run("Again.", tell=lambda event: None)).status == "answered"


def test_a_store_that_cannot_be_read_begins_nothing(tmp_path: Path) -> None:
    _, host = acting_host(tmp_path)

    def broken(after: int = 0, limit: int | None = None) -> Any:
        raise TimelineError("unreadable", "the file is no database")

    with host:
        session = host.session("talk", yes)
        timeline: Any = session.recorder.timeline
        whole, timeline.entries = timeline.entries, broken
        events: list[TurnEvent] = []
        for begin in (session.run("Go.", tell=events.append), session.resume(tell=events.append)):
            ended = asyncio.run(begin)
            assert ended
            assert (ended.status, ended.code, ended.turn) == ("failed", "unreadable", "")
        assert [type(event) for event in events] == [TurnEnded, TurnEnded]
        timeline.entries = whole
        assert asyncio.run(session.run("Again.", tell=lambda event: None)).status == "answered"


def test_a_folder_of_files_that_is_gone_fails_the_turn(tmp_path: Path) -> None:
    _, host = acting_host(tmp_path)
    with host:
        session = host.session("talk", yes)
        files: Any = session.recorder.holdings.files
        files.close()
        events: list[TurnEvent] = []
        ended = asyncio.run(session.run("Go.", tell=events.append))
        assert (ended.status, ended.code) == ("failed", "store_unavailable")
        assert events == [ended]
        assert not session.is_running
