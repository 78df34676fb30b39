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
(`format`), and those that are named so, are what rules about `path` and `host` look at. So are
addresses of files (`file://`), files named by the keys below such a parameter, and those that a
patch names (`*** Update File: a.py`). A command is one text: no rule about `path` looks into it.

The file system of a client may take `.ENV` for `.env`, and ` .env.` too. A rule that denies a path
denies each spelling of it; one that allows or asks takes it as it is written.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import Any, Protocol, cast
from urllib.parse import unquote, urlsplit

import msgspec

from callblocks.core.calls import Call
from callblocks.core.errors import BadPolicy
from callblocks.core.globs import holds_text
from callblocks.core.specs import ToolSpec
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Facts, Rule, host_of, said_by

__all__ = ("Firewall", "PolicyFirewall", "Rewrite", "Verdict")

_PATHS = re.compile(
    r"(?:^|_)(?:path|file|filename|filepath|dir|directory|folder|cwd|workdir|source|src|destination"
    r"|dst)s?_?[0-9]{0,3}$",
    re.I,
)
_URLS = re.compile(r"(?:^|_)(?:url|uri|link|href|address)s?_?[0-9]{0,3}$", re.I)
# What names a file below a parameter that is named for files: {"files": [{"name": ".env"}]}.
_NAMES = ("name", "value")
_PATCH = "*** Begin Patch"
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
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
        self._folded = tuple(
            (number, msgspec.structs.replace(rule, path=tuple(map(_folded, rule.path))))
            for number, rule in enumerate(policy.rules, 1)
            if rule.decide == "deny" and rule.path and policy.enabled
        )

    def judge(self, call: Call, spec: ToolSpec | None) -> Verdict:
        """Return the call as it may pass, or `None` in its place, and why."""
        reasons: list[str] = []
        given = call.input
        for rule, pattern in self._rewrites:
            if holds_text(rule.tool, call.name):
                given = _table(_rewritten(given, rule, pattern, reasons))
        passed = msgspec.structs.replace(call, input=given) if reasons else call
        facts = _facts(passed, spec)
        decision = self._policy.decide(facts)
        # Without a matching rule a policy refuses where nobody can be asked; a firewall denies
        # only what a rule names.
        if decision.rule is not None and decision.rule.decide == "deny":
            return Verdict(None, (decision.reason or "a rule denies it",))
        if spelled := self._denial_of_spelling(facts, decision.number):
            return Verdict(None, (spelled,))
        return Verdict(passed, tuple(reasons))

    def _denial_of_spelling(self, facts: Facts, decided: int) -> str:
        """Return why a rule before the one that decided denies another spelling of the paths."""
        if not self._folded or not facts.paths:
            return ""
        paths = tuple(path and _folded(path) for path in facts.paths)
        folded = msgspec.structs.replace(facts, paths=paths)
        for number, rule in self._folded:
            if decided and number >= decided:
                break
            if rule.matches(folded):
                return _said(rule, number)
        return ""


def _said(rule: Rule, number: int) -> str:
    said = said_by(rule, number)
    return f"{said}: {rule.because}" if rule.because else said


def _folded(path: str) -> str:
    """Return a path without what some file systems pass over: case, and blanks and dots at ends."""
    return "/".join(one.rstrip(" .") or one for one in path.lower().split("/"))


def _rewritten(
    value: Any, rule: Rewrite, pattern: re.Pattern[str], reasons: list[str], name: str = ""
) -> Any:
    """Return a value with each text of an argument rewritten, also those within it."""
    match value:
        case str() if name and holds_text(rule.argument, name):
            changed = pattern.sub(rule.replacement, value)
            if changed != value:
                reasons.append(rule.because or f"{name} was rewritten")
            return changed
        case dict():
            return {
                key: _rewritten(inner, rule, pattern, reasons, key)
                for key, inner in _table(value).items()
            }
        case list():
            items = cast("list[Any]", value)
            return [_rewritten(inner, rule, pattern, reasons, name) for inner in items]
        case _:
            return value


def _facts(call: Call, spec: ToolSpec | None) -> Facts:
    paths: list[str | None] = []
    hosts: list[str | None] = []
    for name, form, value in _leaves(call.input, spec.parameters if spec else None):
        if value[:5].lower() == "file:":
            paths.append(_plain(_path_of(value)))
        elif _is_path(name, form):
            paths.append(_plain(value))
        elif value.lstrip().startswith(_PATCH):
            paths += (_plain(hit[1].strip()) for hit in _PATCHED.finditer(value))
        elif _is_url(name, form, value):
            hosts.append(host_of(value))
    return Facts(
        tool=call.name, input=call.input, paths=tuple(paths), hosts=tuple(hosts), person=True
    )


def _leaves(value: Any, schema: Any, name: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield the texts in an input, each with the name and the format of its parameter."""
    declared = _table(schema)
    match value:
        case str():
            yield name, str(declared.get("format", "")), value
        case dict():
            known = _table(declared.get("properties"))
            holds_files = _is_path(name, "")
            for key, inner in _table(value).items():
                if holds_files and ("." in key or "/" in key):
                    yield name, "", key
                below = name if holds_files and key in _NAMES else key
                yield from _leaves(inner, known.get(key), below)
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
    return is_named or value[:8].lower().startswith(("http://", "https://"))


def _path_of(url: str) -> str:
    """Return the path in the address of a file."""
    try:
        return unquote(urlsplit(url).path)
    except ValueError:
        return "\0"


def _plain(path: str) -> str | None:
    """Return a path as rules compare it, without its detours; `None` for one that climbs out.

    Agents name files by absolute paths: `/home/a/.env` is compared as `home/a/.env`, which
    `**/.env` matches. The files are on the client's machine, so links cannot be followed.
    """
    plain = posixpath.normpath(path.replace("\\", "/")).lstrip("/")
    return None if plain == ".." or plain.startswith("../") or "\0" in path else plain
