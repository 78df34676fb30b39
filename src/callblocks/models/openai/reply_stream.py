"""A request to an OpenAI-compatible server, and the pieces of its reply.

    async with aclosing(ask(stream, "chat/completions", body)) as pieces:
        async for piece in pieces: ...

A reply is a stream of events, or one JSON object from a server that does not stream. The first byte
decides, not the declared content type, which many servers get wrong.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, asynccontextmanager, suppress
from email.utils import parsedate_to_datetime
from math import isfinite
from time import time
from typing import Any

import msgspec

from callblocks.core.errors import CallerError, ModelError
from callblocks.models.model import FairTurns, Piece
from callblocks.models.openai.endpoint import EndpointSettings
from callblocks.models.openai.endpoint_faults import Faults, is_model_unknown
from callblocks.models.openai.http_client import (
    ModelHttp,
    ProxiedReply,
    ask_models,
    ask_owner,
    check_host,
    new_http,
    unreachable,
    words_of_error,
)
from callblocks.models.openai.reply_reader import Chunk, ReplyReader, read_chunk
from callblocks.models.openai.stream_transport import StreamFault, StreamReply, UnreadableReply

__all__ = (
    "WHOLE",
    "Arriving",
    "EventLines",
    "HttpStream",
    "ServerEvent",
    "ask",
    "may_pass",
    "server_events",
    "wait_before",
)

# --- Server-sent events from pieces of bytes, cut anywhere ---
#
#     b'data: {"a":\r\n' b'data: 1}\r\n\r\n: a comment\r\n'      ServerEvent(data='{"a":\n1}')
#
# A line ends with LF, CRLF or CR; an event with an empty line, or with the text. Fields other than
# `data` and `event` are ignored, and so are comments and events without data. A line `error: …` is
# the data of an event `error`: some servers write it so.

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"


class ServerEvent(msgspec.Struct, frozen=True):
    """One event; `kind` is its name."""

    data: str
    kind: str = "message"


class EventLines:
    """The reader of one stream. `feed` yields the events that a piece completes, `close` the rest.

    Both yield events one by one, so that a line longer than `limit` bytes raises `ModelError`
    (`model_too_long`) only after all events before it. The data of one event has the same limit.
    `server` is its name in the message.
    """

    def __init__(self, limit: int = 1 << 20, server: str = "the model's server") -> None:
        self._limit = limit
        self._server = server
        self._line: list[bytes] = []
        self._line_size = 0
        self._is_first = True
        self._after_cr = False
        self._kind = ""
        self._fields: list[str] = []
        self._size = 0

    def feed(self, piece: bytes) -> Iterator[ServerEvent]:
        """Yield the events that end in this piece; consume all of them before the next piece."""
        if self._is_event(piece):
            yield ServerEvent(piece[6:-2].decode("utf-8", "replace"))
            return
        # A CR at the end of a piece already ended its line; the LF that may follow in the next
        # piece belongs to it.
        if self._after_cr and piece:
            piece = piece.removeprefix(b"\n")
            self._after_cr = False
        self._after_cr = self._after_cr or piece.endswith(b"\r")
        *ended, rest = _LINE_END.split(piece)
        for part in ended:
            self._extend(part)
            yield from self._end_line()
        self._extend(rest)

    def _is_event(self, piece: bytes) -> bool:
        """Return whether a piece is one event of one line, as most servers send each.

        It needs none of the states then, which takes a quarter of the time.
        """
        if not piece.startswith(b"data: ") or not piece.endswith(b"\n\n"):
            return False
        if self._line or self._fields or self._kind or len(piece) > self._limit:
            return False
        if piece.count(b"\n") != 2 or b"\r" in piece:
            return False
        self._is_first = self._after_cr = False
        return True

    def close(self) -> Iterator[ServerEvent]:
        """Yield the event that was not ended by an empty line, if there is one."""
        if self._line:
            yield from self._end_line()
        yield from self._end_event()

    def _extend(self, part: bytes) -> None:
        # The size is checked as the line grows, not when it ends: a line without end must not fill
        # the memory.
        self._line_size += len(part)
        if self._line_size > self._limit:
            raise _too_long(self._server, self._limit)
        if part:
            self._line.append(part)

    def _end_line(self) -> Iterator[ServerEvent]:
        line = b"".join(self._line)
        self._line, self._line_size = [], 0
        if self._is_first:
            line = line.removeprefix(_BOM)
            self._is_first = False
        if line:
            self._read(line.decode("utf-8", "replace"))
        else:
            yield from self._end_event()

    def _read(self, line: str) -> None:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._kind = value
        elif field == "data":
            self._add(value)
        elif field == "error":
            self._kind = "error"
            self._add(value)

    def _add(self, value: str) -> None:
        self._size += len(value) + 1
        if self._size > self._limit:
            raise _too_long(self._server, self._limit)
        self._fields.append(value)

    def _end_event(self) -> Iterator[ServerEvent]:
        fields, kind = self._fields, self._kind
        self._fields, self._kind, self._size = [], "", 0
        if fields:
            yield ServerEvent("\n".join(fields), kind or "message")


def _too_long(server: str, limit: int) -> ModelError:
    return ModelError(
        "model_too_long",
        f"{server} sent a line or an event of more than {limit} bytes; raise line_limit if that "
        "can be right",
        limit=limit,
    )


# --- Retrying: whether a request without a reply is sent again, and when ---
#
#     Retry-After: 2                                2 s
#     Retry-After: Thu, 01 Jan 2026 00:00:00 GMT    until then
#     Retry-After: 3600                             not at all: that is above `wait_seconds`
#
# Only faults before the first byte of a reply get here (see `http_stream`), so a retry can repeat
# nothing that a person saw or a tool did.


def may_pass(error: ModelError) -> bool:
    """Return whether the same request may succeed in a moment."""
    return error.code == "model_unreachable" or error.details.get("status") in (429, 503)


# The server's own word has precedence over our default: it knows when its limit resets.
def wait_before(header: str | None, default: float, longest: float) -> float | None:
    """Return the seconds to wait by a `Retry-After` header; `None` if that is too long."""
    if header is None:
        return default
    try:
        seconds = _seconds(header)
    except (ValueError, OverflowError):
        return default
    return max(seconds, 0.0) if seconds <= longest else None


def _with_wait(error: ModelError, header: str | None) -> ModelError:
    """Note in an error how many seconds its server asks to wait, as `retry_after`."""
    if header is not None:
        with suppress(ValueError, OverflowError):
            seconds = max(_seconds(header), 0.0)
            if isfinite(seconds):
                error.details["retry_after"] = seconds
    return error


def _seconds(header: str) -> float:
    try:
        return float(header)
    except ValueError:
        return parsedate_to_datetime(header).timestamp() - time()


# --- One POST to a model's server, and its reply as bytes, piece by piece, as they arrive ---
#
#     async with stream.post("chat/completions", body) as arriving:
#         while piece := await arriving.piece(): ...
#
# Connections are kept and reused. Leaving the block ends the request: the server sees the
# connection close.
#
# Retrying. A request is repeated only while no byte of a reply was read: the model has then
# produced nothing that a session could have shown or acted on. A fault in the middle of a reply is
# never repeated, because its first half is already on the screen and its calls may have run.

_ERROR_BODY = 1 << 16
_DRAIN_SECONDS = 0.5
_LIST_SECONDS = 3.0


class Arriving:
    """A reply that arrives. `kind` is the declared media type."""

    def __init__(self, reply: StreamReply | ProxiedReply, stream: HttpStream) -> None:
        self.kind = reply.headers.get("content-type", "")
        self._reply = reply
        self._stream = stream
        self._seconds = stream.settings.first_seconds

    async def piece(self) -> bytes:
        """Return the next bytes, at least one; b"" at the end."""
        faults = self._stream.faults
        try:
            piece = await self._reply.piece(self._seconds)
        except TimeoutError:
            raise _timeout(faults, self._seconds) from None
        except StreamFault as error:
            raise _broke(faults, error) from None
        # The first byte may take minutes (prompt processing); after it, a pause means a stall.
        self._seconds = self._stream.settings.stall_seconds
        return piece

    async def finish(self) -> None:
        """Wait a moment for the end, so that the connection can be reused."""
        with suppress(TimeoutError, StreamFault):
            async with asyncio.timeout(_DRAIN_SECONDS):
                while await self._reply.piece():
                    pass


class HttpStream:
    """The connections to one model's server. They belong to the event loop that first asks."""

    def __init__(self, settings: EndpointSettings) -> None:
        if not settings.base_url or not settings.model:
            raise CallerError("an endpoint needs a base_url and a model")
        check_host(settings)
        self.settings = settings
        self.faults = Faults(settings)
        self._http: ModelHttp | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def post(self, path: str, body: dict[str, Any]) -> AsyncGenerator[Arriving, None]:
        """Send a request; raise `ModelError` unless the server answers with 200."""
        reply = await self._answer(path, _encoded(body))
        try:
            yield Arriving(reply, self)
        finally:
            await reply.aclose()

    async def close(self) -> None:
        """Close every connection."""
        http, self._http = self._http, None
        if http is not None:
            await http.close()

    async def owner(self) -> str:
        """Return who owns the model by the server's list; "" where it has no list that says it."""
        try:
            client = (await self._connected()).client
            return await ask_owner(client, self.settings, _LIST_SECONDS)
        except ModelError:
            return ""

    async def _answer(self, path: str, content: bytes) -> StreamReply | ProxiedReply:
        """Return the first answer that is a reply. No byte of it was read, so retrying is safe."""
        # Counts down, so that `left` is 0 in the last try, whose error is raised.
        for left in reversed(range(self.settings.tries)):
            wait: float | None = self.settings.retry_seconds
            try:
                reply = await self._send(path, content)
                if reply.status == 200:
                    return reply
                header = reply.headers.get("retry-after")
                wait = wait_before(header, wait, self.settings.wait_seconds)
                raise _with_wait(await self._refusal(reply), header)
            except ModelError as error:
                if not left or wait is None or not may_pass(error):
                    raise
            await asyncio.sleep(wait)
        raise AssertionError("tries is more than 0")

    async def _send(self, path: str, content: bytes) -> StreamReply | ProxiedReply:
        seconds = self.settings.first_seconds
        try:
            async with asyncio.timeout(seconds):
                return await (await self._connected()).post(path, content)
        except TimeoutError:
            raise _timeout(self.faults, seconds) from None
        except (StreamFault, OSError, UnicodeError) as error:
            # The library's message, cause and request may contain the key, so none of them is
            # chained.
            raise unreachable(self.faults, error) from None

    async def _refusal(self, reply: StreamReply | ProxiedReply) -> ModelError:
        body = bytearray()
        try:
            with suppress(TimeoutError, StreamFault):
                # The body of an error is read for its message only: bounded in size and time, and
                # optional.
                async with asyncio.timeout(self.settings.stall_seconds):
                    while len(body) <= _ERROR_BODY and (piece := await reply.piece()):
                        body += piece
        finally:
            await reply.aclose()
        status, said = reply.status, bytes(body[:_ERROR_BODY])
        offered = None
        if is_model_unknown(status, said):
            offered = await self._offered()
        return self.faults.status(status, said, reply.headers.get("location", ""), offered)

    async def _offered(self) -> tuple[str, ...] | None:
        """Return the server's models, for a message; `None` where it does not answer in time."""
        try:
            client = (await self._connected()).client
            return await ask_models(client, self.settings, _LIST_SECONDS)
        except ModelError:
            return None

    async def _connected(self) -> ModelHttp:
        loop = asyncio.get_running_loop()
        if self._http is None or self._loop is not loop:
            http = await new_http(self.settings)
            if self._http is None or self._loop is not loop:
                self._http, self._loop = http, loop
        return self._http


def _encoded(body: dict[str, Any]) -> bytes:
    """Return the body as JSON; a lone surrogate, which JSON cannot encode, becomes a
    question mark.
    """
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        import json

        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _timeout(faults: Faults, seconds: float) -> ModelError:
    return faults.error("model_timeout", f"said nothing for {seconds:g} s; is the model running?")


def _broke(faults: Faults, error: StreamFault) -> ModelError:
    if isinstance(error, UnreadableReply):
        return faults.unreadable("bytes that are not compressed as it says")
    words = words_of_error(faults, error)
    return faults.error("model_unreachable", f"broke off in the middle of the reply: {words}")


# --- A request to an OpenAI-compatible server, and the pieces of its reply ---

_DONE = "[DONE]"
_BLANKS = b" \t\r\n\xef\xbb\xbf"


async def ask(
    stream: HttpStream, path: str, body: dict[str, Any], reader: ReplyReader | None = None
) -> AsyncGenerator[Piece, None]:
    """Send a body and yield the reply as it arrives, `Stopped` last."""
    reader = reader or ReplyReader(stream.faults, stream.settings.reply_limit)
    done = False
    async with stream.post(path, body) as arriving:
        async with aclosing(_chunks(arriving, stream)) as chunks:
            try:
                async for chunk in chunks:
                    done = chunk is None
                    for piece in reader.feed(chunk) if chunk else ():
                        yield piece
            except ModelError:
                # The reply is complete; a fault after its end is no loss.
                if not reader.is_whole:
                    raise
        for piece in reader.close(done=done):
            yield piece
        await arriving.finish()


async def _chunks(arriving: Arriving, stream: HttpStream) -> AsyncGenerator[Chunk | None, None]:
    """Yield the chunks, and `None` where the server marks the end."""
    async with aclosing(server_events(arriving, stream)) as events:
        async for event in events:
            if event.kind == WHOLE:
                yield _object(event.data, stream.faults)
                yield None
                return
            yield (chunk := _read(event, stream.faults))
            if chunk is None:
                return


# So many bytes are read at a time.
_PART = 16 * 1024
# The kind of an event that is the whole reply of a server that does not stream.
WHOLE = "whole reply"


async def server_events(
    arriving: Arriving, stream: HttpStream
) -> AsyncGenerator[ServerEvent, None]:
    """Yield the events of a reply; a reply that is one JSON object is one event (`WHOLE`)."""
    # Leading blanks are skipped: some servers send line breaks to keep the connection alive.
    start = b""
    while not start and (piece := await arriving.piece()):
        start = piece.lstrip(_BLANKS)
    # A proxy or a wrong address answers with a web page.
    if start.startswith(b"<"):
        kind = arriving.kind or "of no type"
        raise stream.faults.unreadable(f"a page ({kind}) and no reply", _text(start))
    if start.startswith(b"{"):
        yield ServerEvent(_text(await _whole(arriving, start, stream)), WHOLE)
        return
    lines, turns = EventLines(stream.settings.line_limit, stream.faults.url), FairTurns()
    while start:
        turns.begin()
        parts = range(0, len(start), _PART) if len(start) > _PART else (0,)
        for at in parts:
            for event in lines.feed(start[at : at + _PART]):
                yield event
            # Comments and empty events are work, too, and nobody sees them.
            await turns.pass_on()
        start = await arriving.piece()
    for event in lines.close():
        yield event


async def _whole(arriving: Arriving, start: bytes, stream: HttpStream) -> bytes:
    limit = stream.settings.reply_limit
    parts, size = [start], len(start)
    while size <= limit and (piece := await arriving.piece()):
        parts.append(piece)
        size += len(piece)
    if size > limit:
        raise stream.faults.error("model_too_long", f"sent a reply of more than {limit} bytes")
    return b"".join(parts)


def _text(body: bytes) -> str:
    return body.decode("utf-8", "replace")


def _read(event: ServerEvent, faults: Faults) -> Chunk | None:
    if event.data.strip() == _DONE:
        return None
    if event.kind == "error":
        raise faults.told(_value(event.data))
    return _chunk(event.data, faults)


def _value(text: str) -> Any:
    """Return the decoded JSON, or the text itself where it is none."""
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text


def _object(text: str, faults: Faults) -> Chunk:
    chunk = _chunk(text, faults)
    if not chunk.choices and not chunk.error and chunk.object != "error":
        raise faults.unreadable("an object that has no reply in it", text)
    return chunk


def _chunk(text: str, faults: Faults) -> Chunk:
    try:
        return read_chunk(text)
    except ValueError as error:
        raise faults.unreadable(f"what is no part of a reply ({error})", text) from None
