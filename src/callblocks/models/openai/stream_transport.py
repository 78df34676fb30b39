"""POST over HTTP/1.1 with a reply that streams: how a model's server is asked.

    transport = StreamTransport(connect_seconds=10, tls=None)
    reply = await transport.post(url, headers, content)
    while piece := await reply.piece(): …
    await reply.aclose()

Strategy. A reply of a model is thousands of small pieces, and what is spent on each of them is
what a gateway adds to it. A general client passes each piece through a dozen coroutines and a
parser in Python. Here the protocol of the event loop gives the bytes to the parser of httptools
(C), whose callbacks append to a list, and the one reader is woken. What a general client does
beside that is left out: redirects, cookies, HTTP/2, proxies. A server behind a proxy is asked with
httpx2 (`http_client`).

States of a connection
    idle    Kept for the next request, for some seconds. Any byte, and its end, throw it away.
    busy    Its bytes belong to one `StreamReply`.
    closed  Nothing more comes. The reply ends there, or breaks.

Invariants
    - A connection is kept only behind a reply that was read to its end; any other one is aborted,
      so that the server sees at once that nobody listens.
    - What arrived before a fault is given before the fault is raised.
    - Bytes that nobody reads are bounded: reading pauses above `_MOST_UNREAD`.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import Mapping
from typing import cast

import httpx2
from httptools import HttpParserError, HttpResponseParser

__all__ = ("ConnectTimeout", "StreamFault", "StreamReply", "StreamTransport", "UnreadableReply")

_MOST_HEAD = 256 * 1024
_MOST_UNREAD = 256 * 1024
_MOST_UNPACKED = 64 * 1024
_MOST_IDLE = 20
_IDLE_SECONDS = 5.0
# They frame the body, so they are written here.
_FRAMING = ("content-length", "transfer-encoding")


class StreamFault(Exception):
    """The connection failed or broke, or what came is no HTTP; the message says which."""


class ConnectTimeout(StreamFault):
    """Nobody took the connection in time."""


class UnreadableReply(StreamFault):
    """The body is not compressed as the server says."""


class StreamReply:
    """A reply as it arrives; `status` and `headers` (names in lower case) are known from the start.

    The methods that begin with `on_` are the callbacks of the parser.
    """

    def __init__(self, connection: _Connection, transport: StreamTransport) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.is_untouched = True
        self._connection = connection
        self._transport = transport
        self._parser = HttpResponseParser(self)
        self._head_size = 0
        self._has_head = False
        self._is_whole = False
        self._has_surplus = False
        self._can_keep = False
        self._pieces: list[bytes] = []
        self._size = 0
        self._fault: StreamFault | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._unpacker: _Unpacker | None = None

    async def head(self) -> None:
        """Wait until status and headers are known."""
        while not self._has_head:
            if self._fault is not None:
                raise self._fault
            await self._more(None)
        coding = self.headers.get("content-encoding", "identity").lower()
        if coding in ("gzip", "x-gzip", "deflate"):
            self._unpacker = _Unpacker()
        elif coding not in ("", "identity"):
            self._fault = UnreadableReply(f"it is encoded as {coding}, which was not asked for")

    async def piece(self, seconds: float | None = None) -> bytes:
        """Return the next bytes, at least one; b"" at the end.

        Raise `TimeoutError` where nothing comes for so many seconds.
        """
        if self._unpacker is None:
            return await self._raw(seconds)
        while True:
            packed = b"" if self._unpacker.tail else await self._raw(seconds)
            if not packed and not self._unpacker.tail:
                return b""
            if piece := self._unpacker.take(packed):
                return piece

    async def aclose(self) -> None:
        """End the exchange. Behind a whole reply the connection is kept for the next request."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._connection.reply is not self:
            return
        is_over = self._is_whole and not self._has_surplus and not self._pieces
        if is_over and self._can_keep:
            self._transport.keep(self._connection)
        else:
            self._connection.abort()

    async def _raw(self, seconds: float | None) -> bytes:
        while not self._pieces:
            if self._fault is not None:
                raise self._fault
            if self._is_whole:
                return b""
            await self._more(seconds)
        pieces, size = self._pieces, self._size
        self._pieces, self._size = [], 0
        if size > _MOST_UNREAD:
            self._connection.resume()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def _more(self, seconds: float | None) -> None:
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        if seconds is not None:
            # One timer for the whole reply: each piece only moves the deadline.
            self._deadline = loop.time() + seconds
            if self._timer is None:
                self._timer = loop.call_at(self._deadline, self._check_deadline)
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _check_deadline(self) -> None:
        self._timer = None
        if self._waiter is None or self._waiter.done():
            return
        loop = asyncio.get_running_loop()
        if loop.time() < self._deadline:
            self._timer = loop.call_at(self._deadline, self._check_deadline)
        else:
            self._waiter.set_exception(TimeoutError())

    # --- What the connection says ---

    def receive(self, data: bytes) -> None:
        """Take bytes of the connection."""
        self.is_untouched = False
        if not self._has_head:
            self._head_size += len(data)
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            self._break(f"it sent what is no HTTP ({error})")
        if not self._has_head and self._head_size > _MOST_HEAD:
            self._break(f"it sent headers of more than {_MOST_HEAD} bytes")
        if self._size > _MOST_UNREAD:
            self._connection.pause()
        self._wake()

    def lose(self, error: Exception | None) -> None:
        """Take the end of the connection."""
        ends_so = self._has_head and error is None and not self._is_framed
        if ends_so and self._fault is None:
            self._is_whole = self._has_surplus = True
        if not self._is_whole and self._fault is None:
            place = "in the middle of its reply" if self._has_head else "without a reply"
            words = f"it closed the connection {place}"
            self._fault = StreamFault(f"{words} ({error})" if error else words)
        self._wake()

    @property
    def _is_framed(self) -> bool:
        return any(name in self.headers for name in _FRAMING)

    def _break(self, words: str) -> None:
        if self._fault is None and not self._is_whole:
            self._fault = StreamFault(words)
        self._has_surplus = True
        self._connection.abort()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # --- What the parser says ---

    def on_message_begin(self) -> None:
        """Begin a message: the reply, one behind "100 Continue", or one that nobody asked for."""
        if self._is_whole:
            self._has_surplus = True
        else:
            self.headers.clear()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; the values of one name are one list."""
        if self._has_head:
            return
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        known = self.headers.get(key)
        self.headers[key] = text if known is None else f"{known}, {text}"

    def on_headers_complete(self) -> None:
        """End the head; one of 1xx comes before that of the reply."""
        if not self._has_head and (status := self._parser.get_status_code()) >= 200:
            self.status, self._has_head = status, True
            self._can_keep = self._parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body."""
        if self._has_head and not self._is_whole:
            self._pieces.append(body)
            self._size += len(body)

    def on_message_complete(self) -> None:
        """End the reply."""
        self._is_whole = self._has_head


class _Connection(asyncio.Protocol):
    """One connection to the server; `reply` is the exchange that it is busy with."""

    def __init__(self) -> None:
        self.reply: StreamReply | None = None
        self.is_open = False
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        # That of uvloop is one without being a subclass.
        self._transport, self.is_open = cast("asyncio.Transport", transport), True

    def data_received(self, data: bytes) -> None:
        """Pass bytes on; where nothing was asked, nothing may come."""
        if self.reply is None:
            self.abort()
        else:
            self.reply.receive(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self.is_open = False
        if self.reply is not None:
            self.reply.lose(exc)

    def ask(self, request: bytes, transport: StreamTransport) -> StreamReply:
        """Send a request, and return its reply, of which nothing came yet."""
        assert self._transport is not None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.reply = StreamReply(self, transport)
        self._transport.write(request)
        return self.reply

    def rest(self) -> None:
        """Become idle, for some seconds."""
        self.reply = None
        self._timer = asyncio.get_running_loop().call_later(_IDLE_SECONDS, self.abort)

    def abort(self) -> None:
        """Close the connection at once."""
        self.is_open = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._transport is not None:
            self._transport.abort()

    def pause(self) -> None:
        """Read nothing more until the reply was read."""
        if self._transport is not None and self.is_open:
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read again."""
        if self._transport is not None and self.is_open:
            self._transport.resume_reading()


class StreamTransport:
    """The connections to one server, in one event loop. `tls` has the trusted certificates."""

    def __init__(self, connect_seconds: float, tls: ssl.SSLContext | None) -> None:
        self._connect_seconds = connect_seconds
        self._tls = tls
        self._idle: list[_Connection] = []

    async def post(
        self, url: httpx2.URL, headers: Mapping[str, str], content: bytes
    ) -> StreamReply:
        """Send a request; return its reply once its head has arrived."""
        request = _request(url, headers, content)
        while True:
            connection, is_kept = await self._connection(url)
            reply = connection.ask(request, self)
            try:
                await reply.head()
            except StreamFault:
                connection.abort()
                # The server closed a kept connection while the request was on its way.
                if is_kept and reply.is_untouched:
                    continue
                raise
            except BaseException:
                connection.abort()
                raise
            return reply

    def keep(self, connection: _Connection) -> None:
        """Keep a connection for the next request."""
        self._idle = [one for one in self._idle if one.is_open]
        if connection.is_open and len(self._idle) < _MOST_IDLE:
            connection.rest()
            self._idle.append(connection)
        else:
            connection.abort()

    def close(self) -> None:
        """Close the connections that are idle."""
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.abort()

    async def _connection(self, url: httpx2.URL) -> tuple[_Connection, bool]:
        """Return a connection, and whether it was kept from an earlier request."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                return connection, True
        tls = self._tls if url.scheme == "https" else None
        port = url.port or (443 if tls else 80)
        try:
            async with asyncio.timeout(self._connect_seconds):
                _, made = await asyncio.get_running_loop().create_connection(
                    _Connection, url.host, port, ssl=tls, server_hostname=url.host if tls else None
                )
        except TimeoutError:
            raise ConnectTimeout("no connection in time") from None
        return made, False


def _request(url: httpx2.URL, headers: Mapping[str, str], content: bytes) -> bytes:
    fields = {"host": url.netloc.decode("ascii"), **headers}
    for name in _FRAMING:
        fields.pop(name, None)
    lines = [f"{name}: {value}\r\n" for name, value in fields.items()]
    target = url.raw_path.decode("ascii")
    head = f"POST {target} HTTP/1.1\r\n{''.join(lines)}content-length: {len(content)}\r\n\r\n"
    return head.encode("ascii") + content


class _Unpacker:
    """A decoder of gzip and deflate, of which a small body may expand to any size.

    `tail` is what was not decoded yet.
    """

    def __init__(self) -> None:
        self._inflater = zlib.decompressobj(zlib.MAX_WBITS | 32)
        self.tail = b""

    def take(self, packed: bytes) -> bytes:
        """Return at most `_MOST_UNPACKED` of the decoded bytes."""
        try:
            piece = self._inflater.decompress(self.tail + packed, _MOST_UNPACKED)
        except zlib.error as error:
            raise UnreadableReply(str(error)) from None
        self.tail = self._inflater.unconsumed_tail
        return piece
