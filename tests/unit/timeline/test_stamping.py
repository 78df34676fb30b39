"""The stamp of a call whose id comes again and again."""

from __future__ import annotations

from typing import Any

from callblocks.core.calls import Call
from callblocks.timeline.call_steps import stamp_of_call, stamp_of_next, stamp_of_running
from callblocks.timeline.timeline import State
from support.entries import numbered, stamp

ASKED = Call(id="a", name="look", input={})


class CountingState(State):
    """Counts how often it is asked for a path."""

    asked = 0

    def has(self, path: str) -> bool:
        self.asked += 1
        return super().has(path)

    def add(self, call: str, *, ended: bool) -> None:
        """A call, with a result or without one."""
        own = stamp(call, tool="look")
        blocks = [own.block("react.tool.call", path=own.path("call"), meta={"id": "a"})]
        blocks += [own.result("content", "ok")] if ended else []
        self.feed(numbered(blocks, self.last))


def named(state: State) -> str:
    return stamp_of_call(state, "turn_1", ASKED, 0).call


def test_each_name_is_looked_at_once() -> None:
    state, counts = CountingState(), list[int]()
    for _ in range(200):
        before = state.asked
        state.add(named(state), ended=True)
        counts.append(state.asked - before)
    assert named(state) == "a-201"
    assert max(counts) < 10


def test_a_call_that_runs_is_found_among_many_that_have_ended() -> None:
    state = CountingState()
    for number in range(1, 6):
        state.add("a" if number == 1 else f"a-{number}", ended=number != 3)
    assert named(state) == "a-3"
    assert stamp_of_running(state, "turn_1", "a", "look", 0).call == "a-3"
    assert stamp_of_next(state, "turn_1", "a", 0).call == "a-6"
    own: Any = stamp("a-3", tool="look")
    state.feed(numbered([own.result("content", "late")], state.last))
    assert named(state) == "a-6"
