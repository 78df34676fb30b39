from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from callblocks.core.errors import ToolError
from callblocks.core.outcomes import Outcome
from callblocks.runtime import run_call as invoking
from callblocks.runtime.run_call import invoke
from callblocks.runtime.turn_scope import Turn
from callblocks.tools.context import Context
from callblocks.tools.declare import tool
from support.tool_runtime import call, run, run_one


class OwnKind(BaseException):
    pass


def code(outcome: Outcome) -> str:
    return outcome.error.code if outcome.error else ""


@pytest.mark.parametrize(
    "raised",
    [asyncio.CancelledError(), OwnKind("x"), SystemExit(3), GeneratorExit(), StopAsyncIteration()],
    ids=repr,
)
def test_whatever_an_async_tool_raises_the_others_go_on(raised: BaseException) -> None:
    @tool(read_only=True)
    async def fail() -> None:
        """Fail."""
        raise raised

    @tool(read_only=True)
    async def fine() -> int:
        """Work."""
        await asyncio.sleep(0)
        return 1

    found = {one.name: one for one in run([fail, fine], call("fail"), call("fine", "b"))}
    assert code(found["fail"]) == "tool_error"
    assert found["fine"].output == 1
    assert code(run_one([fail], call("fail"))) == "tool_error"


def test_a_plain_function_may_give_something_to_wait_for() -> None:
    async def later() -> int:
        return 7

    @tool
    def act() -> Any:
        """Give a coroutine."""
        return later()

    assert run_one([act], call("act")).output == 7


def test_a_tool_hears_that_nobody_waits_any_more() -> None:
    heard = threading.Event()

    @tool(timeout=0.05)
    async def act(context: Context) -> None:
        """Wait."""
        try:
            await asyncio.sleep(3600)
        finally:
            if context.cancelled:
                heard.set()

    outcome = run_one([act], call("act"))
    assert outcome.error
    assert (outcome.error.code, heard.is_set()) == ("timeout", True)
    assert "act was stopped after 0.05 s. " in outcome.error.message


@pytest.mark.parametrize("late", ["value", "fault", "cancelled"])
def test_an_answer_after_the_end_is_dropped(late: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invoking, "_GRACE", 0.01)
    answered: list[str] = []

    @tool(timeout=0.01)
    async def stubborn() -> str:
        """Go on after it was told to end."""
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            await asyncio.sleep(0.05)
        answered.append(late)
        if late == "fault":
            raise ValueError("late")
        if late == "cancelled":
            raise asyncio.CancelledError
        return late

    async def act() -> str:
        try:
            await invoke(stubborn, {}, Context(), Turn(), 0.01)
        except ToolError as error:
            await asyncio.sleep(0.2)
            return error.code
        return ""

    assert asyncio.run(act()) == "timeout"
    assert answered == [late]


def test_a_fault_while_ending_is_dropped() -> None:
    @tool(timeout=0.01)
    async def act() -> None:
        """Fail when it is told to end."""
        try:
            await asyncio.sleep(3600)
        finally:
            raise ValueError("while ending")

    assert code(run_one([act], call("act"))) == "timeout"


def test_a_turn_that_is_stopped_already_starts_nothing() -> None:
    began: list[int] = []

    @tool
    async def act() -> None:
        """Act."""
        began.append(1)

    async def start() -> str:
        turn = Turn()
        turn.stop()
        with pytest.raises(ToolError) as raised:
            await invoke(act, {}, Context(), turn, 1)
        return raised.value.code

    assert asyncio.run(start()) == "cancelled"
    assert not began
