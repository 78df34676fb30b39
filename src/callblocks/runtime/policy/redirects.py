"""Redirects: a call that was let through to one host is judged again for each new URL."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from callblocks.runtime.policy.facts import Facts
from callblocks.runtime.policy.hosts import host_of
from callblocks.runtime.policy.policy import Policy

__all__ = ("redirect_refusal",)


def redirect_refusal(policy: Policy, facts: Facts, url: str) -> str | None:
    """Return why a call must not follow a redirect to this URL; `None` where the policy allows it.

    Everything else about the call counts as before. Nobody is asked in the middle of a call: an
    "ask" is a refusal, except for another page of the host that the person was asked about.
    """
    # The new URL also replaces the old one in the arguments, because rules match those as well.
    led = msgspec.structs.replace(
        facts,
        hosts=(host_of(url),),
        input={name: _led(value, facts, url) for name, value in facts.input.items()},
        person=False,
    )
    # The whole policy is asked again, with the new host: an allow for one host is no allow for
    # another.
    decision = policy.decide(led)
    if decision.verdict == "allow" or (decision.asked and _was_asked(policy, facts, url)):
        return None
    return f"{url} was not followed: {decision.reason}"


def _was_asked(policy: Policy, facts: Facts, url: str) -> bool:
    """Return whether a person was asked about the host of this URL before the call ran."""
    return policy.decide(facts).asked and host_of(url) in {*facts.hosts} - {None}


def _led(value: Any, facts: Facts, url: str) -> Any:
    """Replace an argument that is one of the URLs of the call, also in lists."""
    if isinstance(value, list):
        return [_led(item, facts, url) for item in cast("list[Any]", value)]
    return url if isinstance(value, str) and host_of(value) in {*facts.hosts} - {None} else value
