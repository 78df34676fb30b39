"""The tools of the web: `web_tools.web_search` and `web_tools.web_fetch`.

web_search   queries, n   pages of all queries as one list, each with a number to cite it by
web_fetch    urls         the title, the date and the main text of each page

Both answer in the envelope of builtin tools. What they bring is text of others.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from pydantic import Field

from callblocks.core.errors import ToolError
from callblocks.core.outcomes import Failure
from callblocks.core.sources import canonical_url
from callblocks.core.urls import read_url
from callblocks.guard.files.root import Root
from callblocks.guard.net.client import Client
from callblocks.toolkits.search_tools import Engines, looking
from callblocks.toolkits.web.engines import SearchAdapter, ask
from callblocks.toolkits.web.fetch import AT_ONCE, PAGE_SECONDS, Fetcher
from callblocks.tools.declare import tool
from callblocks.tools.tool import Context, Tool, envelope

if TYPE_CHECKING:
    from callblocks.toolkits.search.find_passages import Look

__all__ = (
    "MOST_QUERIES",
    "MOST_URLS",
    "WebSettings",
    "environment_engines",
    "fused",
    "search_web",
    "search_workspace",
    "web_tools",
)

MOST_QUERIES = 8
MOST_URLS = 20

_MOST_PAGES = 20
_SEARCH_SECONDS = 150.0
_ROBOTS = "CALLBLOCKS_ROBOTS"
_REASONS = 5

_LONGEST_QUERY = 1_000
_Query = Annotated[str, Field(min_length=1, max_length=_LONGEST_QUERY)]
_Queries = Annotated[
    list[_Query],
    Field(min_length=1, max_length=MOST_QUERIES, examples=[["tide table Whitby", "moon May"]]),
]
_Pages = Annotated[int, Field(ge=1, le=_MOST_PAGES)]
_Uri = Annotated[str, Field(min_length=1, json_schema_extra={"format": "uri"})]
_Uris = Annotated[
    list[_Uri],
    Field(min_length=1, max_length=MOST_URLS, examples=[["https://example.org/tides"]]),
]


class WebSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the web tools. `cache` is the folder of cached pages; without it none is kept.

    `robots` enables robots.txt; `None` reads CALLBLOCKS_ROBOTS, which is on by default. `body` is
    the limit in bytes of an unpacked page, `seconds` the time limit of its transfer.
    """

    cache: Path | None = None
    robots: bool | None = None
    body: int = 10 * 1024 * 1024
    seconds: float = 40.0


def environment_engines() -> tuple[SearchAdapter, ...]:
    """Return the search engines that the environment names, read again for each search."""
    if not os.environ.get("CALLBLOCKS_SEARCH"):
        return ()
    from callblocks.toolkits.web.engines import read_engines

    return read_engines(os.environ)


def web_tools(
    root: Root,
    client: Client,
    engines: Engines = environment_engines,
    settings: WebSettings | None = None,
) -> tuple[Tool, ...]:
    """Return the tools for one workspace, whose index is searched if no engine is set up."""

    # One fetcher for all calls: it holds the robots.txt cache. It is built late because its modules
    # are slow to import.
    @cache
    def fetcher() -> Fetcher:
        return _fetcher(client, settings or WebSettings())

    return (_search(looking(root), engines), _fetch(fetcher, client))


def _fetcher(client: Client, settings: WebSettings) -> Fetcher:
    from callblocks.toolkits.web.fetch import Robots
    from callblocks.toolkits.web.web_page import PageCache

    seconds = min(settings.seconds, client.limits.deadline)
    guarded = client.with_limits(body=settings.body, deadline=seconds)
    polite = _wants_robots() if settings.robots is None else settings.robots
    return Fetcher(guarded, PageCache(settings.cache), Robots(client) if polite else None)


def _wants_robots() -> bool:
    return os.environ.get(_ROBOTS, "").strip().lower() not in ("off", "no", "false", "0")


def _search(look: Callable[[], Look], engines: Engines) -> Tool:
    @tool(
        name="web_tools.web_search",
        read_only=True,
        open_world=True,
        kind="source",
        result="search",
        body="queries",
        timeout=_SEARCH_SECONDS,
        origin="builtin",
    )
    async def web_search(queries: _Queries, context: Context, n: _Pages = 5) -> dict[str, Any]:
        """Search the web with one or more queries, and give the best pages of all of them.

        Each page has a number to cite it by. Where no engine is set up, passages of the
        workspace's own files are given, and a notice says so.

        Args:
            queries: what to look for, one or more queries, each in its own words
            n: how many pages to give in all
        """
        from callblocks.toolkits.web.engines import one_line

        lines = [one_line(query, _LONGEST_QUERY) for query in queries]
        # The same query twice would give its pages twice the weight in the fusion.
        asked = [line for line in dict.fromkeys(lines) if line]
        if not asked:
            why = "no query has a word in it"
            raise ToolError("invalid_input", why, queries=why)
        if adapters := engines():
            return envelope(await search_web(adapters, asked, n, context), None)
        return envelope(await search_workspace(look, asked, n, context), None)

    return web_search


def _fetch(fetcher: Callable[[], Fetcher], client: Client) -> Tool:
    def precheck(urls: list[str]) -> None:
        faults: list[ToolError] = []
        for url in urls:
            try:
                client.check(url)
            except ToolError as error:
                faults.append(error)
        # A call is refused early only if no page at all can be requested; otherwise each page has
        # its own failure.
        if len(faults) == len(urls):
            raise faults[0]

    def preview(urls: list[str]) -> str:
        servers = dict.fromkeys(map(_server, urls))
        return "\n".join(
            ("asks, and others only where a rule allows it:", *(f"  {one}" for one in servers))
        )

    @tool(
        name="web_tools.web_fetch",
        read_only=True,
        open_world=True,
        kind="source",
        result="fetch",
        # A URL can carry data out of the machine (exfiltration by query string), so the tool needs
        # an approval unless a rule names it.
        needs_approval=True,
        body="urls",
        preview=preview,
        precheck=precheck,
        timeout=PAGE_SECONDS * (MOST_URLS / AT_ONCE) + 10,
        origin="builtin",
    )
    async def web_fetch(urls: _Uris, context: Context) -> dict[str, Any]:
        """Read pages of the web: the title, the date and the main text of each, by its address.

        Takes HTML, PDF and plain text. A page that cannot be read has an error in its place, and
        the others are given.

        Args:
            urls: whole addresses, each with http:// or https://
        """
        pages = await fetcher().fetch(urls, context)
        return envelope(pages, _failure(pages))

    return web_fetch


def _server(url: str) -> str:
    """Return the origin of a URL in ASCII (punycode), so that look-alike letters are visible."""
    try:
        return read_url(url).origin
    except ToolError:
        return "nobody, for an address that cannot be asked"


def _failure(pages: dict[str, dict[str, Any]]) -> Failure | None:
    """Return a failure with each distinct reason if no page could be read, else `None`."""
    if any("content" in page for page in pages.values()):
        return None
    errors = [page["error"] for page in pages.values() if "error" in page]
    reasons = dict.fromkeys(error["message"] for error in errors)
    several = f"none of {len(errors)} pages could be read: " if errors[1:] else ""
    message = several + "; ".join(list(reasons)[:_REASONS])
    more = f"; and {len(reasons) - _REASONS} more reasons" if len(reasons) > _REASONS else ""
    return Failure(code=errors[0]["code"], message=message + more, where="web_tools.web_fetch")


# --- Fusion of several ranked lists of pages into one ---
#
#     fused([["a", "b"], ["b", "c"]])   b, a, c
#
# Reciprocal rank fusion: a list gives the page at rank r the weight 1 / (60 + r). It needs no
# common scale of scores, so lists of different engines can be fused. Pages are identified by their
# canonical URL.

# The constant of the RRF paper (Cormack 2009): it flattens the advantage of the first ranks.
_SMOOTH = 60


def fused(lists: Iterable[Sequence[dict[str, Any]]], limit: int) -> list[dict[str, Any]]:
    """Return the best rows of all lists, each page once, with the longest of its snippets."""
    weights: dict[str, float] = {}
    rows: dict[str, dict[str, Any]] = {}
    for ranked in lists:
        # A list that names a page twice must not count twice; its rank is that among distinct
        # pages.
        seen: set[str] = set()
        for row in ranked:
            key = _key(row)
            if key not in seen:
                seen.add(key)
                weights[key] = weights.get(key, 0.0) + 1 / (_SMOOTH + len(seen))
                rows[key] = _joined(rows[key], row) if key in rows else row
    best = sorted(weights, key=lambda key: -weights[key])
    return [rows[key] for key in best[:limit]]


def _key(row: dict[str, Any]) -> str:
    """Return the identity of a row: a page's URL, or the place of a passage in a file."""
    if row.get("url"):
        return canonical_url(row["url"])
    return repr([row.get(name) for name in ("path", "page", "line")])


def _joined(known: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    longer = max(known.get("snippet", ""), row.get("snippet", ""), key=len)
    return {**row, **known, "snippet": longer}


# --- Several queries at once, fused into one list ---
#
# A failed query does not discard the results of the others; the search fails only if all queries
# do.

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
