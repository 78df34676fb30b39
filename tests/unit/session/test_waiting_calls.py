"""A call that a person is asked about waits, also when its program ends in an orderly way."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callblocks.approvals.question import BookAsker
from callblocks.core.calls import Call
from callblocks.core.events import CallAnswered, CallAsked, CallBegan, CallEnded, TurnEvent
from callblocks.session.host import Host
from callblocks.session.session import Session
from callblocks.timeline.recorder import Recorder
from callblocks.timeline.timeline import Timeline
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from support.approvers import Person
from support.memory_artifacts import MemoryArtifacts
from support.memory_files import MemoryFiles
from support.scripted_sessions import (
    ALLOW_ALL,
    ASK_ALL,
    Replies,
    blocks_of,
    check_grammar,
    check_shape,
    of_type,
    run_turn,
    some_host,
    write,
)

DONE: list[str] = []


@tool(open_world=True)
async def act(what: str, seconds: float = 0) -> str:
    """Act on the world."""
    DONE.append(what)
    await asyncio.sleep(seconds)
    return f"did {what}"


ACTING = Registry([act])


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    DONE.clear()


def calling(*given: dict[str, Any]) -> str:
    calls = [Call(id=f"c{at}", name="act", input=one) for at, one in enumerate(given, 1)]
    return write("tool-fence", *calls, tools=ACTING.tools)


async def cut(session: Session, moment: type[TurnEvent]) -> list[TurnEvent]:
    """A turn whose program ends at the first event of a type."""
    events: list[TurnEvent] = []
    task = asyncio.ensure_future(session.run("Go.", tell=events.append))
    async with asyncio.timeout(10):
        while not of_type(events, moment):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    check_grammar(events)
    return events


def acting_host(folder: Path, *says: str) -> tuple[Replies, Host]:
    model = Replies(*says)
    return model, some_host(folder, model, tools=ACTING, policy=ASK_ALL)


def asked_and_cut(folder: Path) -> str:
    """A question that is open when its program ends: its approval."""
    _, host = acting_host(folder, calling({"what": "x"}))
    with host:
        session = host.session("talk", BookAsker(host.book))
        events = asyncio.run(cut(session, CallAsked))
        assert not of_type(events, CallAnswered, CallEnded)
        assert blocks_of(session, "react.tool.result") == []
        (end,) = blocks_of(session, "timeline.turn")
        assert (end.meta["status"], end.meta["code"]) == ("interrupted", "interrupted")
    (asked,) = of_type(events, CallAsked)
    return asked.approval


def test_an_approval_that_came_meanwhile_lets_it_run(tmp_path: Path) -> None:
    approval = asked_and_cut(tmp_path)
    _, host = acting_host(tmp_path, "Done.")
    with host:
        host.book.approve(approval)
        events: list[TurnEvent] = []
        ended = asyncio.run(host.session("talk", Person()).resume(tell=events.append))
        assert ended
        assert (ended.turn, ended.status) == ("turn_1", "answered")
    assert not of_type(events, CallAsked)
    assert DONE == ["x"]


def test_it_is_given_up_when_another_turn_begins(tmp_path: Path) -> None:
    asked_and_cut(tmp_path)
    model, host = acting_host(tmp_path, "Hello.")
    with host:
        session = host.session("talk", Person())
        asyncio.run(run_turn(session, "Never mind."))
        (result,) = blocks_of(session, "react.tool.result")
        assert '"cancelled"' in (result.text or "")
        assert session.settle() is None
        assert len(blocks_of(session, "react.tool.result")) == 1
    check_shape(model.requests[0].messages)
    assert DONE == []


def test_what_had_begun_is_not_done_again_where_no_journal_says_so(tmp_path: Path) -> None:
    said = calling({"what": "x", "seconds": 60}, {"what": "y"})
    with Timeline.open(tmp_path / "timeline.sqlite", "talk") as timeline:
        recorder = Recorder(timeline, MemoryFiles(), MemoryArtifacts())
        model = Replies(said, "Done.")
        session = Session(recorder, model, tools=ACTING, policy=ALLOW_ALL)

        async def main() -> None:
            events = await cut(session, CallBegan)
            assert [one.outcome.id for one in of_type(events, CallEnded)] == ["c1"]
            await session.resume(tell=lambda event: None)

        asyncio.run(main())
    assert DONE == ["x", "y"]
