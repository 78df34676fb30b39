"""What a site asks of programs: its robots.txt, as RFC 9309 has it.

    no such file (4xx)         everything may be read
    it cannot be had (5xx …)   nothing may be read, for a while
    larger than 500 KiB        its start counts

It is asked once an hour at most for each origin, by the same guarded client as the page.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from callblocks.model.errors import ToolError
from callblocks.runtime.net.client import CheckUrl, Client
from callblocks.runtime.net.url import read_url

if TYPE_CHECKING:
    from protego import Protego

__all__ = ("AGENT", "Robots")

AGENT = "callblocks"
"""The name that rules of a site may call us by."""

_SIZE = 500 * 1024
_HOUR = 3_600.0
_A_WHILE = 60.0
_KNOWN = 256


class Robots:
    """Remembers what sites ask for; `clock` gives seconds."""

    def __init__(self, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        limits = client.limits
        self._client = client.with_limits(
            body=4 * _SIZE, deadline=min(10.0, limits.deadline), connections=16
        )
        self._clock = clock
        self._rules: OrderedDict[str, tuple[float, Protego | None]] = OrderedDict()
        # A lock belongs to one event loop, and lives as long as somebody waits at it.
        self._asking: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()

    async def enter(self, url: str, check: CheckUrl) -> None:
        """Raise `robots_denied` where the site does not want this page to be read."""
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
        """The rules of a site; many pages of it at once ask once."""
        origin = read_url(url).origin
        key = (id(asyncio.get_running_loop()), origin)
        lock = self._asking.setdefault(key, asyncio.Lock())
        async with lock:
            known = self._rules.get(origin)
            if known is None or known[0] < self._clock():
                rules = await self._asked(origin, check)
                known = (self._clock() + (_HOUR if rules else _A_WHILE), rules)
                self._remember(origin, known)
        return known[1]

    def _remember(self, origin: str, known: tuple[float, Protego | None]) -> None:
        self._rules[origin] = known
        self._rules.move_to_end(origin)
        if len(self._rules) > _KNOWN:
            self._rules.popitem(last=False)

    async def _asked(self, origin: str, check: CheckUrl) -> Protego | None:
        from protego import Protego

        try:
            response = await self._client.request(f"{origin}/robots.txt", check=check)
        except ToolError as error:
            if error.code in ("timeout", "network_error", "response_too_large", "policy_denied"):
                return None
            if error.code in ("too_many_redirects", "invalid_url"):
                # As if there were no such file: RFC 9309, 2.3.1.2.
                return Protego.parse("")
            raise
        if response.status >= 500:
            return None
        if response.status != 200:
            return Protego.parse("")
        text = response.body[:_SIZE].decode("utf-8", "replace").removeprefix("\ufeff")
        return await asyncio.to_thread(Protego.parse, text)
