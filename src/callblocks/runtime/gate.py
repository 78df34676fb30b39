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

from callblocks.model.brief import brief
from callblocks.model.calls import Call
from callblocks.model.outcomes import Failure
from callblocks.runtime.approving import Approving
from callblocks.runtime.by_place import quoting_hint, unbound
from callblocks.runtime.policy.facts import gather
from callblocks.runtime.policy.policy import Decision, Policy
from callblocks.runtime.turn import Turn
from callblocks.runtime.weighed import Weighed
from callblocks.tools.check import faults_text
from callblocks.tools.names import close_to, listed
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Checked, Tool

__all__ = ("Gate", "Resolve")

_UNABLE = "{name} is only described here, and nothing can run it; use another tool"

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
    ) -> None:
        self.registry = registry
        self.policy = policy
        self._approving = approving
        self._resolve: Resolve = resolve or (lambda path: None)

    def weigh(self, call: Call, turn: Turn) -> Weighed | Failure:
        """What the policy says of a call; nobody is asked and nothing is used up."""
        return self._weigh(call, turn, "")

    def _weigh(self, call: Call, turn: Turn, through: str) -> Weighed | Failure:
        tool = self.registry.get(call.name)
        if tool is None:
            return _unknown(call.name, self.registry.names)
        checked = _checked(call, tool)
        if isinstance(checked, Failure):
            return checked
        if checked.input is not None:
            call = msgspec.structs.replace(call, input=checked.input)
        if tool.stands_for is not None:
            return self._weigh_meant(call, tool, checked, turn, through)
        try:
            return self._judge(call, tool, checked, turn, through)
        except RecursionError:  # a check of a caller's own may have let it pass
            return Failure(code="invalid_input", message=f"{tool.name}: nested too deep")

    def _weigh_meant(
        self, call: Call, tool: Tool, checked: Checked, turn: Turn, through: str
    ) -> Weighed | Failure:
        """Weigh the call that one stands for; that must be a tool by itself."""
        assert tool.stands_for is not None
        if through:
            words = f"{tool.name} is no tool by itself; name the tool that you mean"
            return Failure(code="invalid_input", message=words, details={"name": words})
        name, given = tool.stands_for(checked.values)
        meant = msgspec.structs.replace(call, name=name, input=given)
        return self._weigh(meant, turn, tool.name)

    def _judge(self, call: Call, tool: Tool, checked: Checked, turn: Turn, through: str) -> Weighed:
        facts = gather(
            tool,
            call.input,
            resolve=self._resolve,
            tainted=turn.tainted,
            person=self._approving.person,
            through=through,
            reached=self.policy.looks_at_paths,
        )
        if facts.traits != tool.traits:
            # Who is asked, and what is approved, is about a tool that does what this call does.
            tool = msgspec.structs.replace(tool, traits=facts.traits)
        return Weighed(
            call=call,
            tool=tool,
            values=checked.values,
            facts=facts,
            decision=self.policy.decide(facts),
            policy=self.policy,
            read=checked.input is not None,
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
        """What was approved must still be what is meant.

        Meanwhile a link may have been turned, or text of others may have come into the turn.
        """
        now = self._weigh(weighed.call, turn, weighed.facts.through)
        if isinstance(now, Failure):
            return now
        if now.decision.asked and now.facts == weighed.facts:
            return None
        words = f"{weighed.tool.name} did not run: what it means changed after it was approved"
        return Failure(code="approval_mismatch", message=words)


def _words(tool: Tool, decision: Decision) -> str:
    if decision.code == "policy_off":
        return f"{tool.name} did not run: nothing runs without a policy, and none was given"
    return f"{tool.name} did not run: {decision.reason}"


def _checked(call: Call, tool: Tool) -> Checked | Failure:
    """The input as the tool takes it, or why this call can never run."""
    if not call.ended:
        words = f"the text ended inside this call of {tool.name}; write the whole call again"
        return Failure(code="unended_call", message=words)
    if tool.function is None:
        return Failure(code="not_runnable", message=_UNABLE.format(name=tool.name))
    checked = tool.check(call.input)
    if not checked.faults:
        return checked
    if words := unbound(call, tool.spec):
        return Failure(code="invalid_input", message=f"{tool.name}: {words}")
    hint = quoting_hint(call, tool.spec, checked.faults)
    return Failure(
        code="invalid_input",
        message="\n".join(filter(None, (f"{tool.name}: {faults_text(checked.faults)}", hint))),
        details={fault.field: fault.problem for fault in checked.faults},
    )


def _unknown(name: str, known: tuple[str, ...]) -> Failure:
    close = close_to(name, known)
    if close:
        hint = f"did you mean {close}?"
    else:
        hint = f"there are: {listed(known)}" if known else "there are none"
    return Failure(code="unknown_tool", message=f"no tool is called {brief(name)}; {hint}")
