"""Chats, as AI SDK clients talk: a message goes in, the stream of a turn comes back.

    POST /api/chat                  {"id": "trip", "messages": [...]}
    GET  /api/chat/ID               what was said, for a page that loads a chat
    POST /api/chat/ID/stop          the turn that runs ends
    POST /api/chat/ID/resume        a turn that was interrupted goes on; its stream is a GET away

Of all that a client posts, its last message counts, and its answers to questions that wait. What
was said before is on our timeline, whatever the client says it was.

Every chat in one list: what it is about, and how it stands.

    GET /api/chats

A page asks for it again and again, so it reads next to nothing: see `known_chats`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from callblocks.approvals.approval import BadApproval, HiddenCall
from callblocks.server.approval_routes import AnswerBody, answer_book
from callblocks.server.chats.chats import EndedTurn, FollowedTurn
from callblocks.server.chats.known_chats import ChatStatus, LastTurn, standing
from callblocks.server.chats.ui_events import client_of, ui_response
from callblocks.server.http.faults import ApiFault, answer_json
from callblocks.server.http.rate_limits import client_name
from callblocks.server.http.request import event_number, read_body, read_query
from callblocks.server.service import Service, service_of
from callblocks.server.settings import SdkClient, SdkVersion
from callblocks.session.event_gate import TurnLog
from callblocks.session.model_choice import Attachment, Choice
from callblocks.timeline.log.store import Summary, check_name
from callblocks.views.ui.ai_sdk.messages import PostedAnswer, read_posted, ui_messages

__all__ = (
    "Answered",
    "ChatBody",
    "ChatList",
    "ChatSummary",
    "Nothing",
    "Resumed",
    "ShownChat",
    "Stopped",
    "StreamQuery",
    "answer_questions",
    "list_chats",
    "post_chat",
    "resume_chat",
    "show_chat",
    "stop_chat",
    "stream_chat",
)


class ChatSummary(msgspec.Struct, frozen=True):
    """A chat in a list; `title` is how its first prompt begins, `waiting` counts its questions."""

    id: str
    is_running: bool
    last: int
    created: str
    updated: str
    title: str
    status: ChatStatus
    waiting: int


class ChatList(msgspec.Struct, frozen=True):
    """Chats, the one that was written last first."""

    chats: list[ChatSummary]


async def list_chats(request: Request) -> Response:
    """Every chat, the latest first: its title, how it stands, and how many questions wait."""
    service = service_of(request)

    running = await service.chats.waiting()

    def read() -> list[ChatSummary]:
        known = [one for one in service.host.store.names() if service.is_chat(one.name)]
        known.sort(key=lambda one: one.updated, reverse=True)
        return [_summary(service, one, running.get(one.name)) for one in known]

    return answer_json(ChatList(await service.read(read)))


def _summary(service: Service, chat: Summary, waiting: int | None) -> ChatSummary:
    """Return the summary of a chat; `waiting` is `None` where no turn of it runs."""
    status: ChatStatus = "waiting" if waiting else "running"
    return ChatSummary(
        id=chat.name,
        is_running=waiting is not None,
        last=chat.count,
        created=chat.created,
        updated=chat.updated,
        title=service.known.title(chat),
        status=service.known.status(chat) if waiting is None else status,
        waiting=waiting or 0,
    )


# --- Answers that come with a post, as AI SDK clients of version 6 and later send them ---
#
# Only a question that the chat's own turn asks is answered: an id from elsewhere is none. An answer
# goes into the book of approvals once; what the book says then counts.


class Answered(NamedTuple):
    """The turn that goes on, the questions that were answered, and where its log is after them."""

    running: FollowedTurn
    approvals: Sequence[str]
    start: int


async def answer_questions(
    service: Service, name: str, answers: Sequence[PostedAnswer]
) -> Answered:
    """Answer what the turn of a chat asks; an answer to anything else is a fault.

    So is a yes to a call that is not shown whole, where no other answer was taken.
    """
    running = await service.chats.find(name)
    if running is None:
        words = "no turn of this chat waits for an answer; one that was interrupted can be resumed"
        raise ApiFault("approval_answered", words)
    waiting = running.waiting
    taken: list[str] = []
    hidden: HiddenCall | None = None
    for one in answers:
        try:
            if one.approval in waiting and await _take(service, one):
                taken.append(one.approval)
        except HiddenCall as error:
            hidden = error
    if not taken and hidden is not None:
        raise hidden
    if not taken:
        raise ApiFault("approval_answered", "the turn of this chat asks no such question any more")
    return Answered(running, taken, running.after(taken))


async def _take(service: Service, answer: PostedAnswer) -> bool:
    """Return whether the book took it; `HiddenCall` for a yes to a call not shown whole."""
    said = AnswerBody("once" if answer.approved else "deny", reason=answer.reason[:2000])
    try:
        await service.read(lambda: answer_book(service.host.book, answer.approval, said))
    except HiddenCall:
        raise
    except (ApiFault, BadApproval):
        return False
    service.chats.wake(answer.approval)
    return True


# --- Chats, as AI SDK clients talk: a message goes in, the stream of a turn comes back ---


class ChatBody(msgspec.Struct, frozen=True):
    """The body of an AI SDK client's post. `trigger` and `messageId` have no effect here.

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
        """The model, dialect and scenario of the turn."""
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
    """The answer to a stop; `stopped` is false where no turn ran."""

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
        return ui_response(service, running, client, start, answered)
    files = [Attachment(file.name, file.content) for file in posted.files]
    user = client_name(request.scope)
    running = await service.chats.start(body.id, posted.text, files, body.choice, user)
    running.client = client
    await running.begun()
    return ui_response(service, running, client)


async def show_chat(request: Request) -> Response:
    """A chat with its messages."""
    service, name = service_of(request), request.path_params["id"]
    version = client_of(request).version
    # A chat whose first turn waits for a worker has no timeline yet.
    if await service.chats.find(name) is None:
        await service.existing_chat(name)
    head = await service.read(lambda: service.host.store.head(name))
    running, (status, messages) = await _standing(service, name, version)
    turn = None
    if running is not None:
        status, turn = "waiting" if running.waiting else "running", running.turn
    return answer_json(ShownChat(name, status, turn, head.count, messages))


async def stop_chat(request: Request) -> Response:
    """Stop the turn that runs in a chat."""
    service, name = service_of(request), request.path_params["id"]
    await read_body(request, Nothing, service.settings)
    is_stopped = await service.chats.stop(name)
    if not is_stopped:
        await service.existing(name)
    return answer_json(Stopped(name, is_stopped))


async def resume_chat(request: Request) -> Response:
    """Go on with a turn that was interrupted."""
    service, name = service_of(request), request.path_params["id"]
    await read_body(request, Nothing, service.settings)
    await service.existing(name)
    running = await service.chats.resume(name, client_name(request.scope))
    await running.begun()
    if not running.turn:
        raise ApiFault("nothing_to_resume", "the turn was left without a message; say it again")
    return answer_json(Resumed(name, running.turn))


async def _standing(
    service: Service, name: str, version: SdkVersion
) -> tuple[FollowedTurn | None, tuple[ChatStatus, list[dict[str, Any]]]]:
    """The turn that runs, and what is there beside it, at one moment."""
    running = await service.chats.find(name)
    read = await service.read(lambda: _read(service, name, version, running is not None))
    if running is await service.chats.find(name):
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


# --- Coming back to a turn ---
#
#     GET /api/chat/ID/stream                 all of the turn that runs, and then what comes
#     GET /api/chat/ID/stream?after=12.3      only what came after that event of it
#     Last-Event-ID: 12.3                     the same
#
# Without a number, the answer is 204 where no turn runs. With a number, the rest of that turn is
# read from the timeline; a text that was cut in the middle is sent again from its start. If the
# turn was interrupted, the stream says so each time, because the turn can be resumed. The answer is
# 204 if the turn ended and the client has its last event.


class StreamQuery(msgspec.Struct, frozen=True):
    """The event that the stream goes on after, and the SDK version of the client."""

    after: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,15}(\.[0-9]{1,15})?$")] | None = None
    sdk_version: SdkVersion | None = None


async def stream_chat(request: Request) -> Response:
    """The turn that runs in a chat, from its start or after an event."""
    service, name = service_of(request), check_name(request.path_params["id"])
    running = await service.chats.find(name)
    # A request for a stream shows nothing of a client: the one that began the turn comes back.
    client = client_of(request, known=None if running is None else running.client)
    after = event_number(request, read_query(request, StreamQuery).after)
    if running is not None:
        await running.begun()
        rest = None
        if after is not None and 0 < after[0] < running.first:
            rest = await _rest(service, name, client, after)
        return rest or ui_response(service, running, client, after or 0)
    if after is None:
        return Response(status_code=204)
    await service.existing_chat(name)
    return await _rest(service, name, client, after) or Response(status_code=204)


async def _rest(
    service: Service, name: str, client: SdkClient, after: tuple[int, int]
) -> Response | None:
    """Stream the rest of the turn that an event belongs to; None if the event was its last."""

    def read() -> tuple[LastTurn, TurnLog]:
        entries = service.entries(name)
        last = LastTurn(entries, service.replay(name), seq=after[0], chat=name)
        return last, last.log()

    last, log = await service.read(read)
    start = last.place_after(log, *after)
    if start >= len(log.events):
        return None
    return ui_response(service, EndedTurn(last.turn, log), client, start)
