"""Taints: reasons why a turn is tainted, and the calls for which each reason counts.

Text of others may talk the model into anything, so it counts for every call that can do harm. The
output of a sandboxed command is such text too, where the command could read files of others. But
commands can read and change these files whatever was printed, so asking before the next command
protects nothing and only annoys. What matters is that none of it leaves. Such a taint is
*contained*: it counts only for calls that can send data out.
"""

from __future__ import annotations

from collections.abc import Iterable

from callblocks.tools.tool import Tool
from callblocks.tools.traits import Traits

__all__ = ("ContainedTaint", "add_taint", "counting_taints", "may_leave_by", "taint_by")


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
