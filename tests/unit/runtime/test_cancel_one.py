"""One call is cancelled, and the others of its turn go on."""

from __future__ import annotations

import asyncio

from callblocks.core.calls import Call
from callblocks.core.events import CallBegan
from callblocks.core.outcomes import Outcome
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.runtime.judgement import Turn
from callblocks.runtime.runtime import Runtime
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry


@tool
async def wait(name: str) -> str:
    """Wait.

    Args:
        name: for whom
    """
    if name == "ever":
        await asyncio.Event().wait()
    return f"waited for {name}"


def test_a_call_that_runs_is_cancelled_alone() -> None:
    turn = Turn()
    cancelled: list[bool] = []

    def listen(progress: object) -> None:
        if isinstance(progress, CallBegan) and progress.id == "a":
            asyncio.get_running_loop().call_soon(lambda: _cancel_when_it_runs(turn, cancelled))

    async def main() -> list[Outcome]:
        policy = Policy((Rule(decide="allow", tool=("*",)),), autoexec=True)
        runtime = Runtime(Registry([wait]), policy)
        calls = [Call(id="a", name="wait", input={"name": "ever"})]
        calls.append(Call(id="b", name="wait", input={"name": "bob"}))
        return [one async for one in runtime.run(calls, turn=turn, listen=listen)]

    outcomes = {one.id: one for one in asyncio.run(asyncio.wait_for(main(), 20))}
    assert outcomes["b"].output == "waited for bob"
    error = outcomes["a"].error
    assert error is not None
    assert error.code == "cancelled"
    assert cancelled[-1]
    assert not turn.stopped


def _cancel_when_it_runs(turn: Turn, cancelled: list[bool]) -> None:
    cancelled.append(turn.cancel("a"))
    if not cancelled[-1]:
        asyncio.get_running_loop().call_soon(lambda: _cancel_when_it_runs(turn, cancelled))


def test_what_does_not_run_is_not_cancelled() -> None:
    assert not Turn().cancel("a")
