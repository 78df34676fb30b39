"""A firewall for calls: what a client never gets to see.

    [[rule]]                       a policy file, as everywhere
    decide = "deny"
    tool = "bash"
    because = "no shell here"

    [[rewrite]]                    in the file of the gateway
    tool = "bash"
    argument = "command"
    pattern = "^rm "
    with = "trash "

The gateway does not run calls: its client does, under the client's own policy. So the firewall can
only take away. A call that a rule denies is not sent; the model is told why and goes on. A rule
that asks or allows lets the call pass, for the client has the person. Rewriting comes first, and
what was rewritten is judged.

A tool of a client is known by its schema alone: parameters that are declared as paths or addresses
(`format`), and those that are named so, are what rules about `path` and `host` look at.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import Any, Protocol, cast

import msgspec

from callblocks.core.calls import Call
from callblocks.core.errors import BadPolicy
from callblocks.core.globs import holds_text
from callblocks.core.specs import ToolSpec
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Facts, host_of

__all__ = ("Firewall", "PolicyFirewall", "Rewrite", "Verdict")

_PATHS = re.compile(r"(?:^|_)(?:path|file|filename|filepath|dir|directory|folder)s?$", re.I)
_URLS = re.compile(r"(?:^|_)(?:url|uri|link|href|address)s?$", re.I)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Verdict(msgspec.Struct, frozen=True):
    """The call that may pass, with the reasons of each change; `None` where it is denied."""

    call: Call | None
    reasons: tuple[str, ...] = ()


class Firewall(Protocol):
    """Judges calls before a client sees them."""

    def judge(self, call: Call, spec: ToolSpec | None) -> Verdict: ...


class Rewrite(msgspec.Struct, frozen=True, kw_only=True, rename={"replacement": "with"}):
    """One rule that changes a text argument. `tool` and `argument` are patterns with `*`."""

    tool: str
    argument: str
    pattern: str
    replacement: str = ""
    because: str = ""

    def __post_init__(self) -> None:
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise BadPolicy(f"rewrite: pattern {self.pattern!r}: {error}") from None


class PolicyFirewall:
    """A firewall by the rules of a policy file, and by rewrites."""

    def __init__(self, policy: Policy, rewrites: Iterable[Rewrite] = ()) -> None:
        self._policy = policy
        self._rewrites = tuple((one, re.compile(one.pattern)) for one in rewrites)

    def judge(self, call: Call, spec: ToolSpec | None) -> Verdict:
        """Return the call as it may pass, or `None` in its place, and why."""
        reasons: list[str] = []
        given = dict(call.input)
        for rule, pattern in self._rewrites:
            if not holds_text(rule.tool, call.name):
                continue
            for name, value in given.items():
                if isinstance(value, str) and holds_text(rule.argument, name):
                    changed = pattern.sub(rule.replacement, value)
                    if changed != value:
                        given[name] = changed
                        reasons.append(rule.because or f"{name} was rewritten")
        passed = msgspec.structs.replace(call, input=given) if reasons else call
        decision = self._policy.decide(_facts(passed, spec))
        # Without a matching rule a policy refuses where nobody can be asked; a firewall denies
        # only what a rule names.
        if decision.rule is not None and decision.rule.decide == "deny":
            return Verdict(None, (decision.reason or "a rule denies it",))
        return Verdict(passed, tuple(reasons))


def _facts(call: Call, spec: ToolSpec | None) -> Facts:
    values = list(_leaves(call.input, spec.parameters if spec else None))
    paths = tuple(_plain(value) for name, form, value in values if _is_path(name, form))
    hosts = tuple(host_of(value) for name, form, value in values if _is_url(name, form, value))
    return Facts(tool=call.name, input=call.input, paths=paths, hosts=hosts, person=True)


def _leaves(value: Any, schema: Any, name: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield the texts in an input, each with the name and the format of its parameter."""
    declared = _table(schema)
    match value:
        case str():
            yield name, str(declared.get("format", "")), value
        case dict():
            known = _table(declared.get("properties"))
            for key, inner in _table(value).items():
                yield from _leaves(inner, known.get(key), key)
        case list():
            for inner in cast("list[Any]", value):
                yield from _leaves(inner, declared.get("items"), name)
        case _:
            pass


def _table(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _is_path(name: str, form: str) -> bool:
    return form.endswith("path") or bool(_PATHS.search(_CAMEL.sub("_", name)))


def _is_url(name: str, form: str, value: str) -> bool:
    is_named = form in ("uri", "url") or bool(_URLS.search(_CAMEL.sub("_", name)))
    return is_named or value.startswith(("http://", "https://"))


def _plain(path: str) -> str | None:
    """Return a path as rules compare it, without its detours; `None` for one that climbs out.

    Agents name files by absolute paths: `/home/a/.env` is compared as `home/a/.env`, which
    `**/.env` matches. The files are on the client's machine, so links cannot be followed.
    """
    plain = posixpath.normpath(path.replace("\\", "/")).lstrip("/")
    return None if plain.startswith("..") or "\0" in path else plain
