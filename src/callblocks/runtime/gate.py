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

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from callblocks.model.calls import Call
from callblocks.model.outcomes import Failure
from callblocks.runtime.approving import Approving
from callblocks.runtime.files.pins import CallFiles, in_call
from callblocks.runtime.origins.origins import Origins
from callblocks.runtime.origins.tracking import carried_taints
from callblocks.runtime.policy.facts import gather
from callblocks.runtime.policy.policy import Decision, Policy
from callblocks.runtime.taken_call import TakenCall, take_call
from callblocks.runtime.turn import Turn
from callblocks.runtime.weighed import Weighed
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool

__all__ = ("Gate", "Resolve")

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

    def weigh(self, call: Call, turn: Turn) -> Weighed | Failure:
        """Judge a call by the policy; nobody is asked and no approval is used up."""
        return self._weigh(call, turn, "")

    def _weigh(self, call: Call, turn: Turn, through: str) -> Weighed | Failure:
        taken = take_call(call, self.registry, through)
        if isinstance(taken, Failure):
            return taken
        return self._judge(taken, turn)

    def _judge(self, taken: TakenCall, turn: Turn) -> Weighed:
        call, tool = taken.call, taken.tool
        # Every path that is resolved in this block becomes a pin, also those that the policy looks
        # at.
        with in_call(CallFiles()) as pinned:
            facts = gather(
                tool,
                call.input,
                resolve=self._resolve,
                tainted=turn.tainted,
                person=self._approving.person,
                through=taken.through,
                reached=self.policy.looks_at_paths,
            )
            # A call that sends data out also carries the taint of the files that it would send.
            if carried := carried_taints(self._origins, tool, facts):
                tainted = tuple(dict.fromkeys((*facts.tainted, *carried)))
                facts = msgspec.structs.replace(facts, tainted=tainted)
        if facts.traits != tool.traits:
            # Traits may depend on the input (a dry run, a read-only query). Question and approval
            # are about the tool as this call uses it.
            tool = msgspec.structs.replace(tool, traits=facts.traits)
        return Weighed(
            call=call,
            tool=tool,
            values=taken.values,
            facts=facts,
            decision=self.policy.decide(facts),
            policy=self.policy,
            read=taken.read,
            pinned=pinned,
        )

    async def refusal(self, weighed: Weighed, turn: Turn) -> Failure | None:
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

    def _changed(self, weighed: Weighed, turn: Turn) -> Failure | None:
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
