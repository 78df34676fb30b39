"""The order in which calls run.

    priority 2   read_a, read_b        higher first; these two change nothing: in parallel
    priority 0   read_c                again in parallel, alone here
                 write_d               a change is a barrier: it runs alone, between the others
                 read_e, read_f

Ties run in the order written. An unknown tool counts as read-only, because its outcome is a failure
in any case.
"""

from __future__ import annotations

from collections.abc import Iterable

from callblocks.model.calls import Call
from callblocks.tools.registry import Registry

__all__ = ("batches", "priority")


def batches(calls: Iterable[Call], registry: Registry) -> list[list[Call]]:
    """Return batches of calls in running order; the calls of one batch run in parallel."""
    found: list[list[Call]] = []
    last: tuple[float, bool] | None = None
    for call in sorted(calls, key=priority, reverse=True):
        place = (priority(call), _quiet(call, registry))
        # Only neighbours of the same priority that both change nothing may share a batch.
        if place == last and place[1]:
            found[-1].append(call)
        else:
            found.append([call])
        last = place
    return found


def priority(call: Call) -> float:
    """Return the priority of a call; anything that is no number counts as 0."""
    given = call.extra.get("priority", 0)
    if isinstance(given, bool) or not isinstance(given, int | float):
        return 0
    # Not `math.isnan`: it raises OverflowError for an integer that no float can hold.
    return 0 if given != given else given  # noqa: PLR0124 NaN alone differs from itself


def _quiet(call: Call, registry: Registry) -> bool:
    tool = registry.get(call.name)
    return tool is None or tool.traits.read_only
