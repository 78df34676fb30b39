"""Findings about a policy, before it decides anything.

error     the rule can never decide a call, or contradicts itself
warning   it allows more than it seems to, or names what is not there
note      worth knowing
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeAlias

import msgspec

from callblocks.core.globs import holds_host, holds_path, holds_text, is_exact
from callblocks.core.redaction import redact_start
from callblocks.policy.policy import Policy
from callblocks.policy.rules import (
    ANY_HOST,
    Condition,
    Facts,
    Patterns,
    Rule,
    conditions,
    hint,
    reach,
    reaching_out,
    text_of,
)
from callblocks.tools.tool import KINDS, PATHS, URLS, Tool

__all__ = (
    "FINDINGS",
    "Finding",
    "Severity",
    "covers",
    "explain",
    "findings",
    "takes_all",
)

# --- Subsumption of rules: does an earlier rule match every call that a later one could match? ---
#
# The answer is conservative: yes only where that is certain. General inclusion of glob patterns is
# hard, so of two patterns with wildcards only the simple shapes are compared. A rule that is
# reported as unreachable therefore really is.

Covers: TypeAlias = Callable[[str, str], bool]


def covers(early: Rule, late: Rule, *, reaching: bool = False) -> bool:
    """Return whether every call that matches the later rule matches the earlier one.

    With `reaching`, some of these calls may reach any host: most allow rules do not match those.
    """
    if reaching and not _takes_reaching(early) and _takes_reaching(late):
        return False
    return (
        ("*" in early.tool or _cover(early.tool, late.tool, _name_covers))
        and set(early.trait) <= set(late.trait)
        and all(_argument_covers(early, late, name) for name in early.argument)
        and _places_cover(early, late)
        and early.tainted in (None, late.tainted)
    )


def takes_all(rule: Rule) -> bool:
    """Return whether the rule matches every call, apart from those that may reach any host."""
    return covers(rule, Rule(decide="deny"))


def _takes_reaching(rule: Rule) -> bool:
    """Return whether the rule may match a call that may reach any host."""
    return rule.decide != "allow" or ANY_HOST in rule.host


def _argument_covers(early: Rule, late: Rule, name: str) -> bool:
    patterns = late.argument.get(name, ())
    if early.decide != "allow":
        return _cover(early.argument[name], patterns, _name_covers)
    # An allow matches commands strictly (`holds_command`), so only the same pattern surely matches
    # the same calls.
    same = bool(patterns) and set(patterns) <= set(early.argument[name])
    return same and late.decide == "allow"


def _places_cover(early: Rule, late: Rule) -> bool:
    if not early.path and not early.host:
        return True
    # An allow needs all paths to fit, an ask or deny needs one. The second does not imply the
    # first.
    if early.decide == "allow" and late.decide != "allow":
        return False
    paths_cover = _cover(early.path, late.path, _path_covers)
    # `holds_host` also compares two patterns: `*.a.org` covers `*.b.a.org`.
    return paths_cover and _cover(early.host, late.host, holds_host)


def _cover(early: Patterns, late: Patterns, one_covers: Covers) -> bool:
    """Return whether each of the later patterns is covered; an empty list means everything."""
    if not early:
        return True
    return bool(late) and all(any(one_covers(wide, narrow) for wide in early) for narrow in late)


def _name_covers(wide: str, narrow: str) -> bool:
    if is_exact(narrow):
        return holds_text(wide, narrow)
    # Only `prefix*` is compared with other patterns; any other shape counts as not covering.
    start = wide.removesuffix("*")
    return wide == narrow or (start != wide and is_exact(start) and narrow.startswith(start))


def _path_covers(wide: str, narrow: str) -> bool:
    if is_exact(narrow):
        return holds_path(wide, narrow)
    start = wide.removesuffix("**")
    return wide == narrow or (start != wide and is_exact(start) and narrow.startswith(start))


# --- Findings about a policy, before it decides anything ---

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


# --- Explanations of a decision, line by line ---
#
# rule 1 (allow: notes are mine) does not match: path "secrets/key" does not fit "notes/**"
# rule 2 (deny: keys stay where they are) matches: path secrets/**
# deny (policy_denied): rule 2 of the policy denies: keys stay where they are

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
