"""The facts of a call, and the rules that match them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias, cast

import msgspec

from callblocks.core.errors import BadPolicy, ToolError
from callblocks.core.globs import holds_command, holds_host, holds_path, holds_text, is_exact
from callblocks.core.text import brief, close_to
from callblocks.core.urls import read_url
from callblocks.tools.tool import KINDS, TRAITS, Denoted, Paths, Tool, Traits

__all__ = (
    "ANY_HOST",
    "WORDS",
    "Condition",
    "ContainedTaint",
    "Facts",
    "Patterns",
    "Rule",
    "RuleFault",
    "Word",
    "add_taint",
    "conditions",
    "counting_taints",
    "gather",
    "hint",
    "host_of",
    "may_leave_by",
    "reach",
    "reaching_out",
    "rule_fault",
    "said_by",
    "taint_by",
    "text_of",
)

# --- The host of a URL, parsed by the same rules as the HTTP client parses it ---
#
#     https://Docs.Example.org:8443/a    docs.example.org
#     http://bücher.example/             xn--bcher-kva.example
#     http://[2001:DB8::1]/              2001:db8::1
#     http://[::ffff:10.0.0.1]/          10.0.0.1
#     http://good.example\@evil.example  none
#     http://me:pw@example.org/          none: clients differ on where the host begins
#     http://127.1/  file:///etc/passwd  none
#
# A second parser could see another host than the one that is contacted. A URL that the client
# refuses has no host, and a policy treats that as unsafe.


def host_of(url: object) -> str | None:
    """Return the host in lower case, without brackets and trailing dot; `None` where there
    is none.
    """
    if not isinstance(url, str):
        return None
    try:
        host = read_url(url).host
    except ToolError:
        return None
    return _unmapped(host) if ":" in host else host


def _unmapped(address: str) -> str:
    """Return an IPv4-mapped IPv6 address as the IPv4 address."""
    import ipaddress

    return str(ipaddress.IPv6Address(address).ipv4_mapped or address)


# --- Taints: reasons why a turn is tainted, and the calls for which each reason counts ---
#
# Text of others may talk the model into anything, so it counts for every call that can do harm. The
# output of a sandboxed command is such text too, where the command could read files of others. But
# commands can read and change these files whatever was printed, so asking before the next command
# protects nothing and only annoys. What matters is that none of it leaves. Such a taint is
# *contained*: it counts only for calls that can send data out.


class ContainedTaint(str):
    """A reason that comes from sandboxed commands alone."""

    __slots__ = ()


def taint_by(tool: Tool, traits: Traits, why: str) -> str:
    """Return the reason for the data that a tool brought, by the traits of this call.

    With a network a command may have brought in anything, so its taint is not contained. Data from
    a file with a contained taint has a contained taint.
    """
    # A network in the sandbox voids the containment: the command may have fetched any text.
    contained = isinstance(why, ContainedTaint) or tool.is_sandboxed
    return ContainedTaint(why) if contained and not traits.open_world else str(why)


def add_taint(known: dict[str, str], why: str) -> None:
    """Add a reason; it counts for all calls once it was added without being contained."""
    if why not in known or not isinstance(why, ContainedTaint):
        known[why] = why


def counting_taints(tool: Tool, traits: Traits, reasons: Iterable[str]) -> tuple[str, ...]:
    """Return the reasons that count for a call; `traits` are those of this call.

    A contained reason counts only for calls that can send data out.
    """
    leaves = may_leave_by(tool, traits)
    return tuple(str(why) for why in reasons if leaves or not isinstance(why, ContainedTaint))


def may_leave_by(tool: Tool, traits: Traits) -> bool:
    """Return whether a call can send data out, or that is unknown.

    A built-in tool declares that it reaches out; what any other tool does with its input is
    unknown.
    """
    return traits.open_world or tool.origin != "builtin"


# --- Facts: the input of a decision. Tool, traits, arguments, and the paths and hosts in them ---
#
#     facts = gather(tool, call.input, resolve=root.resolve, tainted=turn.tainted, person=True)
#
# A path that leaves the workspace and a URL without a host are `None`: no allow matches them, every
# deny and ask does. A call that may reach any host has the host `*`, which only an allow with that
# pattern matches, and the trait `open_world`, whatever the tool's own traits are.

# The host of a call that may reach any host; no URL has this host.
ANY_HOST = "*"


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a policy knows of one call.

    `paths` are real (links followed) and relative to the workspace. `hosts` are in lower case.
    `tainted` are the reasons that count for this call. `person` is true where a person can be
    asked. `through` is the tool that the call was written with, where that one stands for another.
    """

    tool: str
    traits: Traits = Traits()
    input: dict[str, Any] = {}
    paths: tuple[str | None, ...] = ()
    hosts: tuple[str | None, ...] = ()
    needs_approval: bool = False
    tainted: tuple[str, ...] = ()
    person: bool = False
    through: str = ""


def gather(
    tool: Tool,
    input: dict[str, Any],
    *,
    resolve: Callable[[str], str | None],
    tainted: tuple[str, ...] = (),
    person: bool = False,
    through: str = "",
    reached: bool = False,
    denoted: Denoted | None = None,
) -> Facts:
    """Return the facts of a call. `resolve` gives the real path below the workspace, or `None`.

    With `reached`, files that the call denotes by an id are looked up, and their paths are facts
    too.

    The input is the one that the tool's check returned; parsing it a second time here could give
    another meaning. A parameter that is not given counts with its default. `denoted` is what the
    tool says of that input, where it was asked already.
    """
    denoted = denoted or tool.denoted(input)
    given = denoted.input
    hosts = tuple(host_of(url) for url in denoted.urls if url is not None)
    # A command with a network can reach hosts that appear nowhere in its arguments.
    anywhere = _reaches_any_host(tool, given)
    traits = reaching_out(tool.traits) if anywhere else tool.traits
    return Facts(
        tool=tool.name,
        traits=traits,
        input=given,
        paths=tuple(_safe(path, resolve) for path in _paths(tool, given, denoted.paths, reached)),
        hosts=(*hosts, ANY_HOST) if anywhere else hosts,
        needs_approval=tool.needs_approval,
        tainted=counting_taints(tool, traits, tainted),
        person=person,
        through=through,
    )


def reaching_out(traits: Traits) -> Traits:
    """Return the traits of a tool in a call that may reach any host."""
    return msgspec.structs.replace(traits, open_world=True)


def _reaches_any_host(tool: Tool, given: dict[str, Any]) -> bool:
    """Return whether a call may reach any host; true where the tool cannot tell."""
    if tool.reaches_any_host is None:
        return False
    try:
        return tool.reaches_any_host(given)
    # A callback of a tool must not be able to prevent the judgement: an exception counts as "any".
    except Exception:  # whatever an input does to it, the call is judged
        return True


def _paths(
    tool: Tool, given: dict[str, Any], named: Iterable[object], reached: bool
) -> list[object]:
    """Return the paths that a call denotes; a path that the tool cannot tell counts as unsafe.

    `named` are the values of its parameters for paths, which a tool with `paths` replaces.
    """
    paths = [path for path in named if path is not None]
    if tool.paths is not None:
        paths = _told(tool.paths, given)
    return [*paths, *_told(tool.reaches, given)] if reached and tool.reaches else paths


def _told(paths: Paths, given: dict[str, Any]) -> list[object]:
    try:
        return list(paths(given))
    except Exception:  # whatever an input does to it, the call is judged
        return [None]


def _safe(path: object, resolve: Callable[[str], str | None]) -> str | None:
    if not isinstance(path, str) or "\0" in path:
        return None
    real = resolve(path)
    # Not trusted blindly: `resolve` is a callback, and a bad path must never reach a pattern.
    if real is None or real.startswith("/") or ".." in real.split("/"):
        return None
    return real


# --- Argument values that a rule names, as the text that a pattern is matched against ---
#
#     reach({"mail": {"to": "a@b.c"}}, "mail.to")   ["a@b.c"]
#     text_of({"n": [1, True, None]})               '{"n":[1,true,null]}'


def reach(value: object, name: str) -> list[object]:
    """Return every value that a dotted name may denote, including a field whose name contains the
    dots.
    """
    if not isinstance(value, dict):
        return []
    fields = cast("dict[str, object]", value)
    # All readings count. If only one did, a model could choose the spelling that the rule misses.
    found = [fields[name]] if name in fields else []
    for at, char in enumerate(name):
        if char == "." and name[:at] in fields:
            found += reach(fields[name[:at]], name[at + 1 :])
    return found


def text_of(value: object) -> str | None:
    """Return text itself, other values as compact JSON; `None` for a value without such a form."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    except (RecursionError, TypeError, ValueError):
        # Not a JSON type, a cycle, keys of mixed types, or an integer with too many digits.
        return None


# --- Faults of a rule, with a hint how to correct them ---
#
#     decide = "alow"        decide: "alow" is none of allow, ask, deny; did you mean "allow"?
#     host = "Example.org"   host: "Example.org" is no host as it is compared; write "example.org"

# The decisions that a rule may take.
WORDS = ("allow", "ask", "deny")

_NARROWING = ("tool", "trait", "argument", "path", "host")


class RuleFault(msgspec.Struct, frozen=True):
    """The key of a rule, and the fault of its value."""

    key: str
    problem: str


def rule_fault(fields: dict[str, Any]) -> RuleFault | None:
    """Return the first fault of the fields of a rule, or `None`."""
    for key, value in fields.items():
        problem = _CHECKS[key](value)
        if problem:
            return RuleFault(key, problem)
    for name, patterns in fields.get("argument", {}).items():
        problem = _name(name) or _patterns(patterns) or _missing(patterns)
        if problem:
            return RuleFault(f"argument.{name}", problem)
    # An allow without conditions is nearly always a mistake, so it must be spelled out.
    if fields["decide"] == "allow" and not any(fields.get(key) for key in _NARROWING):
        return RuleFault("decide", 'this allows every call; if you mean it, add tool = "*"')
    return None


def hint(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean "x"?` where one of the known words is close, otherwise ""."""
    near = close_to(word, known)
    return f'; did you mean "{near}"?' if near else ""


def _decide(value: object) -> str:
    if value in WORDS:
        return ""
    near = hint(value, WORDS) if isinstance(value, str) else ""
    return f"{_say(value)} is none of {', '.join(WORDS)}{near}"


def _patterns(value: object, check: Callable[[str], str] = lambda _: "") -> str:
    if not isinstance(value, tuple):
        tip = f"; write ({_say(value)},)" if isinstance(value, str) else ""
        return f"{_say(value)} is no list of patterns{tip}"
    for pattern in cast("tuple[object, ...]", value):
        problem = _text(pattern)
        if not problem and not pattern:
            problem = "an empty pattern fits nothing; leave it out"
        problem = problem or check(cast("str", pattern))
        if problem:
            return problem
    return ""


def _text(value: object) -> str:
    if not isinstance(value, str):
        return f"{_say(value)} is no text"
    if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
        return f"{_say(value)} has half a character in it, which no file can hold"
    return ""


def _trait(name: str) -> str:
    bare = name.removeprefix("!")
    known = (*TRAITS, *KINDS)
    if bare in known:
        return ""
    return f"{_say(name)} is none of {', '.join(known)}{hint(bare, known)}"


def _argument(value: object) -> str:
    return "" if isinstance(value, dict) else f"{_say(value)} names no arguments"


def _name(name: object) -> str:
    return _text(name) or ("" if name else "an argument has a name")


def _missing(patterns: object) -> str:
    return "" if patterns else "no pattern is given; * fits any value"


def _path(pattern: str) -> str:
    parts = pattern.split("/")
    if pattern.startswith("/") or ".." in parts or "\0" in pattern:
        return f"{_say(pattern)} leaves the workspace: a path is relative to it, without .."
    if any("**" in part and part != "**" for part in parts):
        return f"{_say(pattern)}: ** stands alone between slashes; within a name write *"
    return ""


def _host(pattern: str) -> str:
    bare = pattern.removeprefix("*.")
    below = pattern.removesuffix(bare)
    asked = host_of(f"http://[{bare}]/" if ":" in bare else f"http://{bare}/")
    if pattern == "*" or asked == bare:
        return ""
    tip = f"; write {_say(below + asked)}" if asked else ": no scheme, no port, * only as in *.name"
    return f"{_say(pattern)} is no host as it is compared{tip}"


def _tainted(value: object) -> str:
    return "" if value is None or isinstance(value, bool) else f"{_say(value)} is not true or false"


def _say(value: object) -> str:
    return f'"{value:.80}"' if isinstance(value, str) and value.isprintable() else brief(value)


_CHECKS: dict[str, Callable[[object], str]] = {
    "decide": _decide,
    "tool": _patterns,
    "trait": lambda value: _patterns(value, _trait),
    "argument": _argument,
    "path": lambda value: _patterns(value, _path),
    "host": lambda value: _patterns(value, _host),
    "tainted": _tainted,
    "because": _text,
}


# --- A rule: what it decides, and for which calls ---
#
#     Rule(decide="allow", tool=("file_*",), path=("notes/**",), because="my notes are mine")
#
# Every condition that is given must hold:
#
#     tool      one of the name patterns fits the tool; for an ask or a deny, also the tool that
#               stands for it: a deny of `custom` is one of all that is called through it
#     trait     the tool has every one named, and none with a `!` before it: "!open_world".
#               A kind counts as a trait: "exec"
#     argument  for every name, one of the patterns fits the whole value; other values than text
#               as compact JSON. "a.b" is the field b of a. What is not given fits nothing
#     path      one of the patterns fits the path that is asked for
#     host      one of the patterns fits the host that is asked for. A call that may reach any host
#               is allowed by `*` only, and by no rule without hosts; each ask and deny fits it
#     tainted   whether the turn is tainted
#
# A doubt never helps a call. With several paths or hosts an *allow* needs all of them to fit, and
# at least one to be there; an *ask* or *deny* needs any. One that is unsafe (`None`), or a value
# that cannot be read, fits no allow and every ask and deny.
#
# An *allow* for a tool that runs commands (kind exec) reads `argument` more strictly: a wildcard
# stands for letters, digits, spaces and `_-./:,=+@` only. `git log*` does not allow
# `git log; reboot`. What an option can do it does not know: `git log*` allows
# `git log --output=x`. A *deny* by argument stops mistakes, not an attacker, who can write the
# same command in many ways: allow what you know instead.

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
    # Most rules name their tools, and a name is no pattern.
    if not rule.tool or facts.tool in rule.tool or _fits(rule.tool, facts.tool, holds_text):
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


# --- Descriptions of a rule: its decision, and its conditions ---
#
#     rule 2 of the policy asks
#     tool file_*; path notes/**

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
