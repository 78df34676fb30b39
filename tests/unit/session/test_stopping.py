"""A turn is stopped, or its program ends, at any moment: it is over soon, and nothing is left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from callblocks.approvals.question import Answer, Question
from callblocks.core.calls import Call
from callblocks.core.errors import TurnRunning
from callblocks.core.events import (
    CallAsked,
    CallBegan,
    CallEnded,
    CallReady,
    CallStarted,
    RoundBegan,
    Text,
    TurnBegan,
    TurnEnded,
    TurnEvent,
)
from callblocks.session.host import Host
from callblocks.session.session import Session
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from support.model_events import inner
from support.scripted_sessions import (
    ASK_ALL,
    Never,
    Replies,
    blocks_of,
    check_grammar,
    check_shape,
    of_type,
    run_turn,
    some_host,
    write,
)


@tool(read_only=True)
async def rest(seconds: float) -> str:
    """Rest."""
    await asyncio.sleep(seconds)
    return "rested"


RESTING = Registry([rest])
LONG = Call(id="c1", name="rest", input={"seconds": 60})
SHORT = Call(id="c2", name="rest", input={"seconds": 0})


def calling(*calls: Call) -> str:
    return write("tool-fence", "Well.\n", *calls, tools=RESTING.tools)


async def nobody(question: Question) -> Answer | None:
    await asyncio.Event().wait()
    return None


MOMENTS: dict[str, tuple[type[Any], list[Any], dict[str, Any]]] = {
    "as it begins": (TurnBegan, ["Yes."], {}),
    "before the first piece": (RoundBegan, [[Never, "Yes."]], {}),
    "within the prose": (Text, [["Well, ", Never]], {}),
    "within a call": (CallStarted, [[calling(LONG)[:30], Never]], {}),
    "after a call was written": (CallReady, [[calling(LONG), Never]], {}),
    "while a call runs": (CallBegan, [calling(LONG, SHORT)], {}),
    "while a person is asked": (CallAsked, [calling(SHORT, LONG)], {"policy": ASK_ALL}),
    "between rounds": (CallEnded, [calling(SHORT), "Yes."], {}),
}


class Stopper:
    """Does something at the first event of a type, once."""

    def __init__(self, type: type[Any], act: Callable[[], object] | None = None) -> None:
        self.events: list[TurnEvent] = []
        self.act = act
        self._type = type

    def __call__(self, event: TurnEvent) -> None:
        self.events.append(event)
        if self.act is not None and isinstance(inner(event), self._type):
            act, self.act = self.act, None
            act()


def opened(folder: Path, says: list[Any], settings: dict[str, Any]) -> tuple[Replies, Host]:
    model = Replies(*says)
    return model, some_host(folder, model, tools=RESTING, **settings)


async def goes_on(model: Replies, session: Session) -> None:
    """The session is good for another turn."""
    assert not session.is_running
    assert session.turn_id is None
    model.begin(calling(SHORT), "Yes.")
    asked = len(of_type(await run_turn(session, "And now?"), TurnBegan))
    assert asked == 1
    assert blocks_of(session)[-1].meta["status"] in ("answered", "limited")
    for request in model.requests:
        check_shape(request.messages)


def all_have_results(session: Session) -> None:
    blocks = blocks_of(session)
    called = [one.call_id for one in blocks if one.type == "react.tool.call"]
    gave = {one.call_id for one in blocks if one.type == "react.tool.result"}
    assert set(called) <= gave
    assert len(set(called)) == len(called)


@pytest.mark.parametrize("is_later", [False, True])
@pytest.mark.parametrize("moment", MOMENTS)
def test_stop(tmp_path: Path, moment: str, is_later: bool) -> None:
    type, says, settings = MOMENTS[moment]
    model, host = opened(tmp_path, says, settings)

    async def main() -> None:
        session = host.session("talk", nobody)
        loop = asyncio.get_running_loop()
        later = partial(loop.call_soon, session.stop)
        stopper = Stopper(type, later if is_later else session.stop)
        async with asyncio.timeout(5):
            ended = await session.run("Go.", tell=stopper)
        check_grammar(stopper.events)
        assert stopper.events[-1] == ended
        assert (ended.status, ended.code) == ("stopped", "stopped")
        assert model.closed == len(model.requests)
        assert blocks_of(session)[-1].meta["status"] == "stopped"
        all_have_results(session)
        session.stop()
        if not settings:
            await goes_on(model, session)

    with host:
        asyncio.run(main())


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_program_that_ends_marks_the_turn_as_interrupted(tmp_path: Path, moment: str) -> None:
    type, says, settings = MOMENTS[moment]
    model, host = opened(tmp_path, says, settings)

    async def main() -> None:
        session = host.session("talk", nobody)
        stopper = Stopper(type)
        task = asyncio.ensure_future(session.run("Go.", tell=stopper))
        stopper.act = task.cancel
        async with asyncio.timeout(5):
            with pytest.raises(asyncio.CancelledError):
                await task
        check_grammar(stopper.events)
        last = stopper.events[-1]
        assert isinstance(last, TurnEnded)
        assert last.status == "interrupted"
        assert blocks_of(session)[-1].meta["status"] == "interrupted"
        assert model.closed == len(model.requests)
        assert session.settle() is None
        all_have_results(session)
        if not settings:
            await goes_on(model, session)

    with host:
        asyncio.run(main())


def test_a_turn_that_was_interrupted_here_goes_on_here(tmp_path: Path) -> None:
    model, host = opened(tmp_path, [calling(SHORT), [Never]], {})

    async def main() -> None:
        session = host.session("talk")
        events: list[TurnEvent] = []
        task = asyncio.ensure_future(session.run("Go.", tell=events.append))
        while len(of_type(events, RoundBegan)) < 2:
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        model.begin("Here I am.")
        again: list[TurnEvent] = []
        ended = await session.resume(tell=again.append)
        assert ended
        assert (ended.status, ended.turn) == ("answered", "turn_1")
        (request,) = model.requests
        assert (request.round, request.prompt) == (2, "Go.")
        assert dict(request.results) == {"c2": "rested"}
        check_grammar(again)
        assert await session.resume(tell=again.append) is None

    with host:
        asyncio.run(main())


def test_whoever_follows_a_turn_and_leaves_stops_it(tmp_path: Path) -> None:
    model, host = opened(tmp_path, [["Well, ", Never]], {})

    async def main() -> None:
        session = host.session("talk")
        async with aclosing(session.turn("Go.")) as events:
            async for event in events:
                if isinstance(inner(event), Text):
                    break
        assert not session.is_running
        assert blocks_of(session)[-1].meta["status"] == "stopped"
        model.begin("Yes.")
        assert [type(one) async for one in session.turn("And?")][-1] is TurnEnded

    with host:
        asyncio.run(main())


def test_a_second_turn_is_refused_and_does_not_end_the_first(tmp_path: Path) -> None:
    _, host = opened(tmp_path, [["Well, ", Never]], {})

    async def main() -> None:
        session = host.session("talk")
        first = asyncio.ensure_future(run_turn(session, "Go."))
        while not session.is_running:
            await asyncio.sleep(0)
        for begin in (session.run("And?", tell=print), session.resume(tell=print)):
            with pytest.raises(TurnRunning):
                await begin
        with pytest.raises(TurnRunning):
            _ = [event async for event in session.turn("And?")]
        assert session.settle() is None
        assert session.is_running
        assert host.running == [session]
        session.stop()
        (*_, last) = await first
        assert isinstance(last, TurnEnded)
        assert last.status == "stopped"

    with host:
        asyncio.run(main())


def test_one_that_is_given_up_before_it_begins_never_runs(tmp_path: Path) -> None:
    model, host = opened(tmp_path, ["Yes."], {})

    async def main() -> None:
        session = host.session("talk")
        events = session.turn("Go.")
        first = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await events.aclose()
        assert not session.is_running
        assert len(model.requests) <= 1

    with host:
        asyncio.run(main())


def test_two_sessions_on_one_timeline_take_turns(tmp_path: Path) -> None:
    model, host = opened(tmp_path, [["Well, ", Never]], {})
    other_model = Replies("Yes.", "Yes.")

    async def main(other: Session) -> None:
        session, begun = host.session("talk"), asyncio.Event()
        first = asyncio.ensure_future(session.run("Go.", tell=lambda event: begun.set()))
        await begun.wait()
        assert other.settle() is None
        with pytest.raises(TurnRunning):
            await other.run("Me too.", tell=print)
        with pytest.raises(TurnRunning):
            await other.resume(tell=print)
        assert not other.is_running
        session.stop()
        await first
        assert (await other.run("Now?", tell=lambda event: None)).status == "answered"
        model.begin("Yes.")
        assert (await session.run("And I?", tell=lambda event: None)).turn == "turn_3"

    with host, some_host(tmp_path, other_model) as second:
        asyncio.run(main(second.session("talk")))
