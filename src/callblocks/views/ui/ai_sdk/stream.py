"""A turn as the chunks of a UI message stream, which AI SDK clients read.

    stream = UiStream(6, message_id=turn)
    for event in batch:
        send(stream.feed(event))
    if stream.paused:                       # nothing happens before the person answers
        send(stream.close())

From version 6 on a client answers an approval only after the response has ended. So the response
ends where everybody who is at work waits for an answer, and no call runs. Look at `paused` after
all events that there are: a replay goes past questions that were answered long ago. The next
response goes on with the message: its stream is `resumed`, passes over the events that the client
has (`skip`), does not wait for answers that came with the request (`expect`), and is fed the rest.

What members of a team say and call side by side stands in one step: a client sends its answers by
itself only if all questions are in the last one.

An `error` ends the reading of a client, so it is the last thing but `finish`. A client that is
known to have no way to answer gets one where the response would end for the answer.
"""

from __future__ import annotations

from typing import Any

from callblocks.core.events import (
    CallAnswered,
    CallAsked,
    CallBegan,
    CallEnded,
    CallGranted,
    CallReady,
    CallStarted,
    CallTold,
    Event,
    Malformed,
    ModelQueued,
    ModelWrote,
    Problem,
    Reasoning,
    RoundBegan,
    Status,
    Text,
    TurnBegan,
    TurnEnded,
    TurnEvent,
)
from callblocks.core.json_values import whole
from callblocks.timeline.timeline import TIMELINE_CODES
from callblocks.views.ui.ai_sdk.tool_parts import (
    ApprovalParts,
    Chunk,
    TextParts,
    ToolParts,
    Version,
)

__all__ = (
    "UiStream",
    "ending",
    "member_part",
)

# --- The end of a turn, as the last chunks of its message ---
#
#     answered                       message-metadata  finish
#     stopped                        message-metadata  abort  finish
#     limited, failed, interrupted   message-metadata  error  finish
#
# A client reads nothing after an `error`, and keeps all that came before it. How a member of a team
# stands is a part of the message, which the next one replaces:
#
#     data-member   {"name": "critic", "status": "speaking"}

_FAULTS: dict[Status, str] = {
    "limited": "The turn reached a limit",
    "failed": "The turn failed",
    "interrupted": "The turn was interrupted",
}


def ending(event: TurnEnded) -> list[Chunk]:
    """The last chunks, after all parts are ended."""
    chunks: list[Chunk] = [{"type": "message-metadata", "messageMetadata": _metadata(event)}]
    if event.status == "stopped":
        chunks.append({"type": "abort"})
    elif event.status in _FAULTS:
        message = _told(event)
        why = f": {message}" if message else ""
        words = whole(f"{_FAULTS[event.status]}{why}".rstrip("."))
        chunks.append({"type": "error", "errorText": f"{words}."})
    return [*chunks, {"type": "finish"}]


def member_part(name: str, ended: TurnEnded | None = None) -> Chunk:
    """Return the status of a member: `speaking`, or the status of its end."""
    told = {"name": whole(name), "status": "speaking"}
    if ended is not None:
        why = {"code": whole(ended.code), "message": whole(_told(ended))}
        told |= {"status": ended.status, **{key: said for key, said in why.items() if said}}
    return {"type": "data-member", "id": whole(name), "data": told}


def _told(event: TurnEnded) -> str:
    """Return the reason of an end; messages of a store are replaced, for they name server paths."""
    return TIMELINE_CODES.get(event.code, event.message)


def _metadata(event: TurnEnded) -> dict[str, Any]:
    metadata: dict[str, Any] = {"turn": whole(event.turn), "status": event.status}
    if event.code:
        metadata["code"] = whole(event.code)
    if event.tokens_in or event.tokens_out:
        metadata["tokens"] = {"in": event.tokens_in, "out": event.tokens_out}
    return metadata


# --- A turn as the chunks of a UI message stream, which AI SDK clients read ---

_CUT = "The connection ended before the turn did. Load the chat again to follow it."
_UNANSWERABLE = (
    "The turn waits for a person's approval ({}), which this chat client cannot give: version 5 of"
    " the AI SDK has no approvals. Answer with `callblocks approvals` or on the server's own page"
    " and load the chat again, or use version 6 or later."
)


class UiStream:
    """Takes the events of one turn. `message_id` is the same in every response of it.

    `is_over` says that the turn is, before the first event: nobody answers in it any more.
    `answers` is False for a client that shows no questions and cannot answer them.
    """

    def __init__(
        self,
        version: Version = 5,
        *,
        message_id: str,
        resumed: bool = False,
        is_over: bool = False,
        answers: bool = True,
    ) -> None:
        self._version = version
        self._answers = answers
        self._message_id = message_id
        self._texts = TextParts()
        self._tools = ToolParts(version, is_over=is_over)
        self._approvals = ApprovalParts(version)
        self._resumed = resumed
        self._problems = 0
        self._going: set[str] = set()
        self._has_begun = self._in_step = self._is_over = False

    @property
    def paused(self) -> bool:
        """True if the response is to end here, until the person has answered."""
        pauses = self._version > 5 or not self._answers
        asks = pauses and self._approvals.is_open and not self._is_over
        return asks and not self._tools.is_busy and self._going <= self._approvals.waiting

    def feed(self, event: TurnEvent) -> list[Chunk]:
        """Take the next event."""
        if self._is_over:
            return []
        # Most events are more text of a part that is open.
        if type(event) is ModelWrote and type(event.event) is Text and self._in_step:
            more = self._texts.more("text", event.event.text, event.member)
            if more is not None:
                return [more]
        return [*self._begin(event), *self._take(event)]

    def skip(self, event: TurnEvent) -> None:
        """Take an event that the client has from a response before."""
        self.feed(event)
        self._texts.end_all()
        self._resumed, self._has_begun, self._in_step = True, False, False

    def expect(self, approval: str) -> None:
        """An answer is on its way: nobody waits for it any more."""
        self._approvals.close(approval)

    def close(self) -> list[Chunk]:
        """End the response; without the turn's end and without a pause, it was cut."""
        if self._is_over:
            return []
        paused, begun = self.paused, self._start()
        self._is_over = True
        if paused and self._answers:
            return [*begun, *self._end_step(), {"type": "finish"}]
        words = _UNANSWERABLE.format(", ".join(self._approvals.open)) if paused else _CUT
        return [
            *begun,
            *self._tools.end_writing(),
            *self._end_step(),
            {"type": "error", "errorText": words},
            {"type": "finish"},
        ]

    def _begin(self, event: TurnEvent) -> list[Chunk]:
        chunks = self._start()
        if chunks and isinstance(event, TurnBegan) and not event.member:
            chunks[0]["messageMetadata"] = {"turn": whole(event.turn)}
        return chunks

    def _start(self) -> list[Chunk]:
        if self._has_begun:
            return []
        self._has_begun = True
        return [{"type": "start", "messageId": whole(self._message_id)}]

    def _take(self, event: TurnEvent) -> list[Chunk]:
        match event:
            case TurnBegan() | RoundBegan():
                return self._begun(event)
            case ModelWrote():
                return self._wrote(event.event, event.member)
            case CallAnswered() | CallGranted():
                return self._let_through(event)
            case TurnEnded():
                return self._end(event)
            case _:
                return self._called(event)

    def _begun(self, event: TurnBegan | RoundBegan) -> list[Chunk]:
        """Somebody speaks now: a round of one who speaks alone is a step."""
        member = event.member
        if isinstance(event, TurnBegan):
            self._going |= {member} - {""}
            return self._shown([member_part(member)]) if member else []
        self._going.add(member)
        return self._texts.end(member) if member else self._round()

    def _wrote(self, event: Event, member: str) -> list[Chunk]:
        match event:
            case Text(text=text):
                return self._shown(self._texts.add("text", text, member))
            case Reasoning(text=text):
                return self._shown(self._texts.add("reasoning", text, member))
            case CallStarted():
                return self._part(member, self._tools.opened(event, member))
            case CallReady():
                return self._part(member, self._tools.written(event, member))
            case Malformed() | Problem():
                return self._broken(event, member)
            case _:
                return []

    def _called(self, event: TurnEvent) -> list[Chunk]:
        """Return the chunks of an event of a call, after the text before it, or of a wait."""
        if isinstance(event, CallTold):
            told = {"toolCallId": whole(event.id), "text": whole(event.text)}
            return [{"type": "data-progress", "data": told, "transient": True}]
        if isinstance(event, ModelQueued):
            return [{"type": "data-queue", "data": {"before": event.before}, "transient": True}]
        return self._part(event.member, self._told(event))

    def _part(self, member: str, chunks: list[Chunk]) -> list[Chunk]:
        """Return the chunks of a call, after the end of the text before it."""
        return self._shown([*self._texts.end(member), *chunks]) if chunks else []

    def _told(self, event: TurnEvent) -> list[Chunk]:
        match event:
            case CallAsked():
                return self._asked(event)
            case CallBegan(id=id):
                return self._tools.began(id)
            case CallEnded():
                return self._tools.ended(event, is_known=self._resumed)
            case _:
                return []

    def _asked(self, event: CallAsked) -> list[Chunk]:
        call = self._tools.get(event.id)
        shown = [] if call is None else self._tools.asked(call)
        return [*shown, *self._approvals.asked(event, call)]

    def _let_through(self, event: CallAnswered | CallGranted) -> list[Chunk]:
        """Return the chunks of an approval: a person answered now, or gave a grant before."""
        if isinstance(event, CallAnswered):
            return self._approvals.answered(event)
        return self._shown(self._approvals.granted(event))

    def _broken(self, event: Malformed | Problem, member: str) -> list[Chunk]:
        """Return the chunks of a malformed call: its text as prose, and a problem."""
        text = event.text if isinstance(event, Malformed) else ""
        self._problems += 1
        problem = {"code": whole(event.code), "detail": whole(event.detail)}
        return self._shown(
            [
                *self._tools.broken(event),
                *self._texts.add("text", text, member),
                {"type": "data-problem", "id": f"problem-{self._problems}", "data": problem},
            ]
        )

    def _round(self) -> list[Chunk]:
        """A round is a step; none ends while a client waits for the input of a call in it."""
        if self._in_step and self._tools.is_writing:
            return []
        self._resumed = False
        return [*self._end_step(), *self._begin_step()]

    def _shown(self, chunks: list[Chunk]) -> list[Chunk]:
        """Parts stand in a step; those that follow a pause, in the one before it."""
        needs_step = chunks and not self._in_step and not self._resumed
        return [*(self._begin_step() if needs_step else ()), *chunks]

    def _begin_step(self) -> list[Chunk]:
        self._in_step = True
        return [{"type": "start-step"}]

    def _end_step(self) -> list[Chunk]:
        ended = self._texts.end_all()
        was_in_step, self._in_step = self._in_step, False
        return [*ended, {"type": "finish-step"}] if was_in_step else ended

    def _end(self, event: TurnEnded) -> list[Chunk]:
        if member := event.member:
            self._going.discard(member)
            return self._shown([*self._texts.end(member), member_part(member, event)])
        self._is_over = True
        # Calls of a turn that was interrupted may still come to an end: it can be resumed.
        is_left = event.status == "interrupted"
        calls = self._tools.end_writing() if is_left else self._tools.end_all()
        return [*calls, *self._end_step(), *ending(event)]
