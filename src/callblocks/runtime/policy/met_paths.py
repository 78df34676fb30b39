"""A call that was let through with one path may meet others: the files that a search finds.

Each is judged as the call itself would be with that path. To show a passage of a file is to read
it: a rule that keeps `file_read` from a path, or asks before, keeps every such call from it.
"""

from __future__ import annotations

import msgspec

from callblocks.runtime.policy.facts import Facts
from callblocks.runtime.policy.policy import Policy
from callblocks.tools.traits import Traits

__all__ = ("path_refusal",)

_READ = "file_read"
_READS = Traits(read_only=True, destructive=False, idempotent=True)


def path_refusal(policy: Policy, facts: Facts, path: str) -> str | None:
    """Why a call does not read the file at this path; `None` where it may.

    Nobody is asked in the middle of a call: what would be asked is refused, unless the call as a
    whole was asked about.
    """
    met = msgspec.structs.replace(facts, paths=(path,), person=False)
    read = Facts(
        tool=_READ, traits=_READS, input={"path": path}, paths=(path,), tainted=facts.tainted
    )
    judged, of_reading = [policy.decide(met)], policy.decide(read)
    if of_reading.rule is not None and of_reading.rule.path:
        judged.append(of_reading)
    was_asked = policy.decide(facts).asked
    for decision in judged:
        if decision.verdict != "allow" and not (decision.asked and was_asked):
            return f"{path} was not read: {decision.reason}"
    return None
