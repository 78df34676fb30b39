"""A rule: what it decides, and for which calls.

    Rule(decide="allow", tool=("file_*",), path=("notes/**",), because="my notes are mine")

Every condition that is given must hold:

    tool      one of the name patterns fits the tool; for an ask or a deny, also the tool that
              stands for it: a deny of `custom` is one of all that is called through it
    trait     the tool has every one named, and none with a `!` before it: "!open_world".
              A kind counts as a trait: "exec"
    argument  for every name, one of the patterns fits the whole value; other values than text
              as compact JSON. "a.b" is the field b of a. What is not given fits nothing
    path      one of the patterns fits the path that is asked for
    host      one of the patterns fits the host that is asked for. A call that may reach any host
              is allowed by `*` only, and by no rule without hosts; each ask and deny fits it
    tainted   whether the turn is tainted

A doubt never helps a call. With several paths or hosts an *allow* needs all of them to fit, and
at least one to be there; an *ask* or *deny* needs any. One that is unsafe (`None`), or a value
that cannot be read, fits no allow and every ask and deny.

An *allow* for a tool that runs commands (kind exec) reads `argument` more strictly: a wildcard
stands for letters, digits, spaces and `_-./:,=+@` only. `git log*` does not allow
`git log; reboot`. What an option can do it does not know: `git log*` allows
`git log --output=x`. A *deny* by argument stops mistakes, not an attacker, who can write the
same command in many ways: allow what you know instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from callblocks.model.errors import BadPolicy
from callblocks.runtime.policy.arguments import reach, text_of
from callblocks.runtime.policy.facts import ANY_HOST, Facts
from callblocks.runtime.policy.globs import (
    holds_command,
    holds_host,
    holds_path,
    holds_text,
    is_exact,
)
from callblocks.runtime.policy.rule_fault import rule_fault

__all__ = ("Condition", "Patterns", "Rule", "Word")

Word: TypeAlias = Literal["allow", "ask", "deny"]
Condition: TypeAlias = Literal["tool", "trait", "argument", "path", "host", "tainted"]
Patterns: TypeAlias = tuple[str, ...]
_LISTED = ("tool", "trait", "path", "host")
Holds: TypeAlias = Callable[[str, str], bool]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule of a policy; `because` is shown to a person who asks why.

    An invalid rule raises `BadPolicy`, which names the condition.
    """

    decide: Word
    tool: Patterns = ()
    trait: Patterns = ()
    argument: dict[str, Patterns] = {}
    path: Patterns = ()
    host: Patterns = ()
    tainted: bool | None = None
    because: str = ""

    def __post_init__(self) -> None:
        for key in _LISTED:
            if isinstance(getattr(self, key), list):
                msgspec.structs.force_setattr(self, key, tuple(getattr(self, key)))
        fault = rule_fault(msgspec.structs.asdict(self))
        if fault is not None:
            raise BadPolicy(f"{fault.key}: {fault.problem}")
        # Copied, so that a later change of the caller's dict cannot change the rule.
        msgspec.structs.force_setattr(self, "argument", dict(self.argument))

    def matches(self, facts: Facts) -> bool:
        """Return whether every condition holds."""
        return self.failing(facts) is None

    def failing(self, facts: Facts) -> Condition | None:
        """Return the first condition that does not hold, or `None`."""
        for condition, holds in _CONDITIONS:
            if not holds(self, facts):
                return condition
        return None

    def names(self, tool: str) -> bool:
        """Return whether the rule names this tool exactly, not by a wildcard."""
        return is_exact(tool) and tool in self.tool


def _tool_holds(rule: Rule, facts: Facts) -> bool:
    if not rule.tool or _fits(rule.tool, facts.tool, holds_text):
        return True
    # An alias must not widen an allow, but it must not dodge an ask or a deny either.
    through = bool(facts.through) and rule.decide != "allow"
    return through and _fits(rule.tool, facts.through, holds_text)


def _trait_holds(rule: Rule, facts: Facts) -> bool:
    if not rule.trait:
        return True
    held = {*facts.traits.names(), facts.traits.kind}
    return all((name.removeprefix("!") in held) != name.startswith("!") for name in rule.trait)


def _argument_holds(rule: Rule, facts: Facts) -> bool:
    if not rule.argument:
        return True
    # Strict only for an allow: for a deny, the looser match catches more, which is the safe side.
    strict = rule.decide == "allow" and facts.traits.kind == "exec"
    holds = holds_command if strict else holds_text
    return all(
        _fit(rule, patterns, tuple(map(text_of, reach(facts.input, name))), holds)
        for name, patterns in rule.argument.items()
    )


def _path_holds(rule: Rule, facts: Facts) -> bool:
    return not rule.path or _fit(rule, rule.path, facts.paths, holds_path)


def _host_holds(rule: Rule, facts: Facts) -> bool:
    # A call that may reach any host is matched by every ask and deny, and by an allow only if that
    # lists hosts (then `*` must be among them, by `_fit` below).
    if ANY_HOST in facts.hosts and (rule.decide != "allow" or not rule.host):
        return rule.decide != "allow"
    return not rule.host or _fit(rule, rule.host, facts.hosts, holds_host)


def _tainted_holds(rule: Rule, facts: Facts) -> bool:
    return rule.tainted is None or rule.tainted == bool(facts.tainted)


def _fit(rule: Rule, patterns: Patterns, texts: tuple[str | None, ...], holds: Holds) -> bool:
    """Return whether texts match: all of them, and at least one, for an allow; any for an ask or a
    deny.
    """
    # The asymmetry that makes doubts harmless: an allow needs every value to fit and at least one
    # value; an ask or a deny needs a single hit, and an unreadable value counts as a hit.
    if rule.decide == "allow":
        return bool(texts) and all(
            text is not None and _fits(patterns, text, holds) for text in texts
        )
    return any(text is None or _fits(patterns, text, holds) for text in texts)


def _fits(patterns: Patterns, text: str, holds: Holds) -> bool:
    return any(holds(pattern, text) for pattern in patterns)


_CONDITIONS: tuple[tuple[Condition, Callable[[Rule, Facts], bool]], ...] = (
    ("tool", _tool_holds),
    ("trait", _trait_holds),
    ("argument", _argument_holds),
    ("path", _path_holds),
    ("host", _host_holds),
    ("tainted", _tainted_holds),
)
