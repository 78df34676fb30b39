"""Faults of a rule, with a hint how to correct them.

decide = "alow"        decide: "alow" is none of allow, ask, deny; did you mean "allow"?
host = "Example.org"   host: "Example.org" is no host as it is compared; write "example.org"
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

import msgspec

from callblocks.model.brief import brief
from callblocks.runtime.policy.hosts import host_of
from callblocks.tools.names import close_to
from callblocks.tools.traits import KINDS, TRAITS

__all__ = ("WORDS", "RuleFault", "hint", "rule_fault")

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
