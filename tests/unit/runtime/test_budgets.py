"""Places that many share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from callblocks import Rule
from callblocks.core.calls import Call
from callblocks.guard.workers.threads import Budget, BudgetFull, Budgets
from callblocks.policy.policy import Policy
from callblocks.runtime.runtime import Runtime, budget_of
from callblocks.tools.declare import tool


class Crowd:
    """People who want a place, and hold it until they are let go."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.served: list[str] = []
        self.told: dict[str, list[int]] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self._gates: dict[str, asyncio.Event] = {}

    async def come(self, name: str, user: str = "") -> None:
        self._gates[name] = asyncio.Event()
        self.told[name] = []
        self.tasks[name] = asyncio.ensure_future(self._hold(name, user))
        await settle()

    async def leave(self, name: str) -> None:
        self._gates[name].set()
        await settle()

    async def _hold(self, name: str, user: str) -> None:
        async with self.budget.place(user, self.told[name].append):
            self.served.append(name)
            await self._gates[name].wait()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def played(play: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        await play()

    asyncio.run(run())


def test_users_take_turns_and_are_told_their_place() -> None:
    async def play() -> None:
        crowd = Crowd(Budget(1))
        for name in ("a1", "a2", "a3", "a4"):
            await crowd.come(name, "anna")
        await crowd.come("b1", "ben")
        assert [crowd.told[name][-1] for name in ("a2", "a3", "a4", "b1")] == [0, 2, 3, 1]
        for name in ("a1", "a2", "b1", "a3", "a4"):
            await crowd.leave(name)
        assert crowd.served == ["a1", "a2", "b1", "a3", "a4"]
        assert (crowd.budget.held, crowd.budget.waiting) == (0, 0)
        assert crowd.told["a4"] == [2, 3, 2, 1, 0]
        assert crowd.told["a1"] == []

    played(play)


def test_one_user_has_a_share() -> None:
    async def play() -> None:
        crowd = Crowd(Budget(3, share=1))
        for name in ("a1", "a2"):
            await crowd.come(name, "anna")
        await crowd.come("b1", "ben")
        assert crowd.served == ["a1", "b1"]
        await crowd.leave("a1")
        assert crowd.served == ["a1", "b1", "a2"]
        await crowd.leave("a2")
        await crowd.leave("b1")

    played(play)


def test_whoever_goes_away_makes_room() -> None:
    async def play() -> None:
        crowd = Crowd(Budget(1))
        for name in ("a", "b", "c"):
            await crowd.come(name)
        crowd.tasks["b"].cancel()
        await settle()
        assert crowd.budget.waiting == 1
        # One that was given its place and goes away at the same moment gives it on.
        crowd._gates["a"].set()
        while crowd.budget.waiting:
            await asyncio.sleep(0)
        crowd.tasks["c"].cancel()
        await settle()
        assert (crowd.budget.held, crowd.budget.waiting) == (0, 0)

    played(play)


def test_a_listener_that_fails_keeps_nobody_from_a_place() -> None:
    async def play() -> None:
        errors: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))

        def fail(before: int) -> None:
            raise ValueError(before)

        budget = Budget(1)
        crowd = Crowd(budget)
        await crowd.come("a")

        async def wait() -> None:
            async with budget.place("ben", fail):
                pass

        waiting = asyncio.ensure_future(wait())
        await crowd.come("c")
        await crowd.leave("a")
        await waiting
        await crowd.leave("c")
        assert len(errors) == 1
        assert crowd.served == ["a", "c"]
        assert (budget.held, budget.waiting) == (0, 0)

    played(play)


@pytest.mark.parametrize(("user", "is_own"), [("anna", True), ("ben", False)])
def test_only_so_many_wait(user: str, is_own: bool) -> None:
    async def play() -> None:
        budget = Budget(1, waiting=2, waiting_share=1)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(budget.place("anna"))
            crowd = Crowd(budget)
            await crowd.come("a", "anna")
            await crowd.come("c", "carl")
            with pytest.raises(BudgetFull) as refused:
                await stack.enter_async_context(budget.place(user))
            assert refused.value.is_own is is_own
            for task in crowd.tasks.values():
                task.cancel()
            await settle()

    played(play)


def test_tools_have_the_budget_of_what_they_start() -> None:
    budgets = Budgets.of()

    def work() -> str:
        """Work."""
        return ""

    assert budget_of(tool(kind="exec")(work), budgets) is budgets.sandboxes
    assert budget_of(tool(result="rendering")(work), budgets) is budgets.renderers
    assert budget_of(tool(isolated=True)(work), budgets) is budgets.renderers
    assert budget_of(tool(work), budgets) is None


def test_a_call_that_finds_the_queue_full_fails_and_runs_nothing() -> None:
    runs: list[str] = []

    @tool(kind="exec")
    def work() -> str:
        """Work."""
        runs.append("work")
        return ""

    async def play() -> None:
        budgets = Budgets(Budget(1, waiting=0), Budget(1), Budget(1))
        runtime = Runtime([work], Policy((Rule(decide="allow", tool=("work",)),)), budgets=budgets)
        async with budgets.sandboxes.place():
            (outcome,) = [one async for one in runtime.run([Call(id="c1", name="work")])]
        assert outcome.error is not None
        assert outcome.error.code == "limit_reached"

    played(play)
    assert runs == []
