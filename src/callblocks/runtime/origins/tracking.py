"""Origins of data that foreign tools reach without the stores of callblocks.

A built-in tool works on stores that track origins themselves. Of any other tool two things are
known: the paths in its input, and that it may keep its input in some place of its own. Both are
marked before it runs, and looked up after it ran.

A call that can send data out takes the files that it names with it, and code with a network may
take all files. So their taints count for the decision about such a call, in a clean turn too.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager

from callblocks.runtime.origins.origins import Origins
from callblocks.runtime.policy.facts import Facts
from callblocks.runtime.policy.taints import ContainedTaint, may_leave_by
from callblocks.runtime.weighed import Weighed
from callblocks.tools.context import Context, running_as
from callblocks.tools.tool import Tool

__all__ = ("carried_taints", "tracking")


@contextmanager
def tracking(origins: Origins | None, weighed: Weighed, context: Context) -> Generator[None]:
    """Mark what a call of a foreign tool may store, and taint it by what it may read."""
    tool = weighed.tool
    if origins is None or tool.origin == "builtin":
        yield
        return
    place, paths = _place(tool), weighed.facts.paths
    writes = [] if tool.traits.read_only else [path for path in paths if path is not None]
    storing = origins.storing(writes, "" if tool.traits.read_only else place)
    _look(origins, tool, place, paths, context)
    with running_as(context), storing:
        try:
            yield
        finally:
            # Another call may have written there meanwhile. Marks that this call made itself are no
            # news.
            if all(isinstance(why, ContainedTaint) for why in context.origins()):
                _look(origins, tool, place, paths, context)


def _place(tool: Tool) -> str:
    """Return the resource where a tool keeps its input; "" where it keeps nothing."""
    return "" if tool.stores == "" else f"tools:{tool.stores or ''}"


def _look(
    origins: Origins, tool: Tool, place: str, paths: Iterable[str | None], context: Context
) -> None:
    kept = origins.of(place, f"what {tool.name} may keep") if place else None
    for why in (kept, *(_of_path(origins, path) for path in paths)):
        if why is not None and why not in context.taints:
            context.taint(why)


def carried_taints(origins: Origins | None, tool: Tool, facts: Facts) -> tuple[str, ...]:
    """Return the taints of the data that a call would send out, beside those of its own input."""
    if origins is None or not may_leave_by(tool, facts.traits):
        return ()
    if tool.is_sandboxed:
        held = origins.holds_foreign()
        return ("files of others, which the code could send",) if held else ()
    paths = facts.paths if tool.carries is None else _carried(tool, facts)
    found = (_of_path(origins, path) for path in paths)
    return tuple(str(why) for why in dict.fromkeys(found) if why is not None)


def _of_path(origins: Origins, path: object) -> str | None:
    """Return why data at a path is text of others; outside of the workspace that is unknown."""
    return origins.of_path(path) if isinstance(path, str) else "a file outside of the workspace"


def _carried(tool: Tool, facts: Facts) -> list[object]:
    assert tool.carries is not None
    try:
        return list(tool.carries(facts.input))
    # An exception must not bypass the judgement: `None` counts as a file outside of the workspace.
    except Exception:  # whatever an input does to it, the call is judged
        return [None]
