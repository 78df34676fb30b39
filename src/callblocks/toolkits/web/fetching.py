"""Concurrent fetching of pages, isolated from each other.

    {"https://tides.example/": {"title": "Tides", "date": "2024-05-01", "content": "High at six …"},
     "https://gone.example/":  {"error": {"code": "http_error", "message": "…"}}}

Each page has its own time limit and its own failure, so one slow or broken site does not affect the
others. The policy is consulted for every URL including redirect targets, and robots.txt for every
page, before the request is sent.

Cache states of a page: fresh (no request), stale (conditional request; 304 renews it), missing. A
304 after a redirect is distrusted: it answers for another URL than the cached one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import msgspec

from callblocks.model.canonical_url import canonical_url
from callblocks.model.errors import ToolError
from callblocks.runtime.net.client import Client
from callblocks.runtime.net.response import Response
from callblocks.runtime.net.url import Url, read_url
from callblocks.toolkits.finding.apart import Apart
from callblocks.toolkits.web.cache import Kept, PageCache
from callblocks.toolkits.web.freshness import conditions, may_be_kept, seconds_fresh
from callblocks.toolkits.web.page import MOST_TEXT, Page, kind_of_page, read_response
from callblocks.toolkits.web.robots import Robots
from callblocks.tools.context import Context

__all__ = ("AT_ONCE", "PAGE_SECONDS", "Fetcher", "Fetching")

# Pages that are read side by side.
AT_ONCE = 4

# How long one page may take, with its redirects, its robots.txt and reading it.
PAGE_SECONDS = 75.0

_MEGABYTE = 1_000_000
_ACCEPT = "text/html, application/xhtml+xml, application/pdf, text/*;q=0.9, */*;q=0.5"


class Fetcher:
    """A reader of pages through one client. Without `robots`, robots.txt is not consulted."""

    def __init__(self, client: Client, cache: PageCache, robots: Robots | None) -> None:
        self.client = client
        self.cache = cache
        self.robots = robots

    async def fetch(self, urls: Sequence[str], context: Context) -> dict[str, dict[str, Any]]:
        """Return a page or an error for each URL, in the given order."""
        with Apart() as apart:
            fetching = Fetching(self, apart, context, len({*map(canonical_url, urls)}))
            return await fetching.pages(urls)


class Fetching:
    """One call: concurrent pages and a count of the finished ones."""

    def __init__(self, fetcher: Fetcher, apart: Apart, context: Context, total: int) -> None:
        self._fetcher = fetcher
        self._apart = apart
        self._context = context
        self._total = total
        self._done = 0
        self._room = asyncio.Semaphore(AT_ONCE)
        # One parser process serves all pages, so only one thread at a time can use it. The lock
        # keeps the others in the event loop instead of in threads of the shared pool.
        self._reading = asyncio.Lock()

    async def pages(self, urls: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Fetch each page once; a different spelling of the same URL refers to the first."""
        first: dict[str, str] = {}
        for url in urls:
            # Models often give one address with and without a slash or a fragment. One request
            # serves all spellings, and the result refers to the first.
            first.setdefault(canonical_url(url), url)
        found = await asyncio.gather(*map(self._page, first.values()))
        pages = dict(zip(first.values(), found, strict=True))
        return {url: pages.get(url, {"same_as": first[canonical_url(url)]}) for url in urls}

    async def _page(self, url: str) -> dict[str, Any]:
        async with self._room:
            try:
                async with asyncio.timeout(PAGE_SECONDS):
                    shown = await self._fetched(read_url(url))
                told = f"{shown['bytes']:,} bytes"
            except ToolError as error:
                shown, told = {"error": {"code": error.code, "message": error.message}}, error.code
            except TimeoutError:
                why = f"the page was not read within {PAGE_SECONDS:g} seconds"
                shown, told = {"error": {"code": "timeout", "message": why}}, "timeout"
        self._done += 1
        self._context.report(f"page {self._done} of {self._total}: {_host(url)}, {told}\n")
        return shown

    async def _fetched(self, url: Url) -> dict[str, Any]:
        address, cache = str(url), self._fetcher.cache
        # Taint first: even the failure of a page is controlled by its server.
        self._context.taint(f"the page of {url.host}")
        kept = await asyncio.to_thread(cache.get, address)
        if kept is not None and cache.is_fresh(kept):
            # The site's robots.txt may have changed since the page was stored.
            await self._enter(address)
            return _shown(kept.page, "", "fresh")
        response = await self._asked(address, kept.conditions if kept else {})
        if response.status == 304 and kept is not None:
            if not response.history:
                await asyncio.to_thread(cache.put, address, _again(kept, response, cache))
                return _shown(kept.page, "", "unchanged")
            # The 304 came from a redirect target, which did not answer for the cached page. Ask
            # again without conditions.
            response = await self._asked(address, {})
        page = await self._read(response)
        # Keyed by the requested address: answers that came through a redirect are never kept, see
        # `may_be_kept`.
        if may_be_kept(response):
            until = cache.clock() + seconds_fresh(response)
            new = Kept(page=page, fresh_until=until, conditions=conditions(response))
            await asyncio.to_thread(cache.put, address, new)
        return _shown(page, "" if response.url == address else response.url, "")

    async def _asked(self, address: str, extra: dict[str, str]) -> Response:
        return await self._fetcher.client.request(
            address,
            headers={"Accept": _ACCEPT, **extra},
            check=self._context.refusal,
            enter=self._enter,
            heard=partial(self._heard, _host(address), [0]),
        )

    async def _enter(self, url: str) -> None:
        if self._fetcher.robots is not None:
            await self._fetcher.robots.enter(url, self._context.refusal)

    async def _read(self, response: Response) -> Page:
        if response.not_followed:
            why = f"the page leads away from https, to {response.not_followed}"
            raise ToolError("http_error", why, status=response.status)
        if not 200 <= response.status < 300:
            why = f"the server answered with status {response.status}"
            raise ToolError("http_error", why, status=response.status)
        said = _prefixed(self._context, read_url(response.url).host)
        try:
            async with nullcontext() if kind_of_page(response) == "text" else self._reading:
                return await asyncio.to_thread(read_response, response, self._apart, said)
        finally:
            # A thread cannot be interrupted. Setting `cancelled` makes the parser stop after the
            # timeout.
            said.cancelled = True
            self._context.notices += said.notices

    def _heard(self, host: str, told: list[int], size: int) -> None:
        """Report each further megabyte of a long page."""
        if size // _MEGABYTE > told[0]:
            told[0] = size // _MEGABYTE
            self._context.report(f"{host}: {size:,} bytes\n")


def _prefixed(context: Context, host: str) -> Context:
    """Return a context that prefixes reports with the page's host."""
    return Context(context.call_id, report=lambda text: context.report(f"{host}: {text}"))


def _again(kept: Kept, response: Response, cache: PageCache) -> Kept:
    """Return the kept page with a new freshness time."""
    until = cache.clock() + seconds_fresh(response)
    return msgspec.structs.replace(kept, fresh_until=until)


def _shown(page: Page, url: str, kept: str) -> dict[str, Any]:
    """Return a page for the model, without empty fields."""
    told = {"title": page.title, "date": page.date, "type": page.type}
    told |= {"final_url": url, "cached": kept}
    shown: dict[str, Any] = {name: value for name, value in told.items() if value}
    if page.cut:
        shown["cut"] = f"only the first {MOST_TEXT:,} characters of its text are here"
    return {**shown, "bytes": page.size, "content": page.text}


def _host(url: str) -> str:
    try:
        return read_url(url).host
    except ToolError:
        return "an address that cannot be asked"
