"""Explanations of a decision, line by line.

rule 1 (allow: notes are mine) does not match: path "secrets/key" does not fit "notes/**"
rule 2 (deny: keys stay where they are) matches: path secrets/**
deny (policy_denied): rule 2 of the policy denies: keys stay where they are
"""

from __future__ import annotations

from collections.abc import Callable

from callblocks.model.redaction import redact_start
from callblocks.runtime.policy.arguments import reach, text_of
from callblocks.runtime.policy.facts import ANY_HOST, Facts
from callblocks.runtime.policy.policy import Policy
from callblocks.runtime.policy.rule_words import conditions
from callblocks.runtime.policy.rules import Condition, Patterns, Rule

__all__ = ("explain",)

_LONGEST = 60


def explain(policy: Policy, facts: Facts) -> list[str]:
    """Return a line for each rule that was tried, and one for the decision; secrets are
    left out.
    """
    decision = policy.decide(facts)
    looked_at = policy.rules[: decision.number or None] if policy.enabled else ()
    lines = [_line(rule, number, facts) for number, rule in enumerate(looked_at, 1)]
    verdict = f"{decision.verdict} ({decision.code})" if decision.code else decision.verdict
    return [*lines, f"{verdict}: {decision.reason}"]


def _line(rule: Rule, number: int, facts: Facts) -> str:
    condition = rule.failing(facts)
    why = rule.because.strip().partition("\n")[0]
    named = f"rule {number} ({rule.decide}{_start(f': {why}') if why else ''})"
    if condition is None:
        return f"{named} matches: {_start(conditions(rule) or 'every call')}"
    return f"{named} does not match: {_WORDS[condition](rule, facts)}"


def _tool(rule: Rule, facts: Facts) -> str:
    return f"tool {_unlike((facts.tool,), rule.tool)}"


def _trait(rule: Rule, facts: Facts) -> str:
    held = ", ".join(facts.traits.names()) or "none"
    return f"the traits of {facts.tool} are {held}, and not {', '.join(rule.trait)}"


def _argument(rule: Rule, facts: Facts) -> str:
    name, patterns = next(
        (name, patterns)
        for name, patterns in rule.argument.items()
        if not Rule(decide=rule.decide, argument={name: patterns}).matches(facts)
    )
    given = tuple(text_of(value) for value in reach(facts.input, name))
    strict = rule.decide == "allow" and facts.traits.kind == "exec"
    hint = "; in a command a wildcard stands for plain text only" if given and strict else ""
    return f"argument {name} {_unlike(given, patterns)}{hint}"


def _path(rule: Rule, facts: Facts) -> str:
    return f"path {_unlike(facts.paths, rule.path)}"


def _host(rule: Rule, facts: Facts) -> str:
    if ANY_HOST in facts.hosts:
        return 'the call may reach any host, and only host = "*" allows that'
    return f"host {_unlike(facts.hosts, rule.host)}"


def _tainted(rule: Rule, facts: Facts) -> str:
    return "the turn is not tainted" if rule.tainted else "the turn is tainted"


_WORDS: dict[Condition, Callable[[Rule, Facts], str]] = {
    "tool": _tool,
    "trait": _trait,
    "argument": _argument,
    "path": _path,
    "host": _host,
    "tainted": _tainted,
}


def _unlike(texts: tuple[str | None, ...], patterns: Patterns) -> str:
    if not texts:
        return "is not given"
    said = ", ".join(_said(text) for text in texts)
    return f"{said} does not fit {' or '.join(_said(pattern) for pattern in patterns)}"


def _said(text: str | None) -> str:
    if text is None:
        return "that is unsafe or unreadable"
    return f'"{_start(text)}"'


def _start(text: str) -> str:
    shown = redact_start(text, _LONGEST)
    return f"{shown[:_LONGEST]}…" if len(shown) > _LONGEST else shown
