"""Chats, as AI SDK clients talk: a message goes in, the stream of a turn comes back.

    POST /api/chat                  {"id": "trip", "messages": [...]}
    GET  /api/chat/ID               what was said, for a page that loads a chat
    POST /api/chat/ID/stop          the turn that runs ends
    POST /api/chat/ID/resume        a turn that was interrupted goes on; its stream is a GET away

Of all that a client posts, its last message counts, and its answers to questions that wait. What
was said before is on our timeline, whatever the client says it was.
"""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from callblocks.server.answering import answer_questions
from callblocks.server.faults import ApiFault, answer_json
from callblocks.server.last_turn import ChatStatus, standing
from callblocks.server.limits import client_name
from callblocks.server.reading import read_body
from callblocks.server.running_turn import RunningTurn
from callblocks.server.service import Service, service_of
from callblocks.server.settings import SdkVersion
from callblocks.server.ui_events import ui_response
from callblocks.server.versions import client_of
from callblocks.session.choosing import Choice
from callblocks.session.settings import Attachment
from callblocks.timeline.stores.store import check_name
from callblocks.views.ui.messages import ui_messages
from callblocks.views.ui.posted import read_posted

__all__ = (
    "ChatBody",
    "Nothing",
    "Resumed",
    "ShownChat",
    "Stopped",
    "post_chat",
    "resume_chat",
    "show_chat",
    "stop_chat",
)


class ChatBody(msgspec.Struct, frozen=True):
    """What an AI SDK client posts. `trigger` and `messageId` change nothing here.

    `model`, `dialect` and `scenario` are chosen for this turn; see /api/models and /api/dialects.
    """

    id: str
    messages: list[dict[str, Any]]
    trigger: str | None = None
    messageId: str | None = None
    model: str | None = None
    dialect: str | None = None
    scenario: str | None = None

    @property
    def choice(self) -> Choice:
        """What the turn is run with."""
        model, dialect, scenario = self.model or "", self.dialect or "", self.scenario or ""
        return Choice(model=model, dialect=dialect, scenario=scenario)


class ShownChat(msgspec.Struct, frozen=True):
    """A chat: its UI messages, without what the turn that runs says, which its stream replays.

    A turn that was interrupted is among them, as far as it came. `last` is the number of the last
    block: once that turn goes on, the stream after it has the rest.
    """

    id: str
    status: ChatStatus
    turn: str | None
    last: int
    messages: list[dict[str, Any]]


class Nothing(msgspec.Struct, frozen=True):
    """There is nothing to say."""


class Stopped(msgspec.Struct, frozen=True):
    """Whether there was a turn to stop."""

    id: str
    stopped: bool


class Resumed(msgspec.Struct, frozen=True):
    """The turn that goes on."""

    id: str
    turn: str


async def post_chat(request: Request) -> Response:
    """Say something in a chat, or answer its questions; the turn comes back as a stream."""
    service = service_of(request)
    # What the query and the headers say is checked before the body is read.
    client_of(request)
    body = await read_body(request, ChatBody, service.settings)
    check_name(body.id)
    service.slots.check()
    posted = read_posted({"id": body.id, "messages": body.messages})
    client = client_of(request, body.messages)
    if posted.text is None:
        running, answered, start = await answer_questions(service, body.id, posted.answers)
        return ui_response(service, running.log, running.turn, client, start, answered)
    files = [Attachment(file.name, file.content) for file in posted.files]
    user = client_name(request.scope)
    running = service.chats.start(body.id, posted.text, files, body.choice, user)
    running.client = client
    await running.begun()
    return ui_response(service, running.log, running.turn, client)


async def show_chat(request: Request) -> Response:
    """A chat with its messages."""
    service, name = service_of(request), request.path_params["id"]
    version = client_of(request).version
    head = await service.existing_chat(name)
    running, (status, messages) = await _standing(service, name, version)
    turn = None
    if running is not None:
        status, turn = "waiting" if running.waiting else "running", running.turn
    return answer_json(ShownChat(name, status, turn, head.count, messages))


async def stop_chat(request: Request) -> Response:
    """Stop the turn that runs in a chat."""
    service, name = service_of(request), request.path_params["id"]
    await read_body(request, Nothing, service.settings)
    await service.existing(name)
    return answer_json(Stopped(name, service.chats.stop(name)))


async def resume_chat(request: Request) -> Response:
    """Go on with a turn that was interrupted."""
    service, name = service_of(request), request.path_params["id"]
    await read_body(request, Nothing, service.settings)
    await service.existing(name)
    running = service.chats.resume(name, client_name(request.scope))
    await running.begun()
    if not running.turn:
        raise ApiFault("nothing_to_resume", "the turn was left without a message; say it again")
    return answer_json(Resumed(name, running.turn))


async def _standing(
    service: Service, name: str, version: SdkVersion
) -> tuple[RunningTurn | None, tuple[ChatStatus, list[dict[str, Any]]]]:
    """The turn that runs, and what is there beside it, at one moment."""
    running = service.chats.get(name)
    read = await service.read(lambda: _read(service, name, version, running is not None))
    if running is service.chats.get(name):
        return running, read
    # One that began or ended meanwhile may be neither told by a stream nor read to its end.
    return await _standing(service, name, version)


def _read(
    service: Service, name: str, version: SdkVersion, is_here: bool
) -> tuple[ChatStatus, list[dict[str, Any]]]:
    entries = service.entries(name)
    status, last = standing(entries)
    messages = ui_messages(
        entries,
        version,
        service.replay(name),
        running=last if is_here else "",
        interrupted=last if status == "interrupted" else "",
    )
    return status, messages
