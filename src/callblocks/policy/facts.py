"""Facts: the input of a decision. Tool, traits, arguments, and the paths and hosts in them.

    facts = gather(tool, call.input, resolve=root.resolve, tainted=turn.tainted, person=True)

A path that leaves the workspace and a URL without a host are `None`: no allow matches them, every
deny and ask does. A call that may reach any host has the host `*`, which only an allow with that
pattern matches, and the trait `open_world`, whatever the tool's own traits are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.urls import read_url
from callblocks.tools.tool import Paths, Tool, Traits

__all__ = (
    "ANY_HOST",
    "PATHS",
    "URLS",
    "ContainedTaint",
    "Facts",
    "add_taint",
    "counting_taints",
    "gather",
    "host_of",
    "may_leave_by",
    "reaching_out",
    "taint_by",
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
    urls = tool.values_of_format(given, *URLS)
    named = tool.values_of_format(given, *PATHS) if tool.paths is None else ()
    hosts = tuple(host_of(url) for url in urls if url is not None)
    # A command with a network can reach hosts that appear nowhere in its arguments.
    anywhere = _reaches_any_host(tool, given)
    traits = reaching_out(tool.traits) if anywhere else tool.traits
    return Facts(
        tool=tool.name,
        traits=traits,
        input=given,
        paths=tuple(_safe(path, resolve) for path in _paths(tool, given, named, reached)),
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
