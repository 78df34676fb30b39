"""Paths that a call meets while it runs, such as the files that a search finds.

Each is judged as the call itself would be with that path. Showing a passage of a file is reading
it: a rule that denies `file_read` on a path, or asks first, also keeps every such call from it.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from callblocks.runtime.policy.facts import Facts
from callblocks.runtime.policy.policy import Decision, Policy
from callblocks.tools.traits import Traits

__all__ = ("is_denied", "path_refusal")

_READ = "file_read"
_READS = Traits(read_only=True, destructive=False, idempotent=True)


def path_refusal(policy: Policy, facts: Facts, path: str) -> str | None:
    """Return why a call must not read the file at this path; `None` where it may.

    Nobody is asked in the middle of a call: an "ask" is a refusal, unless the call as a whole was
    asked about.
    """
    # A person who approved the call as a whole also approved that it reads what it finds.
    was_asked = policy.decide(facts).asked
    for decision in _decisions(policy, facts, path):
        if decision.verdict != "allow" and not (decision.asked and was_asked):
            return f"{path} was not read: {decision.reason}"
    return None


def is_denied(policy: Policy, facts: Facts, path: str) -> bool:
    """Return whether a rule denies this path to the call or to `file_read`; its name is then
    hidden.

    A path with an "ask" is listed: a model must be able to name it in order to ask for it.
    """
    return any(not one.asked and one.code for one in _decisions(policy, facts, path))


def _decisions(policy: Policy, facts: Facts, path: str) -> Iterator[Decision]:
    """Yield the decisions about the call with this path and, by path rules, about reading it."""
    yield policy.decide(msgspec.structs.replace(facts, paths=(path,), person=False))
    of_reading = policy.decide(
        Facts(tool=_READ, traits=_READS, input={"path": path}, paths=(path,), tainted=facts.tainted)
    )
    if of_reading.rule is not None and of_reading.rule.path:
        yield of_reading
