"""A policy that was asked about one host is asked again where a server sends the call on."""

from __future__ import annotations

from callblocks.runtime.policy.facts import gather
from callblocks.runtime.policy.policy import Policy
from callblocks.tools.tool import Tool

__all__ = ("redirect_refusal",)


def redirect_refusal(policy: Policy, tool: Tool, url: str) -> str | None:
    """Why a call of this tool does not follow to this URL; `None` where the policy allows it.

    Nobody is asked in the middle of a call: what is not allowed outright is refused.
    """
    facts = gather(tool, {"url": url}, resolve=lambda path: None)
    decision = policy.decide(facts)
    return None if decision.verdict == "allow" else f"{url} was not followed: {decision.reason}"
