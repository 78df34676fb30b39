"""The one door between a call and its tool: what does not pass here does not run.

    known?  ended?  runnable?  input fits?  meant?  policy: allow | ask | deny  →  approval

Every step that cannot say yes says no, with a code and words that model and person understand. A
call that stands for another is judged, shown and run as that other one, and an input that was not
taken as it was given is judged and shown as it was taken.
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

Resolve: TypeAlias = Callable[[str], str | None]
"""The real path below the workspace, or `None` for one that leaves it."""


class Gate:
    """Decides by a policy, and by what a person approved."""

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
        """What the policy says of a call; nobody is asked and nothing is used up."""
        return self._weigh(call, turn, "")

    def _weigh(self, call: Call, turn: Turn, through: str) -> Weighed | Failure:
        taken = take_call(call, self.registry, through)
        if isinstance(taken, Failure):
            return taken
        return self._judge(taken, turn)

    def _judge(self, taken: TakenCall, turn: Turn) -> Weighed:
        call, tool = taken.call, taken.tool
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
            if carried := carried_taints(self._origins, tool, facts):
                tainted = tuple(dict.fromkeys((*facts.tainted, *carried)))
                facts = msgspec.structs.replace(facts, tainted=tainted)
        if facts.traits != tool.traits:
            # Who is asked, and what is approved, is about a tool that does what this call does.
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
        """`None` lets the call through; a person is asked where the policy says so."""
        decision = weighed.decision
        if decision.verdict == "allow":
            return None
        if not decision.asked:
            return Failure(code=decision.code, message=_words(weighed.tool, decision))
        refusal = await self._approving.refusal(weighed, turn)
        return refusal or self._changed(weighed, turn)

    def _changed(self, weighed: Weighed, turn: Turn) -> Failure | None:
        """Return a failure where a call no longer means what was approved.

        Meanwhile a link may have been turned, a file changed that the person saw the change of, or
        text of others may have come into the turn.
        """
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
