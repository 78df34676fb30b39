"""A request to an OpenAI-compatible server, and the pieces of its reply.

    async with aclosing(ask(stream, "chat/completions", body)) as pieces:
        async for piece in pieces: ...

A reply is a stream of events, or one JSON object from a server that does not stream. The first byte
decides, not the declared content type, which many servers get wrong.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import msgspec

from callblocks.model.errors import ModelError
from callblocks.models.endpoint_faults import Faults
from callblocks.models.event_lines import EventLines, ServerEvent
from callblocks.models.http_stream import Arriving, HttpStream
from callblocks.models.model import Piece
from callblocks.models.reply_reader import ReplyReader
from callblocks.models.wire import Chunk, read_chunk

__all__ = ("ask",)

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
    # Leading blanks are skipped: some servers send line breaks to keep the connection alive.
    start = b""
    while not start and (piece := await arriving.piece()):
        start = piece.lstrip(_BLANKS)
    # A proxy or a wrong address answers with a web page.
    if start.startswith(b"<"):
        kind = arriving.kind or "of no type"
        raise stream.faults.unreadable(f"a page ({kind}) and no reply", _text(start))
    if start.startswith(b"{"):
        yield _object(_text(await _whole(arriving, start, stream)), stream.faults)
        yield None
        return
    lines = EventLines(stream.settings.line_limit, stream.faults.url)
    while start:
        for event in lines.feed(start):
            yield (chunk := _read(event, stream.faults))
            if chunk is None:
                return
        start = await arriving.piece()
    for event in lines.close():
        yield _read(event, stream.faults)


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
