"""Limits on the rate of requests of each client, and on the number of open streams.

Each client has a bucket of `burst` requests that fills again with `rate` a second. A client is an
address; of IPv6 the first half, which is what one household gets. A proxy asks for many clients,
and says for which: the last address of `X-Forwarded-For`. Proxies are those of the settings, and
with public URLs those on this machine.

Requests without the token have a bucket of their own: on a loopback address all users of a machine
are one client, and a stranger must not use up what the owner may ask.

Buckets that are full again are forgotten, so they need no more memory than there are busy clients.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from callblocks.server.http.faults import ApiFault
from callblocks.server.http.protocol import is_welcome
from callblocks.server.settings import ServerSettings, is_loopback, read_network

__all__ = ("Buckets", "RateLimit", "Slots", "client_name")

_CLIENT = "callblocks.client"

_MAX_CLIENTS = 10_000
_HALF = 64


class Buckets:
    """Token buckets: the number of requests that each client has left."""

    def __init__(
        self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._left)

    def take(self, client: str) -> float:
        """Take one; 0, or the seconds until there is one again."""
        now = self._clock()
        left, since = self._left.pop(client, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._rate)
        wait = 0.0 if left >= 1 else (1 - left) / self._rate
        self._left[client] = (left if wait else left - 1, now)
        self._forget(now)
        return wait

    def _forget(self, now: float) -> None:
        """The oldest first: they had the most time to fill up."""
        while self._left:
            client, (left, since) = next(iter(self._left.items()))
            is_full = left + (now - since) * self._rate >= self._burst
            if not is_full and len(self._left) <= _MAX_CLIENTS:
                return
            del self._left[client]


def client_name(scope: Scope) -> str:
    """Return which client sends a request, as `RateLimit` tells them apart."""
    return scope.get(_CLIENT, "")


def _bucket(scope: Scope) -> str:
    return scope[_CLIENT] if is_welcome(scope) else f"stranger {scope[_CLIENT]}"


class RateLimit:
    """Refuses requests of a client that asks too often."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        self._buckets = Buckets(settings.rate, settings.burst)
        self._has_proxy = bool(settings.public_urls)
        self._networks = tuple(filter(None, map(read_network, settings.proxies)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope[_CLIENT] = self._client(scope)
        if scope["type"] == "http" and (wait := self._buckets.take(_bucket(scope))):
            words = "this client asks too often; wait as long as Retry-After says"
            fault = ApiFault("too_many_requests", words, {"retry-after": str(int(wait) + 1)})
            await fault.refusal(scope)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _client(self, scope: Scope) -> str:
        client = scope.get("client")
        host = str(client[0]) if client else ""
        if self._is_proxy(host):
            # Those before the last one are what the client itself says.
            said = Headers(scope=scope).get("x-forwarded-for", "").rpartition(",")[2].strip()
            return _household(said) or host
        return _household(host) or host

    def _is_proxy(self, host: str) -> bool:
        if self._has_proxy and is_loopback(host):
            return True
        if not self._networks:
            return False
        try:
            address = ip_address(host)
        except ValueError:
            return False
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        return any((mapped or address) in network for network in self._networks)


class Slots:
    """A number of places, such as for streams; who finds none is sent away for a while."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.taken = 0

    def check(self) -> None:
        """Refuse, if there is none."""
        if self.taken >= self._count:
            words = f"{self._count} streams are open, which is the limit here; try again later"
            raise ApiFault("too_many_streams", words, {"retry-after": "5"})

    @contextmanager
    def hold(self) -> Generator[None]:
        """Take one, and give it back."""
        self.check()
        self.taken += 1
        try:
            yield
        finally:
            self.taken -= 1


def _household(host: str) -> str:
    """The part of an address that one client has; "" for what is no address."""
    try:
        address = ip_address(host)
    except ValueError:
        return ""
    if isinstance(address, IPv6Address) and not address.ipv4_mapped:
        return str(int(address) >> _HALF)
    return host
