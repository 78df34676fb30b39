"""Facts: the input of a decision. Tool, traits, arguments, and the paths and hosts in them.

    facts = gather(tool, call.input, resolve=root.resolve, tainted=turn.tainted, person=True)

A path that leaves the workspace and a URL without a host are `None`: no allow matches them, every
deny and ask does. A call that may reach any host has the host `*`, which only an allow with that
pattern matches, and the trait `open_world`, whatever the tool's own traits are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from callblocks.runtime.policy.hosts import host_of
from callblocks.runtime.policy.taints import counting_taints
from callblocks.tools.tool import Paths, Tool
from callblocks.tools.traits import Traits

__all__ = ("ANY_HOST", "PATHS", "URLS", "Facts", "gather", "reaching_out")

# The formats of a parameter that takes a path.
PATHS = ("path", "file-path", "directory-path")
# The formats of a parameter that takes a URL.
URLS = ("uri", "url")
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
) -> Facts:
    """Return the facts of a call. `resolve` gives the real path below the workspace, or `None`.

    With `reached`, files that the call denotes by an id are looked up, and their paths are facts
    too.

    The input is the one that the tool's check returned; parsing it a second time here could give
    another meaning. A parameter that is not given counts with its default.
    """
    given = tool.with_defaults(input)
    hosts = tuple(host_of(url) for url in _values(tool, given, URLS))
    # A command with a network can reach hosts that appear nowhere in its arguments.
    anywhere = _reaches_any_host(tool, given)
    traits = reaching_out(tool.traits) if anywhere else tool.traits
    return Facts(
        tool=tool.name,
        traits=traits,
        input=given,
        paths=tuple(_safe(path, resolve) for path in _paths(tool, given, reached)),
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


def _paths(tool: Tool, given: dict[str, Any], reached: bool) -> list[object]:
    """Return the paths that a call denotes; a path that the tool cannot tell counts as unsafe."""
    named = _values(tool, given, PATHS) if tool.paths is None else _told(tool.paths, given)
    return [*named, *_told(tool.reaches, given)] if reached and tool.reaches else named


def _told(paths: Paths, given: dict[str, Any]) -> list[object]:
    try:
        return list(paths(given))
    except Exception:  # whatever an input does to it, the call is judged
        return [None]


def _values(tool: Tool, given: dict[str, Any], formats: tuple[str, ...]) -> list[object]:
    """Return the values at parameters of a format, without nulls."""
    return [value for value in tool.values_of_format(given, *formats) if value is not None]


def _safe(path: object, resolve: Callable[[str], str | None]) -> str | None:
    if not isinstance(path, str) or "\0" in path:
        return None
    real = resolve(path)
    # Not trusted blindly: `resolve` is a callback, and a bad path must never reach a pattern.
    if real is None or real.startswith("/") or ".." in real.split("/"):
        return None
    return real
