"""Several queries at once, fused into one list.

A failed query does not discard the results of the others; the search fails only if all queries do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from callblocks.model.errors import ToolError
from callblocks.toolkits.web.asking import SearchAdapter, ask
from callblocks.toolkits.web.fusing import fused
from callblocks.tools.context import Context

if TYPE_CHECKING:
    from callblocks.toolkits.finding.looking import Look

__all__ = ("search_web", "search_workspace")

_AT_ONCE = 4


async def search_web(
    engines: Sequence[SearchAdapter], queries: Sequence[str], n: int, context: Context
) -> list[dict[str, Any]]:
    """Return the best `n` pages of all queries, each answered by the first engine that responds."""
    done, room = 0, asyncio.Semaphore(_AT_ONCE)

    async def one(query: str) -> list[dict[str, Any]] | ToolError:
        nonlocal done
        async with room:
            try:
                engine, rows = await ask(engines, query, n)
            except ToolError as error:
                return error
        # Taint only once there is an answer: a query that no engine answered has shown nothing.
        done += 1
        context.taint(f"the results of {engine}")
        context.report(f"query {done} of {len(queries)}: {len(rows)} results of {engine}\n")
        return rows

    answers = await asyncio.gather(*map(one, queries))
    lists = [answer for answer in answers if not isinstance(answer, ToolError)]
    failures = [answer for answer in answers if isinstance(answer, ToolError)]
    if failures and not lists:
        raise failures[0]
    for failure in failures:
        words = f"a query was not answered: {failure.message}"
        context.notice("query_failed", words, error=failure.code)
    return fused(lists, n)


async def search_workspace(
    look: Callable[[], Look], queries: Sequence[str], n: int, context: Context
) -> list[dict[str, Any]]:
    """Return the best `n` passages of the workspace's files, with a notice that no engine is set
    up.
    """
    rows = fused([await look().passages(query, n, context) for query in queries], n)
    look().tell_no_engine(bool(rows), context)
    return [_row(row) for row in rows]


def _row(passage: dict[str, Any]) -> dict[str, Any]:
    """Return a passage as a source. Its title names the file, because a path is no URL to cite."""
    path, title = passage["path"], passage["title"]
    place = next((f", {name} {passage[name]}" for name in ("page", "line") if name in passage), "")
    named = "" if title == path else f": {title}"
    return {"title": f"file {path}{place}{named}", "snippet": passage["snippet"]}
