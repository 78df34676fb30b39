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
import json
import os
import re
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias, cast

import msgspec

from callblocks.core.errors import BadPolicy
from callblocks.core.text import brief
from callblocks.core.toml_text import parse_toml
from callblocks.policy.rules import (
    ANY_HOST,
    Facts,
    Patterns,
    Rule,
    RuleFault,
    hint,
    host_of,
    rule_fault,
    said_by,
)
from callblocks.tools.tool import Traits

__all__ = (
    "LARGEST",
    "Decision",
    "Policy",
    "Verdict",
    "is_denied",
    "line_of",
    "parse_policy",
    "path_refusal",
    "read_policy",
    "read_rule",
    "redirect_refusal",
    "write_policy",
    "write_rule",
)

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


# --- Paths that a call meets while it runs, such as the files that a search finds ---
#
# Each is judged as the call itself would be with that path. Showing a passage of a file is reading
# it: a rule that denies `file_read` on a path, or asks first, also keeps every such call from it.

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


# --- Redirects: a call that was let through to one host is judged again for each new URL ---


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


# --- One `[[rule]]` of a policy file ---
#
#     decide = "deny"
#     tool = ["mail_send", "mail_reply"]     several patterns
#     host = "*.example.org"                 one pattern needs no brackets
#     argument.mail.to = "*@example.org"     the field `to` of the argument `mail`

_PATTERNS = ("tool", "trait", "path", "host")
_HEADER = re.compile(r"[ \t]*\[\[[ \t]*rule[ \t]*\]\]")


def read_rule(table: dict[str, Any]) -> Rule | RuleFault:
    """Return the rule, or its fault."""
    for key in table:
        if key not in Rule.__struct_fields__:
            return RuleFault(key, f"no rule has this key{hint(key, Rule.__struct_fields__)}")
    if "decide" not in table:
        return RuleFault("decide", "is missing: allow, ask or deny")
    fields = dict(table)
    for key in _PATTERNS:
        if fields.get(key) == []:
            return RuleFault(key, "no pattern is given; leave the key out")
        if key in fields:
            fields[key] = _listed(fields[key])
    if isinstance(fields.get("argument"), dict):
        pairs = list(_arguments(fields["argument"], ""))
        fields["argument"] = dict(pairs)
        if len(fields["argument"]) < len(pairs):
            return RuleFault("argument", "two names are the same once their dots are read")
    return rule_fault(fields) or Rule(**fields)


def write_rule(rule: Rule) -> str:
    """Return lines that `read_rule` reads as the same rule."""
    lines = ["[[rule]]", f"decide = {_quoted(rule.decide)}"]
    lines += [f"{key} = {_list(getattr(rule, key))}" for key in _PATTERNS if getattr(rule, key)]
    lines += [
        f"argument.{_quoted(name)} = {_list(patterns)}" for name, patterns in rule.argument.items()
    ]
    if rule.tainted is not None:
        lines.append(f"tainted = {str(rule.tainted).lower()}")
    if rule.because:
        lines.append(f"because = {_quoted(rule.because)}")
    return "\n".join(lines) + "\n"


def line_of(text: str, number: int, count: int, key: str) -> int | None:
    """Return the line of a key in a rule, or of the rule; `None` for an unusual layout."""
    lines = text.split("\n")
    starts = [at for at, line in enumerate(lines) if _HEADER.match(line)]
    if len(starts) != count:
        return None
    start, end = [*starts, len(lines)][number - 1 : number + 1]
    for at in range(start, end):
        if re.match(rf"[ \t]*{re.escape(key)}[ \t]*=", lines[at]):
            return at + 1
    return start + 1


def _arguments(table: dict[str, Any], above: str) -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _arguments(cast("dict[str, Any]", value), f"{above}{key}.")
        else:
            yield f"{above}{key}", _listed(value)


def _listed(value: object) -> object:
    """Return patterns as a tuple; leave anything else for `rule_fault` to report."""
    if isinstance(value, str):
        return (value,)
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


def _list(patterns: Patterns) -> str:
    quoted = [_quoted(pattern) for pattern in patterns]
    return quoted[0] if len(quoted) == 1 else f"[{', '.join(quoted)}]"


def _quoted(text: str) -> str:
    # JSON's escapes are valid in TOML, but TOML also requires DEL to be escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


# --- A policy as a TOML file ---
#
#     autoexec = true            # false: nothing runs, whatever the rules say
#
#     [[rule]]
#     decide = "allow"
#     tool = ["file_read", "file_list"]
#     path = "notes/**"
#     because = "my notes are mine to read"
#
#     [[rule]]
#     decide = "deny"
#     tool = "terminal_*"
#     argument.command = "rm *"
#
# Without `autoexec` the policy is on if it has rules. A single pattern needs no brackets. Anything
# that is not understood is an error, because a rule that is read in part would decide something
# else.

# The most bytes of a policy file.
LARGEST = 1_000_000

_KEYS = ("autoexec", "rule")


def read_policy(path: str | os.PathLike[str]) -> Policy:
    """Read the policy in a file; its name is the path."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            # One byte more than allowed tells that the file is too large, without reading all of
            # it.
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise BadPolicy(f"{name}: larger than {LARGEST} bytes, which no policy is")
        return parse_policy(content.decode("utf-8"), name)
    except OSError as error:
        raise BadPolicy(f"{name}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadPolicy(f"{name}: not UTF-8 text: {error.reason} at byte {error.start}") from error


def parse_policy(text: str, name: str = "") -> Policy:
    """Parse the text of a policy; `name` prefixes every error message."""
    where = f"{name}: " if name else ""
    found = parse_toml(text, "policy", name, lambda tables: tables, BadPolicy)
    for key in found:
        if key not in _KEYS:
            raise BadPolicy(f"{where}{brief(key)} is no key of a policy{hint(key, _KEYS)}")
    return Policy(_rules(found.get("rule", []), text, where), name, _autoexec(found, where))


def write_policy(policy: Policy) -> str:
    """Return a text that `parse_policy` reads as the same policy."""
    head = f"autoexec = {str(policy.enabled).lower()}\n"
    return "\n".join([head, *map(write_rule, policy.rules)])


def _autoexec(found: dict[str, Any], where: str) -> bool | None:
    autoexec = found.get("autoexec")
    if autoexec is not None and not isinstance(autoexec, bool):
        raise BadPolicy(f"{where}autoexec: {brief(autoexec)} is not true or false")
    return autoexec


def _rules(found: object, text: str, where: str) -> tuple[Rule, ...]:
    tables = cast("list[object]", found) if isinstance(found, list) else [found]
    rules: list[Rule] = []
    for number, table in enumerate(tables, 1):
        if not isinstance(found, list) or not isinstance(table, dict):
            raise BadPolicy(f"{where}rule: {brief(table)} is no rule; write [[rule]] above each")
        rule = read_rule(cast("dict[str, Any]", table))
        if not isinstance(rule, Rule):
            line = line_of(text, number, len(tables), rule.key)
            place = f"rule {number} (line {line})" if line else f"rule {number}"
            raise BadPolicy(f"{where}{place}, {rule.key}: {rule.problem}")
        rules.append(rule)
    return tuple(rules)
