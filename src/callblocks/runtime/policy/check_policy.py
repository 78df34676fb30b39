"""Findings about a policy, before it decides anything.

error     the rule can never decide a call, or contradicts itself
warning   it allows more than it seems to, or names what is not there
note      worth knowing
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

import msgspec

from callblocks.runtime.policy.covers import covers, takes_all
from callblocks.runtime.policy.facts import PATHS, URLS, Facts, reaching_out
from callblocks.runtime.policy.globs import holds_text
from callblocks.runtime.policy.policy import Policy
from callblocks.runtime.policy.rule_fault import hint
from callblocks.runtime.policy.rules import Rule
from callblocks.tools.tool import Tool
from callblocks.tools.traits import KINDS

__all__ = ("FINDINGS", "Finding", "Severity", "findings")

Severity: TypeAlias = Literal["error", "warning", "note"]
Told: TypeAlias = Iterator[tuple[str, str]]

# The code of each finding, its severity, and its meaning.
FINDINGS: dict[str, tuple[Severity, str]] = {
    "policy_off": ("note", "the policy is off: nothing runs"),
    "no_rules": ("note", "no rule: every call is asked"),
    "never_reached": ("error", "an earlier rule takes every call that this one could"),
    "contradiction": ("error", "no tool has all these traits"),
    "unknown_tool": ("warning", "no tool has such a name"),
    "no_tool": ("warning", "no tool has such a name and such traits"),
    "unknown_argument": ("warning", "no tool that the rule is for has this argument"),
    "no_path": ("warning", "no tool that the rule is for takes a path"),
    "no_host": ("warning", "no tool that the rule is for takes a URL"),
    "allows_everything": ("warning", "every call is allowed that no earlier rule takes"),
    "free_commands": ("warning", "any command may run"),
    "allows_tainted": ("warning", "text of others may make the model do this"),
    "commands_see_all": ("note", "commands are not held to it: they see the whole workspace"),
    "deny_by_argument": ("note", "the same can be written in many ways"),
    "allow_without_asking": ("note", "the tool needs approval, and the rule allows it by name"),
}


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One finding; `rule` is the number of the rule, 0 for the policy as a whole."""

    code: str
    severity: Severity
    rule: int
    message: str


def findings(policy: Policy, tools: Iterable[Tool] = ()) -> tuple[Finding, ...]:
    """Return all findings in the order of the rules; names are checked where tools are given."""
    known = tuple(tools)
    found = [_finding(code, 0, "") for code in _of_all(policy)]
    for number, rule in enumerate(policy.rules, 1):
        # The first match decides, so only earlier rules can make a rule unreachable.
        ahead = policy.rules[: number - 1]
        reaching = any(_may_reach(tool) and _is_for(rule, tool) for tool in known)
        never = _never(rule, ahead, reaching)
        told = [*never, *_alone(rule), *(_among(rule, known) if known else ())]
        found += [_finding(code, number, words) for code, words in told]
    return tuple(found)


def _finding(code: str, number: int, words: str) -> Finding:
    severity, meaning = FINDINGS[code]
    message = f"{meaning}: {words}" if words else meaning
    return Finding(code=code, severity=severity, rule=number, message=message)


def _of_all(policy: Policy) -> Iterator[str]:
    if not policy.enabled:
        yield "policy_off"
    elif not policy.rules:
        yield "no_rules"


def _never(rule: Rule, ahead: tuple[Rule, ...], reaching: bool) -> Told:
    """Yield reasons why no call can reach this rule and match."""
    numbered = enumerate(ahead, 1)
    shadow = next((at for at, early in numbered if covers(early, rule, reaching=reaching)), 0)
    if shadow:
        yield "never_reached", f"rule {shadow}"
    kinds = {name for name in rule.trait if name in KINDS}
    if len(kinds) > 1 or any(f"!{name}" in rule.trait for name in rule.trait):
        yield "contradiction", ", ".join(rule.trait)


def _alone(rule: Rule) -> Told:
    """Yield findings about the rule itself, whatever tools there are."""
    if rule.decide == "deny" and rule.argument:
        yield "deny_by_argument", ", ".join(rule.argument)
    if rule.decide != "allow":
        if rule.path and not rule.tool:
            yield "commands_see_all", ", ".join(rule.path)
        return
    if takes_all(rule):
        yield "allows_everything", ""
    if rule.tainted:
        yield "allows_tainted", ""
    if "exec" in rule.trait and _free(rule):
        yield "free_commands", ""


def _free(rule: Rule) -> bool:
    """Return whether no argument is restricted."""
    return all("*" in patterns for patterns in rule.argument.values())


def _among(rule: Rule, tools: tuple[Tool, ...]) -> Told:
    """Yield findings about the rule for the given tools."""
    names = [tool.name for tool in tools]
    unknown = [one for one in rule.tool if not any(holds_text(one, name) for name in names)]
    for pattern in unknown:
        yield "unknown_tool", f'"{pattern}"{hint(pattern, names)}'
    meant = [tool for tool in tools if _is_for(rule, tool)]
    if meant:
        yield from _idle(rule, meant)
        yield from _loose(rule, meant)
    elif not unknown:
        yield "no_tool", ""


def _is_for(rule: Rule, tool: Tool) -> bool:
    probe = Rule(decide="deny", tool=rule.tool, trait=rule.trait)
    ways = (tool.traits, reaching_out(tool.traits)) if _may_reach(tool) else (tool.traits,)
    return any(probe.matches(Facts(tool=tool.name, traits=traits)) for traits in ways)


def _may_reach(tool: Tool) -> bool:
    """Return whether a call of the tool may reach any host."""
    return tool.reaches_any_host is not None


def _idle(rule: Rule, meant: list[Tool]) -> Told:
    """Yield conditions that none of the tools can fulfil."""
    for name in rule.argument:
        if not any({name, name.partition(".")[0]} & {*tool.spec.properties} for tool in meant):
            yield "unknown_argument", name
    if rule.path and not any(tool.parameters_of_format(*PATHS) for tool in meant):
        yield "no_path", ", ".join(rule.path)
    if rule.host and not any(_may_reach(one) or one.parameters_of_format(*URLS) for one in meant):
        yield "no_host", ", ".join(rule.host)


def _loose(rule: Rule, meant: list[Tool]) -> Told:
    """Yield tools to which an allow gives much power."""
    if rule.decide != "allow":
        return
    free = [tool.name for tool in meant if tool.traits.kind == "exec" and _free(rule)]
    if free and "exec" not in rule.trait:
        yield "free_commands", ", ".join(free)
    unasked = [tool.name for tool in meant if tool.needs_approval and rule.names(tool.name)]
    if unasked:
        yield "allow_without_asking", ", ".join(unasked)
