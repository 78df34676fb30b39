"""Coming back to a turn.

    GET /api/chat/ID/stream                 all of the turn that runs, and then what comes
    GET /api/chat/ID/stream?after=12.3      only what came after that event of it
    Last-Event-ID: 12.3                     the same

Where nothing runs it is 204. With a number, the rest of the turn that it is of is told from the
timeline, with its end; a text that was under way is then told whole. Of a turn that was interrupted
that is told, each time: it can be resumed. 204 is for a turn that ended, and was told to its end.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from callblocks.server.last_turn import LastTurn
from callblocks.server.reading import event_number, read_query
from callblocks.server.service import Service, service_of
from callblocks.server.settings import SdkClient, SdkVersion
from callblocks.server.ui_events import ui_response
from callblocks.server.versions import client_of
from callblocks.session.turn_log import TurnLog
from callblocks.timeline.stores.store import check_name

__all__ = ("StreamQuery", "stream_chat")


class StreamQuery(msgspec.Struct, frozen=True):
    """After which event; for which client."""

    after: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,15}(\.[0-9]{1,15})?$")] | None = None
    sdk_version: SdkVersion | None = None


async def stream_chat(request: Request) -> Response:
    """The turn that runs in a chat, from its start or after an event."""
    service, name = service_of(request), check_name(request.path_params["id"])
    running = service.chats.get(name)
    # A request for a stream shows nothing of a client: the one that began the turn comes back.
    client = client_of(request, known=None if running is None else running.client)
    after = event_number(request, read_query(request, StreamQuery).after)
    if running is not None:
        await running.begun()
        rest = None
        if after is not None and 0 < after[0] < running.first:
            rest = await _rest(service, name, client, after)
        start = 0 if after is None else running.log.after(*after)
        return rest or ui_response(service, running.log, running.turn, client, start)
    if after is None:
        return Response(status_code=204)
    await service.existing_chat(name)
    return await _rest(service, name, client, after) or Response(status_code=204)


async def _rest(
    service: Service, name: str, client: SdkClient, after: tuple[int, int]
) -> Response | None:
    """What the turn that a number is of said after it; None where all was told."""

    def read() -> tuple[LastTurn, TurnLog]:
        entries = service.entries(name)
        last = LastTurn(entries, service.replay(name), seq=after[0], chat=name)
        return last, last.log()

    last, log = await service.read(read)
    start = last.place_after(log, *after)
    if start >= len(log.events):
        return None
    return ui_response(service, log, last.turn, client, start)
