"""The runtime: calls in, outcomes out, as they finish.

    runtime = Runtime(registry, policy)
    async for outcome in runtime.run(parsed.calls):
        ...

Every call gets exactly one outcome, whatever happens to it, and a failure of one call does not
affect the others. Without a policy nothing runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable

from msgspec.structs import replace

from callblocks.core.calls import Call, CheckedCall
from callblocks.core.errors import BadPolicy
from callblocks.core.outcomes import Failure, Outcome
from callblocks.core.specs import ToolSpecs
from callblocks.core.text import brief
from callblocks.guard.files.origins import Origins
from callblocks.guard.workers.budgets import Budgets
from callblocks.policy.policy import Policy
from callblocks.runtime.approval_gate import Approving
from callblocks.runtime.checked_call import check_call
from callblocks.runtime.gate import Gate, Resolve
from callblocks.runtime.journal import Journal
from callblocks.runtime.run_call import RunLimits, Running
from callblocks.runtime.turn_scope import Judged, Listener, Turn
from callblocks.tools.context import Keep
from callblocks.tools.registry import Registry

__all__ = (
    "Runtime",
    "batches",
    "priority",
)

# --- The order in which calls run ---
#
#     priority 2   read_a, read_b        higher first; these two change nothing: in parallel
#     priority 0   read_c                again in parallel, alone here
#                  write_d               a change is a barrier: it runs alone, between the others
#                  read_e, read_f
#
# Ties run in the order written. An unknown tool counts as read-only, because its outcome is a
# failure in any case.


def batches(calls: Iterable[Call], registry: Registry) -> list[list[Call]]:
    """Return batches of calls in running order; the calls of one batch run in parallel."""
    ordered = sorted(calls, key=priority, reverse=True)
    if len(ordered) < 2:
        return [ordered] if ordered else []
    found: list[list[Call]] = []
    last: tuple[float, bool] | None = None
    for call in ordered:
        place = (priority(call), _quiet(call, registry))
        # Only neighbours of the same priority that both change nothing may share a batch.
        if place == last and place[1]:
            found[-1].append(call)
        else:
            found.append([call])
        last = place
    return found


def priority(call: Call) -> float:
    """Return the priority of a call; anything that is no number counts as 0."""
    given = call.extra.get("priority", 0)
    if isinstance(given, bool) or not isinstance(given, int | float):
        return 0
    # Not `math.isnan`: it raises OverflowError for an integer that no float can hold.
    return 0 if given != given else given  # noqa: PLR0124 NaN alone differs from itself


def _quiet(call: Call, registry: Registry) -> bool:
    tool = registry.get(call.name)
    return tool is None or tool.traits.read_only


# --- The runtime: calls in, outcomes out, as they finish ---


class Runtime:
    """The runner of calls under a policy.

    `approving` asks a person; without it, calls that the policy does not allow are refused.
    `journal` records each change before it happens. `keep` stores files and outputs that are too
    long. `resolve` gives the real path that a policy judges. `origins` are those of the workspace:
    which of its files hold text of others. `budgets` are shared with everything else that starts
    processes.
    """

    def __init__(
        self,
        registry: Registry | ToolSpecs,
        policy: Policy | None = None,
        *,
        approving: Approving | None = None,
        journal: Journal | None = None,
        keep: Keep | None = None,
        resolve: Resolve | None = None,
        origins: Origins | None = None,
        limits: RunLimits | None = None,
        budgets: Budgets | None = None,
    ) -> None:
        registry = registry if isinstance(registry, Registry) else Registry(registry)
        if policy is not None and not isinstance(policy, Policy):  # pyright: ignore[reportUnnecessaryIsInstance] callers err
            raise BadPolicy(f"{brief(policy)} is no Policy; Policy.from_file(path) reads one")
        self.registry = registry
        self.gate = Gate(registry, policy or Policy(), approving or Approving(), resolve, origins)
        self._limits = limits or RunLimits()
        self._running = Running(
            self._limits, journal=journal, keep=keep, budgets=budgets, origins=origins
        )

    def plan(self, calls: Iterable[Call], turn: Turn | None = None) -> list[Judged]:
        """Return the judgement of each call in running order; nothing is run and nobody is
        asked.
        """
        weighing = turn or Turn()
        return [
            Judged(call, self.gate.weigh(call, weighing))
            for batch in batches(calls, self.registry)
            for call in batch
        ]

    def check(self, call: Call) -> CheckedCall | None:
        """Return a call as its tool gets it, to record it; `None` if it cannot run."""
        return check_call(call, self.registry)

    async def run(
        self, calls: Iterable[Call], turn: Turn | None = None, listen: Listener | None = None
    ) -> AsyncGenerator[Outcome]:
        """Run calls and yield their outcomes; closing the iterator cancels what still runs."""
        current = turn or Turn()
        for batch in batches(calls, self.registry):
            if len(batch) == 1:
                yield await self._one(batch[0], current, listen)
            else:
                async for outcome in self._side_by_side(batch, current, listen):
                    yield outcome

    async def _side_by_side(
        self, batch: list[Call], turn: Turn, listen: Listener | None
    ) -> AsyncGenerator[Outcome]:
        room = asyncio.Semaphore(self._limits.parallel)

        async def one(call: Call) -> Outcome:
            async with room:
                return await self._one(call, turn, listen)

        waiting = {asyncio.ensure_future(one(call)) for call in batch}
        try:
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    yield task.result()
        finally:
            # The consumer may stop iterating at any outcome; no call may go on running unobserved.
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def _one(self, call: Call, turn: Turn, listen: Listener | None) -> Outcome:
        if turn.stopped:
            stopped = Failure(code="cancelled", message="the turn was stopped before this call")
            return Outcome(id=call.id, name=call.name, error=stopped)
        # Judged here, immediately before it runs, and not for the whole batch in advance: an
        # earlier call may have tainted the turn or changed the file that this one names.
        weighed = self.gate.weigh(call, turn)
        if listen is not None:
            listen(Judged(call, weighed))
        if isinstance(weighed, Failure):
            return Outcome(id=call.id, name=call.name, error=weighed)
        refusal = await self.gate.refusal(weighed, turn)
        if refusal is not None:
            return Outcome(id=call.id, name=call.name, error=refusal)
        outcome = await self._running.run(weighed, turn, listen)
        # A call that stands for another keeps the name that the model wrote.
        return replace(outcome, name=call.name)
