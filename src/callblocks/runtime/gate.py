"""The gate between a call and its tool: a call that does not pass here does not run.

    known?  ended?  runnable?  input fits?  alias?  policy: allow | ask | deny  →  approval

Strategy: `weigh` collects facts and asks the policy, without any effect. `refusal` enforces the
decision, and asks a person where the policy says so.

Invariants
- Every step fails closed: a step that cannot say yes gives a failure with a code and words for the
  model and the person.
- One checked input, made once by `take_call`, is judged, shown, approved and run. A call that
  stands for another tool is judged as that other tool.
- Paths are resolved once, inside `in_call`, and pinned. The tool later opens exactly what was
  judged.
- After a person answered, the call is judged again (`_changed`). Minutes may have passed, in which
  a link was turned, a file edited or the turn tainted.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TypeAlias

import msgspec

from callblocks.core.calls import Call
from callblocks.core.outcomes import Failure
from callblocks.guard.files.origins import Origins
from callblocks.guard.files.pins import CallFiles, in_call
from callblocks.policy.facts import ContainedTaint, Facts, gather, may_leave_by
from callblocks.policy.policy import Decision, Policy
from callblocks.runtime.approval_gate import Approving
from callblocks.runtime.checked_call import Judgement, TakenCall, take_call
from callblocks.runtime.turn_scope import Turn
from callblocks.tools.context import Context, running_as
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool

__all__ = (
    "Gate",
    "Resolve",
    "carried_taints",
    "tracking",
)

# --- Origins of data that foreign tools reach without the stores of callblocks ---
#
# A built-in tool works on stores that track origins themselves. Of any other tool two things are
# known: the paths in its input, and that it may keep its input in some place of its own. Both are
# marked before it runs, and looked up after it ran.
#
# A call that can send data out takes the files that it names with it, and code with a network may
# take all files. So their taints count for the decision about such a call, in a clean turn too.


@contextmanager
def tracking(origins: Origins | None, weighed: Judgement, context: Context) -> Generator[None]:
    """Mark what a call of a foreign tool may store, and taint it by what it may read."""
    tool = weighed.tool
    if origins is None or tool.origin == "builtin":
        yield
        return
    place, paths = _place(tool), weighed.facts.paths
    writes = [] if tool.traits.read_only else [path for path in paths if path is not None]
    storing = origins.storing(writes, "" if tool.traits.read_only else place)
    _look(origins, tool, place, paths, context)
    with running_as(context), storing:
        try:
            yield
        finally:
            # Another call may have written there meanwhile. Marks that this call made itself are no
            # news.
            if all(isinstance(why, ContainedTaint) for why in context.origins()):
                _look(origins, tool, place, paths, context)


def _place(tool: Tool) -> str:
    """Return the resource where a tool keeps its input; "" where it keeps nothing."""
    return "" if tool.stores == "" else f"tools:{tool.stores or ''}"


def _look(
    origins: Origins, tool: Tool, place: str, paths: Iterable[str | None], context: Context
) -> None:
    kept = origins.of(place, f"what {tool.name} may keep") if place else None
    for why in (kept, *(_of_path(origins, path) for path in paths)):
        if why is not None and why not in context.taints:
            context.taint(why)


def carried_taints(origins: Origins | None, tool: Tool, facts: Facts) -> tuple[str, ...]:
    """Return the taints of the data that a call would send out, beside those of its own input."""
    if origins is None or not may_leave_by(tool, facts.traits):
        return ()
    if tool.is_sandboxed:
        held = origins.holds_foreign()
        return ("files of others, which the code could send",) if held else ()
    paths = facts.paths if tool.carries is None else _carried(tool, facts)
    found = (_of_path(origins, path) for path in paths)
    return tuple(str(why) for why in dict.fromkeys(found) if why is not None)


def _of_path(origins: Origins, path: object) -> str | None:
    """Return why data at a path is text of others; outside of the workspace that is unknown."""
    return origins.of_path(path) if isinstance(path, str) else "a file outside of the workspace"


def _carried(tool: Tool, facts: Facts) -> list[object]:
    assert tool.carries is not None
    try:
        return list(tool.carries(facts.input))
    # An exception must not bypass the judgement: `None` counts as a file outside of the workspace.
    except Exception:  # whatever an input does to it, the call is judged
        return [None]


# --- The gate between a call and its tool: a call that does not pass here does not run ---

# Return the real path below the workspace, or `None` for a path that leaves it.
Resolve: TypeAlias = Callable[[str], str | None]


class Gate:
    """The decision about calls, by a policy and by what a person approved."""

    def __init__(
        self,
        registry: Registry,
        policy: Policy,
        approving: Approving,
        resolve: Resolve | None = None,
        origins: Origins | None = None,
    ) -> None:
        self.registry = registry
        self.policy = policy
        self._approving = approving
        self._resolve: Resolve = resolve or (lambda path: None)
        self._origins = origins

    def weigh(self, call: Call, turn: Turn) -> Judgement | Failure:
        """Judge a call by the policy; nobody is asked and no approval is used up."""
        return self._weigh(call, turn, "")

    def _weigh(self, call: Call, turn: Turn, through: str) -> Judgement | Failure:
        taken = take_call(call, self.registry, through)
        if isinstance(taken, Failure):
            return taken
        return self._judge(taken, turn)

    def _judge(self, taken: TakenCall, turn: Turn) -> Judgement:
        call, tool = taken.call, taken.tool
        tainted, person = turn.tainted, self._approving.person
        # Every path that is resolved in this block becomes a pin, also those that the policy looks
        # at.
        with in_call(CallFiles()) as pinned:
            facts = gather(
                tool,
                call.input,
                resolve=self._resolve,
                tainted=tainted,
                person=person,
                through=taken.through,
                reached=self.policy.looks_at_paths,
            )
            # A call that sends data out also carries the taint of the files that it would send.
            leaves = self._origins is not None and may_leave_by(tool, facts.traits)
            if leaves and (carried := carried_taints(self._origins, tool, facts)):
                tainted = tuple(dict.fromkeys((*facts.tainted, *carried)))
                facts = msgspec.structs.replace(facts, tainted=tainted)
            decision = self.policy.decide(facts)
        if facts.traits != tool.traits:
            # Traits may depend on the input (a dry run, a read-only query). Question and approval
            # are about the tool as this call uses it.
            tool = msgspec.structs.replace(tool, traits=facts.traits)
        return Judgement(
            call=call,
            tool=tool,
            values=taken.values,
            facts=facts,
            decision=decision,
            policy=self.policy,
            read=taken.read,
            pinned=pinned,
        )

    async def refusal(self, weighed: Judgement, turn: Turn) -> Failure | None:
        """Return `None` to let the call through, else the refusal; ask a person where the policy
        says so.
        """
        decision = weighed.decision
        # An allow is not judged again: its paths are pinned, so the tool uses the files that were
        # judged, however long the call waits for a slot.
        if decision.verdict == "allow":
            return None
        if not decision.asked:
            return Failure(code=decision.code, message=_words(weighed.tool, decision))
        refusal = await self._approving.refusal(weighed, turn)
        return refusal or self._changed(weighed, turn)

    def _changed(self, weighed: Judgement, turn: Turn) -> Failure | None:
        """Return a failure where a call no longer means what was approved.

        Meanwhile a link may have been turned, a file changed whose diff the person saw, or text of
        others may have entered the turn.
        """
        # Compare facts, not only the decision: an "ask" for another file is still an "ask".
        now = self._weigh(weighed.call, turn, weighed.facts.through)
        if isinstance(now, Failure):
            return now
        is_same = now.facts == weighed.facts and now.shown_files == weighed.shown_files
        if now.decision.asked and is_same:
            return None
        words = f"{weighed.tool.name} did not run: what it means changed after it was approved"
        return Failure(code="approval_mismatch", message=words)


def _words(tool: Tool, decision: Decision) -> str:
    if decision.code == "policy_off":
        return f"{tool.name} did not run: nothing runs without a policy, and none was given"
    return f"{tool.name} did not run: {decision.reason}"
