"""Chats, as AG-UI clients talk: a run goes in, its events come back.

    POST /agui      {"threadId": "trip", "runId": "run-1", "messages": […], …}

A thread is a chat: what is said here is on the same timeline as what AI SDK clients say. Of all
that a client posts, its last message counts, and its answers to interrupts. A run that is stopped
by its client leaves the turn going, as a page that is closed does; POST /api/chat/ID/stop ends it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from callblocks.server.chats.chat_routes import answer_questions
from callblocks.server.chats.chats import FollowedTurn
from callblocks.server.http.event_stream import EventStream, event_bytes
from callblocks.server.http.rate_limits import client_name
from callblocks.server.http.request import read_body
from callblocks.server.service import Service, service_of
from callblocks.session.model_choice import Attachment, Choice
from callblocks.timeline.log.log import check_name
from callblocks.views.ui.agui import AguiStream, read_run

__all__ = ("RunBody", "post_run")

_AT_ONCE = 2000


class RunBody(msgspec.Struct, frozen=True):
    """The body of an AG-UI client's post: `RunAgentInput`.

    `state`, `tools` and `context` have no effect here. `forwardedProps` may choose the `model`,
    `dialect` and `scenario` of the turn.
    """

    threadId: str
    runId: str
    messages: list[dict[str, Any]]
    resume: list[dict[str, Any]] | None = None
    forwardedProps: Any = None
    state: Any = None
    tools: Any = None
    context: Any = None
    parentRunId: str | None = None
    protocolVersion: str | None = None

    @property
    def choice(self) -> Choice:
        """The model, dialect and scenario of the turn."""
        given: Any = self.forwardedProps
        said = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        names = {key: said.get(key) for key in ("model", "dialect", "scenario")}
        texts = {key: name for key, name in names.items() if isinstance(name, str)}
        return Choice(**texts)


async def post_run(request: Request) -> Response:
    """Say something in a thread, or answer its interrupts; the run comes back as a stream."""
    service = service_of(request)
    body = await read_body(request, RunBody, service.settings)
    check_name(body.threadId)
    service.slots.check()
    posted = read_run(msgspec.to_builtins(body))
    if posted.text is None:
        running, answered, start = await answer_questions(service, body.threadId, posted.answers)
        return _response(service, running, body, start, tuple(answered))
    files = [Attachment(file.name, file.content) for file in posted.files]
    user = client_name(request.scope)
    running = await service.chats.start(body.threadId, posted.text, files, body.choice, user)
    await running.begun()
    return _response(service, running, body)


def _response(
    service: Service,
    running: FollowedTurn,
    body: RunBody,
    start: int = 0,
    answered: tuple[str, ...] = (),
) -> EventStream:
    """Return the log of a turn from a place on, and then what comes, until it ends or asks."""
    service.slots.check()
    log = running.log

    async def pieces() -> AsyncGenerator[bytes, None]:
        stream = AguiStream(body.threadId, body.runId, turn=await running.named())
        for at, logged in enumerate(log.events[:start]):
            stream.skip(logged.event)
            if at % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(0)
        for approval in answered:
            stream.expect(approval)
        place = start
        async with aclosing(log.read(place)) as batches:
            async for batch in batches:
                for first in range(0, len(batch), _AT_ONCE):
                    some = batch[first : first + _AT_ONCE]
                    events = [one for logged in some for one in stream.feed(logged.event)]
                    service.metrics.events.inc(len(events))
                    if events:
                        yield b"".join(map(event_bytes, events))
                    await asyncio.sleep(0)
                place += len(batch)
                if stream.paused:
                    log.asked_at = max(log.asked_at, place)
                    break
        yield b"".join(map(event_bytes, stream.close()))

    return EventStream(pieces, service.settings, held=service.follower(running.following()))
