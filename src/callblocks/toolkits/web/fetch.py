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
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.sources import canonical_url
from callblocks.core.urls import Url, read_url
from callblocks.guard.net.client import CheckUrl, Client, Response
from callblocks.toolkits.search.reader_process import Apart
from callblocks.toolkits.web.web_page import (
    MOST_TEXT,
    Kept,
    PageCache,
    WebPage,
    conditions,
    kind_of_page,
    may_be_kept,
    read_response,
    seconds_fresh,
)
from callblocks.tools.tool import Context

if TYPE_CHECKING:
    from protego import Protego

__all__ = (
    "AGENT",
    "AT_ONCE",
    "PAGE_SECONDS",
    "Fetcher",
    "Fetching",
    "Robots",
    "for_us",
    "read_rules",
)

# --- Reduction of a robots.txt to the groups that apply to us ---
#
#     User-agent: googlebot      User-agent: another
#     User-agent: *          →   User-agent: *
#     Disallow: /private         Disallow: /private
#
# All other agents are renamed to one. The parser stores each rule once per agent of its group, so a
# small file that names thousands of both would exhaust memory.

# The product token that a site's rules use for us.
AGENT = "callblocks"

_OTHERS = "another"
_NAMES = re.compile(
    r"\s*(?:user-agent|useragent|user\s+agent)(?:\s*:|\s)\s*(.*?)\s*", re.IGNORECASE
)


def read_rules(text: str) -> Protego:
    """Parse a robots.txt; ask the result what `AGENT` may read."""
    from protego import Protego

    return Protego.parse(for_us(text))


def for_us(text: str) -> str:
    """Return the text with all other agents renamed to one."""
    return "\n".join(map(_line, text.splitlines()))


def _line(line: str) -> str:
    named = _NAMES.fullmatch(line.partition("#")[0])
    if named is None:
        return line
    name = named[1].lower()
    # An empty name is kept as it is, since the parser decides its meaning; `callblocks*` names us
    # too.
    ours = name in ("", "*") or name.replace("*", "") == AGENT
    return f"User-agent: {name if ours else _OTHERS}"


# --- robots.txt of sites, as RFC 9309 defines it ---
#
#     no such file (4xx)         everything may be read
#     it cannot be had (5xx …)   nothing may be read, for a while
#     larger than 500 KiB        its start counts
#
# It is requested at most once an hour for each origin, through the same guarded client as the page.
# The cache is bounded by the size of the rules, so an entry may be evicted earlier.

_SIZE = 500 * 1024
_HOUR = 3_600.0
# A site whose robots.txt is unavailable is tried again after this many seconds.
_A_WHILE = 60.0
_KNOWN = 256
# Bound on cached robots.txt characters; the parsed rules take about forty times as much memory.
_ROOM = 4 * _SIZE


class _Known(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of a site, `None` if they are unavailable; `size` is the length of their text."""

    rules: Protego | None
    size: int = 0
    until: float = 0.0


class Robots:
    """A cache of robots.txt rules; `clock` returns monotonic seconds."""

    def __init__(self, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        limits = client.limits
        self._client = client.with_limits(
            body=4 * _SIZE, deadline=min(10.0, limits.deadline), connections=16
        )
        self._clock = clock
        self._rules: OrderedDict[str, _Known] = OrderedDict()
        self._size = 0
        # An asyncio lock belongs to one event loop, so the loop is part of the key. Weak values: a
        # lock lives as long as somebody waits for it.
        self._asking: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()

    async def enter(self, url: str, check: CheckUrl) -> None:
        """Raise `robots_denied` if the site does not want this page to be read by programs."""
        rules = await self._rules_of(url, check)
        if rules is None:
            raise ToolError(
                "robots_denied",
                f"{read_url(url).origin}/robots.txt cannot be had, so nothing is read there",
            )
        if not rules.can_fetch(url, AGENT):
            host = read_url(url).host
            why = f"{host} asks programs not to read this page (robots.txt)"
            raise ToolError("robots_denied", why)

    async def _rules_of(self, url: str, check: CheckUrl) -> Protego | None:
        """Return the rules of a site; concurrent pages of one site cause one request."""
        origin = read_url(url).origin
        key = (id(asyncio.get_running_loop()), origin)
        lock = self._asking.setdefault(key, asyncio.Lock())
        async with lock:
            known = self._rules.get(origin)
            if known is None or known.until < self._clock():
                known = await self._asked(origin, check)
                self._remember(origin, known)
        return known.rules

    def _remember(self, origin: str, known: _Known) -> None:
        before = self._rules.pop(origin, None)
        self._size += known.size - (before.size if before else 0)
        self._rules[origin] = known
        while self._size > _ROOM or len(self._rules) > _KNOWN:
            _, oldest = self._rules.popitem(last=False)
            self._size -= oldest.size

    async def _asked(self, origin: str, check: CheckUrl) -> _Known:
        try:
            response = await self._client.request(f"{origin}/robots.txt", check=check)
        except ToolError as error:
            if error.code == "policy_denied":
                # Expires at once: the refusal belongs to this call's policy, and another call may
                # have another.
                return _Known(rules=None)
            if error.code in ("timeout", "network_error", "response_too_large"):
                return self._known(None)
            if error.code in ("too_many_redirects", "invalid_url"):
                # RFC 9309, 2.3.1.2: too many redirects count as "unavailable", which permits
                # everything.
                return self._known("")
            raise
        if response.status >= 500:
            return self._known(None)
        if response.status != 200:
            return self._known("")
        text = response.body[:_SIZE].decode("utf-8", "replace").removeprefix("\ufeff")
        return await asyncio.to_thread(self._known, text)

    def _known(self, text: str | None) -> _Known:
        if text is None:
            return _Known(rules=None, until=self._clock() + _A_WHILE)
        return _Known(rules=read_rules(text), size=len(text), until=self._clock() + _HOUR)


# --- Concurrent fetching of pages, isolated from each other ---

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

    async def _read(self, response: Response) -> WebPage:
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


def _shown(page: WebPage, url: str, kept: str) -> dict[str, Any]:
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
