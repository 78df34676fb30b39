"""robots.txt of sites, as RFC 9309 defines it.

    no such file (4xx)         everything may be read
    it cannot be had (5xx …)   nothing may be read, for a while
    larger than 500 KiB        its start counts

It is requested at most once an hour for each origin, through the same guarded client as the page.
The cache is bounded by the size of the rules, so an entry may be evicted earlier.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import msgspec

from callblocks.model.errors import ToolError
from callblocks.runtime.net.client import CheckUrl, Client
from callblocks.runtime.net.url import read_url
from callblocks.toolkits.web.robots_rules import AGENT, read_rules

if TYPE_CHECKING:
    from protego import Protego

__all__ = ("Robots",)

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
