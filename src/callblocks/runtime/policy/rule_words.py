"""A rule in words: what it says to a call, and when it holds.

rule 2 of the policy asks
tool file_*; path notes/**
"""

from __future__ import annotations

from callblocks.runtime.policy.rules import Rule

__all__ = ("conditions", "said_by")

_VERBS = {"allow": "allows", "ask": "asks", "deny": "denies"}


def said_by(rule: Rule, number: int) -> str:
    """What a rule says to a call: "rule 2 of the policy asks"; a person reads who it is."""
    return f"rule {number} of the policy {_VERBS[rule.decide]}"


def conditions(rule: Rule) -> str:
    """When the rule holds; "" for one that always does."""
    said = [
        f"{name} {', '.join(patterns)}"
        for name, patterns in (
            ("tool", rule.tool),
            ("trait", rule.trait),
            *rule.argument.items(),
            ("path", rule.path),
            ("host", rule.host),
        )
        if patterns
    ]
    if rule.tainted is not None:
        said.append("tainted" if rule.tainted else "not tainted")
    return "; ".join(said)
