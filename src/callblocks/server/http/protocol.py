"""HTTP as uvicorn reads it, with limits on what has no limit there.

- The line of the request and its headers together pass `max_headers` bytes: 400.
- A connection whose request, body and all, does not arrive in time is cut off, unless the answer
  to it is under way: whoever reads the body then has a time of their own for it.
- A connection on which no request had the token is a stranger's. Beyond `max_strangers` the oldest
  idle one of the address with the most is cut off, so a client with the token always gets in. An
  idle stranger is cut off after `stranger_timeout`.
- A stranger that asks again before the answer is there is cut off: no browser does that, and an
  answer that nobody takes would keep the connection from being idle.
- A connection beyond `max_connections` gets a 503 and is closed, unless a stranger can be cut off.
- A client that takes nothing, or next to nothing, for `send_timeout` is cut off, with all that
  waits to be sent to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from starlette.types import Receive, Scope
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from callblocks.server.http.faults import ApiFault
from callblocks.server.settings import ServerSettings

__all__ = (
    "LimitedHttp",
    "Strangers",
    "drop",
    "extensions",
    "is_welcome",
    "limited_http",
    "welcome",
)

# --- Extensions of ASGI with which a request acts on its connection ---
#
# Other servers than this one do not offer them.
#
# - Cut it off, where a client takes nothing: closing politely would wait for it.
# - Welcome it, once a request on it had the token: from then on it is not among the strangers, who
#   are the first to go where there are many connections, and its requests are counted apart.

_DROP = "callblocks.drop"
_WELCOME = "callblocks.welcome"
_IS_WELCOME = "callblocks.is_welcome"


def extensions(
    abort: Callable[[], None], welcome: Callable[[], None]
) -> dict[str, dict[object, object]]:
    """Return the extensions of a connection."""
    return {_DROP: {"do": abort}, _WELCOME: {"do": welcome}}


async def drop(scope: Scope, receive: Receive) -> None:
    """Cut the client off; where that is not offered, it is left to the server."""
    extension = scope.get("extensions", {}).get(_DROP)
    if extension is not None:
        extension["do"]()
        while (await receive())["type"] != "http.disconnect":
            pass


def welcome(scope: Scope) -> None:
    """Say that the client on this connection is known."""
    scope[_IS_WELCOME] = True
    extension = scope.get("extensions", {}).get(_WELCOME)
    if extension is not None:
        extension["do"]()


def is_welcome(scope: Scope) -> bool:
    """Return whether a request had the token."""
    return bool(scope.get(_IS_WELCOME))


# --- HTTP as uvicorn reads it, with limits on what has no limit there ---

_TAKEN = 64 * 1024
"""Bytes that a client takes within `send_timeout`, if so many wait for it."""


class Patience:
    """Waits so many seconds from `begin` on, then calls `late`, unless `end` comes first."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, seconds: float, late: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._seconds = seconds
        self._late = late
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> bool:
        """Wait from now on; False where it waits already."""
        if self._timer is not None:
            return False
        self._timer = self._loop.call_later(self._seconds, self._over)
        return True

    def end(self) -> None:
        """Wait no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _over(self) -> None:
        self._timer = None
        self._late()


class Strangers:
    """The connections of one server on which no request had the token yet, the oldest first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._by_address: dict[str, dict[LimitedHttp, None]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, connection: LimitedHttp) -> None:
        """Add a new connection; beyond the limit, cut off another."""
        self._by_address.setdefault(connection.address, {})[connection] = None
        self._count += 1
        if self._count > self._limit:
            self.make_room(but=connection)

    def discard(self, connection: LimitedHttp) -> None:
        """Remove a connection that showed the token, or was lost."""
        of_address = self._by_address.get(connection.address, {})
        if connection in of_address:
            del of_address[connection]
            self._count -= 1
            if not of_address:
                del self._by_address[connection.address]

    def make_room(self, but: LimitedHttp) -> bool:
        """Cut off the oldest idle stranger of the address with the most; False if there is none."""
        largest_first = sorted(self._by_address.values(), key=len, reverse=True)
        idle = (
            connection
            for of_address in largest_first
            for connection in of_address
            if not connection.is_answering and connection is not but
        )
        victim = next(idle, None)
        if victim is None:
            return False
        self.discard(victim)
        victim.transport.abort()
        return True


class LimitedHttp(HttpToolsProtocol):
    """One connection."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        settings: ServerSettings,
        strangers: Strangers,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._settings = settings
        self._head = 0
        self._is_crowded = False
        self._strangers = strangers
        self._is_stranger = True
        self._waiting = Patience(self.loop, settings.stranger_timeout, self._cut_off_stranger)
        self._reading = Patience(self.loop, settings.read_timeout, self._late)
        self._sending = Patience(self.loop, settings.send_timeout, self._deaf)
        self._unsent = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._strangers.add(self)
        is_crowded = len(self.connections) > self._settings.max_connections
        self._is_crowded = is_crowded and not self._strangers.make_room(but=self)
        self._reading.begin()
        self._waiting.begin()

    def connection_lost(self, exc: Exception | None) -> None:
        self._strangers.discard(self)
        self._waiting.end()
        self._reading.end()
        self._sending.end()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._is_crowded:
            # Only now: closing with unread bytes would cut the answer off.
            self.transport.write(_CROWDED)
            self.transport.close()
            return
        # Here, and not where a request begins: empty lines before one belong to none.
        self._reading.begin()
        super().data_received(data)

    def on_message_begin(self) -> None:
        if self._is_stranger and self.is_answering:
            self.transport.abort()
            raise ValueError("a stranger asks again before the answer is there")
        super().on_message_begin()
        self._head = 0
        self._reading.begin()
        if not self.flow.write_paused:
            self._sending.end()
        self.scope["extensions"] = extensions(self.transport.abort, self._welcome)

    def on_url(self, url: bytes) -> None:
        self._count(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(name + value)
        super().on_header(name, value)

    def on_message_complete(self) -> None:
        self._reading.end()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch_sending()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_sending()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._sending.end()
        if not self.is_answering:
            self._watch_sending()

    def send_400_response(self, msg: str) -> None:
        self.transport.write(_UNREADABLE)
        self.transport.close()

    def _count(self, part: bytes) -> None:
        # Each costs some memory beside its bytes.
        self._head += len(part) + 32
        if self._head > self._settings.max_headers:
            raise ValueError("the headers pass the limit")

    @property
    def address(self) -> str:
        """The address of the client, without its port."""
        return self.client[0] if self.client else ""

    @property
    def is_answering(self) -> bool:
        """True while the answer to a request is being sent."""
        return bool(self.cycle and not self.cycle.response_complete)

    def _welcome(self) -> None:
        if self._is_stranger:
            self._is_stranger = False
            self._waiting.end()
            self._strangers.discard(self)

    def _cut_off_stranger(self) -> None:
        """Cut off a stranger that has no request under way."""
        if self.is_answering:
            self._waiting.begin()
        else:
            self.transport.abort()

    def _late(self) -> None:
        if self.is_answering:
            self._reading.begin()
        else:
            self.transport.abort()

    def _watch_sending(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        if unsent and self._sending.begin():
            self._unsent = unsent

    def _deaf(self) -> None:
        taken = self._unsent - self.transport.get_write_buffer_size()
        if 0 <= taken < min(_TAKEN, self._unsent):
            self.transport.abort()
        else:
            self._watch_sending()


def limited_http(settings: ServerSettings) -> Any:
    """The protocol for uvicorn's `http`."""
    strangers = Strangers(settings.max_strangers)
    return partial(LimitedHttp, settings=settings, strangers=strangers)


def _response(status: str, fault: ApiFault) -> bytes:
    content = bytes(fault.response().body)
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n"
    more = "".join(f"{name}: {value}\r\n" for name, value in fault.headers.items())
    return f"{head}{more}content-length: {len(content)}\r\n\r\n".encode() + content


_CROWDED = _response(
    "503 Service Unavailable",
    ApiFault("too_many_streams", "too many connections are open", {"retry-after": "5"}),
)
_UNREADABLE = _response(
    "400 Bad Request",
    ApiFault("bad_header", "this is no HTTP request, or its headers are too long"),
)
