"""The log of a turn as the events that an AI SDK client reads.

The last chunk of each event of the log carries its number as `id`, so that a client that lost the
connection can say what it has. Events that are told from the timeline have the number of their
block, which is sent with the last of them.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from itertools import zip_longest
from typing import Any, cast

import msgspec
from starlette.requests import Request

from callblocks.server.chats.chats import FollowedTurn
from callblocks.server.http.event_stream import DONE, PIECE, EventStream, event_bytes
from callblocks.server.http.faults import ApiFault
from callblocks.server.http.request import read_query
from callblocks.server.service import Service, service_of
from callblocks.server.settings import SDK_VERSIONS, SdkClient, SdkVersion
from callblocks.session.event_gate import Logged, TurnLog
from callblocks.views.ui.ai_sdk.stream import UiStream
from callblocks.views.ui.ai_sdk.ui_messages import reply_id

__all__ = (
    "VERSION_HEADER",
    "VersionQuery",
    "client_of",
    "detect_client",
    "ui_response",
)

_AT_ONCE = 2000
"""Events that are read before others have their turn."""

_HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}


def ui_response(
    service: Service,
    turn: FollowedTurn,
    client: SdkClient,
    begin: int | tuple[int, int] = 0,
    answered: Sequence[str] = (),
) -> EventStream:
    """The log from a place or after a number, and then what comes; the client has what is before.

    `answered` are the questions whose answers came with the request.
    """
    service.slots.check()
    log = turn.log

    async def pieces() -> AsyncGenerator[bytes, None]:
        name = await turn.named()
        start = begin if isinstance(begin, int) else log.after(*begin)
        stream = UiStream(
            client.version,
            message_id=reply_id(name or "turn"),
            answers=client.answers,
            resumed=start > 0,
            # What the client has, it got while the turn was under way.
            is_over=log.is_over and not start,
        )
        for some in _by_turns(log.events[:start]):
            for logged in some:
                stream.skip(logged.event)
            await asyncio.sleep(0)
        for approval in answered:
            stream.expect(approval)
        async with aclosing(_pieces(log, stream, start, service.metrics.events.inc)) as rest:
            async for piece in rest:
                yield piece

    held = service.follower(turn.following())
    return EventStream(pieces, service.settings, headers=_HEADERS, held=held)


async def _pieces(
    log: TurnLog, stream: UiStream, start: int, count: Callable[[int], None]
) -> AsyncGenerator[bytes, None]:
    async with aclosing(log.read(start)) as batches:
        async for batch in batches:
            for at, some in enumerate(_by_turns(batch)):
                if at:
                    await asyncio.sleep(0)
                for piece in _joined(some, stream, count):
                    yield piece
            start += len(batch)
            # Only once all that there is was sent: a replay goes past questions of long ago.
            if stream.paused:
                log.asked_at = max(log.asked_at, start)
                break
    last = stream.close()
    count(len(last))
    yield b"".join(map(event_bytes, last)) + DONE


def _by_turns(events: Sequence[Logged]) -> Iterator[Sequence[Logged]]:
    """A few events at a time, so that all others can have their turn between them."""
    for start in range(0, len(events), _AT_ONCE):
        yield events[start : start + _AT_ONCE]


def _joined(
    batch: Sequence[Logged], stream: UiStream, count: Callable[[int], None]
) -> Iterator[bytes]:
    """Events in pieces that are worth a write."""
    parts: list[bytes] = []
    size = sent = 0
    for logged, following in zip_longest(batch, batch[1:]):
        chunks = stream.feed(logged.event)
        if len(chunks) > 1:
            parts.extend(map(event_bytes, chunks[:-1]))
        if chunks:
            parts.append(event_bytes(chunks[-1], _number(logged, following)))
            size += len(parts[-1])
        if size > PIECE:
            yield b"".join(parts)
            sent += len(parts)
            parts, size = [], 0
    count(sent + len(parts))
    if parts:
        yield b"".join(parts)


def _number(logged: Logged, following: Logged | None) -> str:
    """The number of an event; "" where the next one has the same."""
    is_shared = following is not None and logged.at == following.at and logged.seq == following.seq
    return "" if is_shared else f"{logged.seq}.{logged.at}"


# --- The version of the AI SDK client that a stream is written for ---
#
# What a request says counts first: `?sdk_version=7`, or the header `x-callblocks-sdk-version`. The
# chat clients of the npm package say nothing by themselves, and their first requests are equal byte
# for byte. So the rest is found out where it shows, strongest sign first:
#
# - a user agent that names the package: `ai/5.0.277`
# - the history that a client posts: a question that its call never heard of was read by version 5,
#   and so was a call without `providerExecuted`, which the first clients drop
#
# Else it is what the server was started with. The stream of version 6 is the newest that every
# client with approvals reads: 7 reads all of it, while one chunk that only 7 knows would end the
# stream in a client of version 6.
#
# A client of version 5 has no approvals. One that says its version is taken to show `data-approval`
# parts and to answer by POST /api/approvals/ID; one that was only found out is told by an error.

VERSION_HEADER = "x-callblocks-sdk-version"

_AGENT = re.compile(r"(?:^|[\s(])ai/([567])(?:\.|[\s;)]|$)")
_UNANSWERED = ("input-streaming", "input-available")


class VersionQuery(msgspec.Struct, frozen=True):
    """The version that the client has."""

    sdk_version: SdkVersion | None = None


def client_of(
    request: Request, history: Sequence[dict[str, Any]] = (), known: SdkClient | None = None
) -> SdkClient:
    """Return the client that sent a request: as it says, as its signs say, as `known`, or usual."""
    said = _said_version(request)
    if said is not None:
        return SdkClient(said)
    found = detect_client(request.headers.get("user-agent", ""), history)
    return found or known or SdkClient(service_of(request).settings.sdk_version)


def detect_client(agent: str, history: Sequence[dict[str, Any]]) -> SdkClient | None:
    """Return the client that a user agent and a posted history tell of; None where none do."""
    named = _AGENT.search(agent)
    if named is not None:
        version = SDK_VERSIONS[("5", "6", "7").index(named[1])]
        return SdkClient(version, answers=version > 5)
    if any(_is_of_version_5(list(_parts(message))) for message in history):
        return SdkClient(5, answers=False)
    return None


def _said_version(request: Request) -> SdkVersion | None:
    asked = read_query(request, VersionQuery).sdk_version
    said = request.headers.get(VERSION_HEADER)
    if asked is not None or said is None:
        return asked
    for version in SDK_VERSIONS:
        if said.strip() == str(version):
            return version
    raise ApiFault("bad_header", f"{VERSION_HEADER} is 5, 6 or 7")


def _is_of_version_5(parts: Sequence[dict[str, Any]]) -> bool:
    calls = [part for part in parts if part.get("type") == "dynamic-tool"]
    # Every call of ours is marked, and is posted by a client alone where it is answered.
    if any("providerExecuted" not in call and "approval" not in call for call in calls):
        return True
    # A list, and no set: what a client posts as an id may be anything.
    asked = [_asked_call(part) for part in parts if part.get("type") == "data-approval"]
    return any(
        isinstance(call.get("toolCallId"), str)
        and call["toolCallId"] in asked
        and call.get("state") in _UNANSWERED
        and "approval" not in call
        for call in calls
    )


def _asked_call(part: dict[str, Any]) -> object:
    """Return the call of a question that has no answer; None for all others."""
    data: Any = part.get("data")
    if not isinstance(data, dict) or "approved" in data:
        return None
    return cast("dict[str, Any]", data).get("toolCallId")


def _parts(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    parts: Any = message.get("parts") if message.get("role") == "assistant" else None
    for part in cast("list[Any]", parts) if isinstance(parts, list) else ():
        if isinstance(part, dict):
            yield cast("dict[str, Any]", part)
