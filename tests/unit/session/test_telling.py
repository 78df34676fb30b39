"""Every call that was told to be written is told to have ended, once, and nothing comes after."""

from __future__ import annotations

import asyncio
import threading

from callblocks.core.calls import Call
from callblocks.core.events import (
    CallBegan,
    CallEnded,
    CallTold,
    TurnEvent,
)
from callblocks.core.outcomes import Outcome
from callblocks.session.event_gate import Telling
from support.model_events import call_written, model_said

CALL = Call(id="c1", name="look")
ENDED = CallEnded(outcome=Outcome(id="c1", name="look", output="a garden"))


def test_a_call_ends_once() -> None:
    told: list[TurnEvent] = []
    telling = Telling(told.append)
    for event in (call_written(key=1, call=CALL), CallBegan(id="c1"), ENDED, ENDED):
        telling(event)
    telling.close("the turn is over")
    assert told == [call_written(key=1, call=CALL), CallBegan(id="c1"), ENDED]


def test_what_is_left_is_ended_with_the_turn() -> None:
    told: list[TurnEvent] = []
    telling = Telling(told.append)
    telling(call_written(key=1, call=CALL))
    telling.close("the person stopped the turn")
    last = told[-1]
    assert isinstance(last, CallEnded)
    assert last.outcome.error
    assert last.outcome.error.code == "cancelled"
    assert last.outcome.error.message == "look did not run: the person stopped the turn"


def test_what_a_tool_shows_before_it_begins_or_after_its_end_is_not_told() -> None:
    told: list[TurnEvent] = []
    telling = Telling(told.append)
    shown = CallTold(id="c1", text="one")
    for event in (shown, CallBegan(id="c1"), shown, ENDED, shown, model_said(text="x")):
        telling(event)
    assert told == [CallBegan(id="c1"), shown, ENDED, model_said(text="x")]


def test_what_a_tool_shows_in_a_thread_is_told_in_the_loop_and_before_its_end() -> None:
    told: list[tuple[TurnEvent, int]] = []
    telling = Telling(lambda event: told.append((event, threading.get_ident())))

    async def main() -> None:
        listen = telling.listener(asyncio.get_running_loop())
        listen(CallBegan(id="c1"))
        thread = threading.Thread(target=lambda: listen(CallTold(id="c1", text="one")))
        thread.start()
        thread.join()
        telling(ENDED)
        await asyncio.sleep(0)

    asyncio.run(main())
    assert [event for event, _ in told] == [
        *(CallBegan(id="c1"), CallTold(id="c1", text="one"), ENDED)
    ]
    assert {thread for _, thread in told} == {threading.get_ident()}


def test_a_tool_may_show_something_after_the_loop_is_closed() -> None:
    telling = Telling(lambda event: None)
    loop = asyncio.new_event_loop()
    listen = telling.listener(loop)
    loop.close()
    listen(CallTold(id="c1", text="one"))
