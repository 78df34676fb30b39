"""A call that was let through to one host is judged again where a server sends it on."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from callblocks.runtime.policy.facts import Facts
from callblocks.runtime.policy.hosts import host_of
from callblocks.runtime.policy.policy import Policy

__all__ = ("redirect_refusal",)


def redirect_refusal(policy: Policy, facts: Facts, url: str) -> str | None:
    """Why a call does not go on to this URL; `None` where the policy allows that outright.

    All else about the call counts as it did. Nobody is asked in the middle of a call: what would
    be asked is refused, but for another page of the host that the person was asked about.
    """
    led = msgspec.structs.replace(
        facts,
        hosts=(host_of(url),),
        input={name: _led(value, facts, url) for name, value in facts.input.items()},
        person=False,
    )
    decision = policy.decide(led)
    if decision.verdict == "allow" or (decision.asked and _was_asked(policy, facts, url)):
        return None
    return f"{url} was not followed: {decision.reason}"


def _was_asked(policy: Policy, facts: Facts, url: str) -> bool:
    """Whether a person was asked about the host of this URL before the call ran."""
    return policy.decide(facts).asked and host_of(url) in {*facts.hosts} - {None}


def _led(value: Any, facts: Facts, url: str) -> Any:
    """The argument that was the URL is the new one, and so is each of a list of them."""
    if isinstance(value, list):
        return [_led(item, facts, url) for item in cast("list[Any]", value)]
    return url if isinstance(value, str) and host_of(value) in {*facts.hosts} - {None} else value
