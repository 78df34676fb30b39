"""Chats, as AI SDK clients talk: a message goes in, the stream of a turn comes back.

    POST /api/chat                  {"id": "trip", "messages": [...]}
    GET  /api/chat/ID               what was said, for a page that loads a chat
    POST /api/chat/ID/stop          the turn that runs ends
    POST /api/chat/ID/resume        a turn that was interrupted goes on; its stream is a GET away

Of all that a client posts, its last message counts, and its answers to questions that wait. What
was said before is on our timeline, whatever the client says it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Annotated, Any, NamedTuple, cast

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from callblocks.approvals.approval import BadApproval, HiddenCall
from callblocks.server.approval_routes import AnswerBody, answer_book
from callblocks.server.chats.chat_list import Nothing
from callblocks.server.chats.chats import EndedTurn, FollowedTurn, SaidAgain, call_again, said_again
from callblocks.server.chats.known_chats import LABELS, ChatStatus, LastTurn, standing
from callblocks.server.chats.ui_events import client_of, ui_response
from callblocks.server.http.event_stream import EventStream, event_bytes
from callblocks.server.http.faults import ApiFault, answer_json
from callblocks.server.http.rate_limits import client_name
from callblocks.server.http.request import event_number, read_body, read_query
from callblocks.server.service import Service, service_of
from callblocks.server.settings import SdkClient, SdkVersion
from callblocks.session.event_gate import TurnLog
from callblocks.session.model_choice import Attachment, Choice
from callblocks.timeline.branches import Branch, Branches
from callblocks.timeline.log.log import check_name
from callblocks.views.ui.agui import AguiStream, read_run
from callblocks.views.ui.ai_sdk.ui_messages import (
    PostedAnswer,
    read_posted,
    turn_of_message,
    ui_messages,
)

__all__ = (
    "KEY_HEADER",
    "AgainBody",
    "Answered",
    "Cancelled",
    "ChatBody",
    "ChatQuery",
    "Resumed",
    "RunBody",
    "ShownChat",
    "Stopped",
    "StreamQuery",
    "answer_questions",
    "cancel_call",
    "make_again",
    "post_chat",
    "post_run",
    "resume_chat",
    "show_chat",
    "stop_chat",
    "stream_chat",
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
#
# A client whose connection broke before the stream began does not know whether there is a turn. It
# may post again with the same Idempotency-Key, to any replica: that is the same turn.

KEY_HEADER = "idempotency-key"
_LONGEST_KEY = 200


class ChatBody(msgspec.Struct, frozen=True):
    """The body of an AI SDK client's post.

    `trigger` and `messageId` are as the client's `regenerate()` and its edited messages say: the
    turn is another version of the one that the message is of, which stays. `after` is the turn that
    this one follows; without it, the last one. `model`, `dialect` and `scenario` are chosen for
    this turn; see /api/models and /api/dialects.
    """

    id: str
    messages: list[dict[str, Any]]
    trigger: str | None = None
    messageId: str | None = None
    after: str | None = None
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
    block: once that turn goes on, the stream after it has the rest. `branch` is the last turn of
    the branch that is shown, "" for that of the last turn of all. `earlier` messages were left out.
    """

    id: str
    status: ChatStatus
    turn: str | None
    last: int
    messages: list[dict[str, Any]]
    branch: str
    earlier: int


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
    if body.id == LABELS:
        raise ApiFault("invalid_request", f"{LABELS} has the titles of chats; choose another name")
    service.slots.check()
    posted = read_posted({"id": body.id, "messages": body.messages})
    client = client_of(request, body.messages)
    if posted.text is None:
        running, answered, start = await answer_questions(service, body.id, posted.answers)
        return ui_response(service, running, client, start, answered)
    files = [Attachment(file.name, file.content) for file in posted.files]
    user = client_name(request.scope)
    text, branch = posted.text, None
    if (again := body.trigger == "regenerate-message") or body.messageId:
        first = await _first_version(service, body, again=again)
        branch, files = first.branch, [*first.files, *([] if again else files)]
        text = first.text if again else text
    elif body.after is not None:
        branch = Branch(body.after)
    key = request.headers.get(KEY_HEADER, "")
    if len(key) > _LONGEST_KEY:
        raise ApiFault("bad_header", f"{KEY_HEADER} has at most {_LONGEST_KEY} characters")
    running = await service.chats.start(body.id, text, files, body.choice, user, branch, key=key)
    running.client = client
    await running.begun()
    return ui_response(service, running, client)


async def _first_version(service: Service, body: ChatBody, *, again: bool) -> SaidAgain:
    """Return what the message is another version of."""
    recorder = service.chats.session(body.id).recorder
    turn = turn_of_message(body.messageId or "")
    return await service.read(lambda: said_again(recorder, turn, again=again))


class ChatQuery(msgspec.Struct, frozen=True):
    """The turn whose branch is shown, without it the last one, and the SDK version of the client.

    With `last` only so many messages are sent, from the end.
    """

    turn: Annotated[str, msgspec.Meta(max_length=200)] | None = None
    last: Annotated[int, msgspec.Meta(ge=1, le=100_000)] | None = None
    sdk_version: SdkVersion | None = None


async def show_chat(request: Request) -> Response:
    """A chat with the messages of one branch."""
    service, name = service_of(request), request.path_params["id"]
    version, asked = client_of(request).version, read_query(request, ChatQuery)
    # A chat whose first turn waits for a worker has no timeline yet.
    if await service.chats.find(name) is None:
        await service.existing_chat(name)
    head = await service.read(lambda: service.host.store.head(name))
    running, read = await _standing(service, name, version, asked.turn or "")
    status, messages, turn = read.status, read.messages, None
    if running is not None:
        status, turn = "waiting" if running.waiting else "running", running.turn
    some = messages if asked.last is None else messages[-asked.last :]
    return answer_json(
        ShownChat(
            name,
            status,
            turn if not turn or read.is_newest else None,
            head.count,
            some,
            "" if read.is_newest else read.branch,
            len(messages) - len(some),
        )
    )


async def stop_chat(request: Request) -> Response:
    """Stop the turn that runs in a chat."""
    service, name = service_of(request), request.path_params["id"]
    await read_body(request, Nothing, service.settings)
    is_stopped = await service.chats.stop(name)
    if not is_stopped:
        await service.existing(name)
    return answer_json(Stopped(name, is_stopped))


class Cancelled(msgspec.Struct, frozen=True):
    """The answer to a cancel; `cancelled` is false where the call did not run."""

    call: str
    cancelled: bool


class AgainBody(msgspec.Struct, frozen=True):
    """Which call is made again: its turn, and its id in it."""

    turn: str
    call: str


async def cancel_call(request: Request) -> Response:
    """Cancel one call that runs in a chat; the turn goes on without its result."""
    service, name = service_of(request), request.path_params["id"]
    await read_body(request, Nothing, service.settings)
    await service.existing(name)
    call = request.path_params["call"]
    return answer_json(Cancelled(call, await service.chats.cancel(name, call)))


async def make_again(request: Request) -> Response:
    """Make a call again, in a turn of its own: a new call, judged and asked about like others."""
    service, name = service_of(request), request.path_params["id"]
    body = await read_body(request, AgainBody, service.settings)
    await service.existing_chat(name)
    client, recorder = client_of(request), service.chats.session(name).recorder
    call = await service.read(lambda: call_again(recorder, body.turn, body.call))
    prompt = f"Run {call.name} again, as you called it before, and go on with what it gives."
    user = client_name(request.scope)
    running = await service.chats.start(name, prompt, (), user=user, calls=(call,))
    running.client = client
    await running.begun()
    return ui_response(service, running, client)


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


class _Read(NamedTuple):
    """A branch of a chat, as it was read."""

    status: ChatStatus
    messages: list[dict[str, Any]]
    branch: str
    is_newest: bool


async def _standing(
    service: Service, name: str, version: SdkVersion, turn: str
) -> tuple[FollowedTurn | None, _Read]:
    """The turn that runs, and what is there beside it, at one moment."""
    running = await service.chats.find(name)
    read = await service.read(lambda: _read(service, name, version, turn, running is not None))
    if running is await service.chats.find(name):
        return running, read
    # One that began or ended meanwhile may be neither told by a stream nor read to its end.
    return await _standing(service, name, version, turn)


def _read(service: Service, name: str, version: SdkVersion, turn: str, is_here: bool) -> _Read:
    entries = service.entries(name)
    status, last = standing(entries)
    branches = Branches()
    for entry in entries:
        branches.feed(entry.block)
    branch = branches.newest(turn) if turn in branches else branches.last
    messages = ui_messages(
        entries,
        version,
        service.replay(name),
        running=last if is_here else "",
        interrupted=last if status == "interrupted" else "",
        branches=branches,
        branch=branch,
    )
    return _Read(status, messages, branch, branch == branches.last)


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


# --- Chats, as AG-UI clients talk: a run goes in, its events come back ---
#
#     POST /agui      {"threadId": "trip", "runId": "run-1", "messages": […], …}
#
# A thread is a chat: what is said here is on the same timeline as what AI SDK clients say. Of all
# that a client posts, its last message counts, and its answers to interrupts. A run that is stopped
# by its client leaves the turn going, as a page that is closed does; POST /api/chat/ID/stop ends
# it.

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
