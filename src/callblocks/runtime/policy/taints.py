"""Why a turn is tainted, and for which calls that counts.

Text of others may talk the model into anything, so it counts for every call that can do harm. What
a command printed in the sandbox is such text too, where the command could read files of others. But
commands can read and change these files whatever was printed, so asking before the next one keeps
nothing safe and only stands in the way. What matters is that none of it leaves: such a taint is
*contained*, and counts for the calls by which something may leave.
"""

from __future__ import annotations

from collections.abc import Iterable

from callblocks.tools.tool import Tool
from callblocks.tools.traits import Traits

__all__ = ("ContainedTaint", "add_taint", "counting_taints", "may_leave_by", "taint_by")


class ContainedTaint(str):
    """A reason that comes of sandboxed commands alone."""

    __slots__ = ()


def taint_by(tool: Tool, traits: Traits, why: str) -> str:
    """Return the reason for what a tool brought, by the traits that this call of it has.

    With a network a command may have brought in anything. What came of a file that has only a
    contained taint has no more than that.
    """
    contained = isinstance(why, ContainedTaint) or tool.is_sandboxed
    return ContainedTaint(why) if contained and not traits.open_world else str(why)


def add_taint(known: dict[str, str], why: str) -> None:
    """Add a reason; the same one counts for all calls if it once came without being contained."""
    if why not in known or not isinstance(why, ContainedTaint):
        known[why] = why


def counting_taints(tool: Tool, traits: Traits, reasons: Iterable[str]) -> tuple[str, ...]:
    """Return the reasons that count for a call; `traits` are those that this call has.

    A contained one counts for those by which something may leave.
    """
    leaves = may_leave_by(tool, traits)
    return tuple(str(why) for why in reasons if leaves or not isinstance(why, ContainedTaint))


def may_leave_by(tool: Tool, traits: Traits) -> bool:
    """Return whether something may leave by a call: it reaches out, or nobody knows.

    A tool that comes with callblocks tells that it reaches out; of any other nobody knows what it
    does with what it is given.
    """
    return traits.open_world or tool.origin != "builtin"
