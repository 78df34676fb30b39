"""Descriptions of a rule: its decision, and its conditions.

rule 2 of the policy asks
tool file_*; path notes/**
"""

from __future__ import annotations

from callblocks.runtime.policy.rules import Rule

__all__ = ("conditions", "said_by")

_VERBS = {"allow": "allows", "ask": "asks", "deny": "denies"}


def said_by(rule: Rule, number: int) -> str:
    """Return the decision of a rule in words: "rule 2 of the policy asks"."""
    return f"rule {number} of the policy {_VERBS[rule.decide]}"


def conditions(rule: Rule) -> str:
    """Return the conditions of the rule; "" for a rule that always matches."""
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
