"""The decision about a call: allow, ask or deny.

    Policy()                   off: nothing runs
    Policy.ask_all()           every call is asked
    Policy((rule, rule, …))    the first rule that matches decides

A call that no rule matches is asked where a person is present, and refused otherwise. Two things
turn an *allow* into an *ask*:

- The tool needs approval, and the rule does not name it: `tool = "mail_send"` names it, `tool =
  "mail_*"` and a rule without `tool` do not.
- The turn is tainted, and the tool destroys, reaches out or runs commands. Only a rule with
  `tainted = true` allows that. The output of a sandboxed command taints only calls that can send
  data out.
"""

from __future__ import annotations

import hashlib
import os
from typing import Literal, TypeAlias

import msgspec

from callblocks.model.brief import brief
from callblocks.model.errors import BadPolicy
from callblocks.runtime.policy.facts import ANY_HOST, Facts
from callblocks.runtime.policy.rule_words import said_by
from callblocks.runtime.policy.rules import Rule
from callblocks.tools.traits import Traits

__all__ = ("Decision", "Policy", "Verdict")

_ALLOW_TAINTED = "a rule with `tainted = true` in a policy file allows it all the same"

Verdict: TypeAlias = Literal["allow", "ask", "deny"]


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The decision of a policy on a call, with the reason.

    `code` is that of the failure where the call does not run now; "" for an allow. `asked` is true
    where a person decides: also with verdict "deny" because nobody is present, so that an approval
    given earlier may still count. `number` is the number of the rule, from 1. `way_out` says how to
    allow a call that a rule allows and a taint stops.
    """

    verdict: Verdict
    code: str = ""
    rule: Rule | None = None
    number: int = 0
    reason: str = ""
    asked: bool = False
    way_out: str = ""


class Policy(msgspec.Struct, frozen=True):
    """Rules in order. `autoexec` false switches the policy off; by default it is on if it has
    rules.
    """

    rules: tuple[Rule, ...] = ()
    name: str = ""
    autoexec: bool | None = None

    def __post_init__(self) -> None:
        for number, rule in enumerate(self.rules, 1):
            if not isinstance(rule, Rule):  # pyright: ignore[reportUnnecessaryIsInstance] callers err
                raise BadPolicy(f"rule {number}: {brief(rule)} is no Rule")
        msgspec.structs.force_setattr(self, "rules", tuple(self.rules))
        if self.autoexec is None:
            msgspec.structs.force_setattr(self, "autoexec", bool(self.rules))

    @classmethod
    def off(cls) -> Policy:
        """Return a policy under which nothing runs."""
        return cls()

    @classmethod
    def ask_all(cls) -> Policy:
        """Return a policy under which a person decides on every call."""
        return cls(autoexec=True)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Policy:
        """Read a policy from a TOML file; raise `BadPolicy` for an invalid one."""
        from callblocks.runtime.policy.policy_file import read_policy

        return read_policy(path)

    @property
    def enabled(self) -> bool:
        """Return whether any call may run at all."""
        return self.autoexec is True

    @property
    def looks_at_paths(self) -> bool:
        """Return whether any rule has a path condition."""
        return any(rule.path for rule in self.rules)

    @property
    def digest(self) -> str:
        """Return a digest of everything that decides, without the explanations: 64 hex digits."""
        # The explanations are left out, so that correcting a word does not void every approval.
        rules = [{**msgspec.to_builtins(rule), "because": ""} for rule in self.rules]
        form = msgspec.json.encode([self.enabled, rules], order="deterministic")
        return hashlib.sha256(b"callblocks policy 1\n" + form).hexdigest()

    def decide(self, facts: Facts) -> Decision:
        """Decide on a call; never raises."""
        if not self.enabled:
            return Decision(verdict="deny", code="policy_off", reason="the policy is off")
        for number, rule in enumerate(self.rules, 1):
            if rule.matches(facts):
                return _decided(rule, number, facts)
        return _ask(facts, None, 0, f"no rule names this call{_aside(None, facts)}")


def _decided(rule: Rule, number: int, facts: Facts) -> Decision:
    said = said_by(rule, number)
    reason = (f"{said}: {rule.because}" if rule.because else said) + _aside(rule, facts)
    if rule.decide == "deny":
        return Decision(
            verdict="deny", code="policy_denied", rule=rule, number=number, reason=reason
        )
    if rule.decide == "ask":
        return _ask(facts, rule, number, reason)
    # Only an allow can be in doubt: an ask already asks, and a deny already denies.
    doubt = _doubt(rule, facts)
    if doubt:
        asked = _ask(facts, rule, number, f"{said}, but {doubt}{_aside(rule, facts)}")
        way_out = _ALLOW_TAINTED if _is_tainted(rule, facts) else ""
        return msgspec.structs.replace(asked, way_out=way_out)
    return Decision(verdict="allow", rule=rule, number=number, reason=reason)


def _ask(facts: Facts, rule: Rule | None, number: int, reason: str) -> Decision:
    return Decision(
        verdict="ask" if facts.person else "deny",
        code="approval_required",
        rule=rule,
        number=number,
        reason=reason,
        asked=True,
    )


def _aside(rule: Rule | None, facts: Facts) -> str:
    """Return how far the call reaches, or why a rule matches that seems to be about
    something else.
    """
    if ANY_HOST in facts.hosts:
        return " (the call may reach any host)"
    if rule is not None and rule.path and None in facts.paths:
        return " (a path leaves the workspace)"
    unsafe = rule is not None and rule.host and None in facts.hosts
    return " (a URL has no host that can be asked)" if unsafe else ""


def _doubt(rule: Rule, facts: Facts) -> str:
    """Return why an allow is asked nevertheless, or ""."""
    if _is_tainted(rule, facts):
        return f"text of others is in this turn ({', '.join(facts.tainted)})"
    if facts.needs_approval and not rule.names(facts.tool):
        return f"{facts.tool} needs approval, and the rule does not name it"
    return ""


def _is_tainted(rule: Rule, facts: Facts) -> bool:
    """Return whether text of others suspends an allow."""
    return bool(facts.tainted) and rule.tainted is not True and _can_harm(facts.traits)


def _can_harm(traits: Traits) -> bool:
    return traits.destructive or traits.open_world or traits.kind == "exec"
