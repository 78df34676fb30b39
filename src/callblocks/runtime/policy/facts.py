"""What a rule looks at: the tool, its traits, the input, and the paths and hosts in it.

    facts = gather(tool, call.input, resolve=root.resolve, tainted=turn.tainted, person=True)

A path that leaves the workspace and a URL without a host are `None`: an allow never fits
them, a deny and an ask always do. A call that may reach any host has the host `*`, which only an
allow with that pattern fits, and it has the trait `open_world`, whatever the tool has.
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

PATHS = ("path", "file-path", "directory-path")
"""The formats of a parameter that takes a path."""
URLS = ("uri", "url")
"""The formats of a parameter that takes a URL."""
ANY_HOST = "*"
"""The host of a call that may reach any; no URL has it."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """All that a policy knows of one call.

    `paths` are relative to the workspace and real, links followed. `hosts` are in lower case.
    `tainted` says why the turn is, as far as that counts for this call. `person` is whether
    somebody can be asked. `through` is the tool that the call was written with, where that stands
    for another.
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
    """The facts of a call. `resolve` gives the real path below the workspace, or `None`.

    With `reached`, files that the call means by an id are looked up: their paths are facts too.

    The input is the one that the tool's check gave: nothing is read in another way here. What is
    not given counts with its default.
    """
    given = tool.with_defaults(input)
    hosts = tuple(host_of(url) for url in _values(tool, given, URLS))
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
    """The traits of a tool in a call that may reach any host."""
    return msgspec.structs.replace(traits, open_world=True)


def _reaches_any_host(tool: Tool, given: dict[str, Any]) -> bool:
    """Whether a call may; one of which the tool cannot tell does."""
    if tool.reaches_any_host is None:
        return False
    try:
        return tool.reaches_any_host(given)
    except Exception:  # whatever an input does to it, the call is judged
        return True


def _paths(tool: Tool, given: dict[str, Any], reached: bool) -> list[object]:
    """The paths that a call means; one that the tool cannot tell counts as unsafe."""
    named = _values(tool, given, PATHS) if tool.paths is None else _told(tool.paths, given)
    return [*named, *_told(tool.reaches, given)] if reached and tool.reaches else named


def _told(paths: Paths, given: dict[str, Any]) -> list[object]:
    try:
        return list(paths(given))
    except Exception:  # whatever an input does to it, the call is judged
        return [None]


def _values(tool: Tool, given: dict[str, Any], formats: tuple[str, ...]) -> list[object]:
    """What stands at the places of a format; `null` is nothing."""
    return [value for value in tool.values_of_format(given, *formats) if value is not None]


def _safe(path: object, resolve: Callable[[str], str | None]) -> str | None:
    if not isinstance(path, str) or "\0" in path:
        return None
    real = resolve(path)
    if real is None or real.startswith("/") or ".." in real.split("/"):
        return None
    return real
