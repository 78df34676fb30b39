"""A turn as the events of AG-UI runs, which its clients read.

    stream = AguiStream("trip", "run-1", turn="turn_1")
    for event in batch:
        send(stream.feed(event))
    if stream.paused:                       # nothing happens before the person answers
        send(stream.close())

    RUN_STARTED  STATE_SNAPSHOT  STEP_STARTED
      REASONING_*  TEXT_MESSAGE_*  TOOL_CALL_START ARGS END RESULT
    STEP_FINISHED  …  RUN_FINISHED

A run ends where everybody who is at work waits for an answer and no call runs: with an outcome
`interrupt`, one interrupt for each question. The answers come with the next run, whose stream is
`resumed`: it passes over the events that the client has (`skip`), does not wait for answers that
came with the request (`expect`), and is fed the rest. Look at `paused` after all events there are.

Members of a team are subagents: all that is theirs carries their `subagentRunId`. One that waits
for an answer is suspended at the end of a run, and starts again with the next.

Invariants, which a client's verifier holds a stream to
- What was opened in a run is closed in it: texts, reasoning, calls, steps.
- An id of a message is used once in a thread. A text that goes on after a pause is a new message.
- A call has one START, ARGS and END, in that order, and its RESULT comes after them.
- No field is null.

State. `status`, `turn` and the questions that wait, by JSON patches. What no event of AG-UI says
(progress of a tool, a queue, problems of a text) is `CUSTOM`, named `callblocks.…`.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import Any, TypeAlias, cast

import msgspec

from callblocks.core.call_text import to_compact_text
from callblocks.core.errors import CallerError
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
    Text,
    TurnBegan,
    TurnEnded,
    TurnEvent,
)
from callblocks.core.json_values import plain, whole
from callblocks.core.outcomes import Outcome
from callblocks.core.text import brief
from callblocks.timeline.timeline import TIMELINE_CODES
from callblocks.views.ui.ai_sdk.ui_messages import PostedAnswer, PostedFile

__all__ = (
    "PROTOCOL",
    "AguiEvent",
    "AguiStream",
    "PostedRun",
    "read_run",
)

PROTOCOL = "1.0"

AguiEvent: TypeAlias = dict[str, Any]

_CUT = "The connection ended before the turn did. Load the chat again to follow it."
_ANSWER = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["approved"],
}


class _Voice(msgspec.Struct):
    """The speaker, the model or a member of a team, and what it has open in this run."""

    name: str = ""
    run: str = ""
    is_going: bool = False
    is_started: bool = False
    text: str = ""
    thought: str = ""
    step: str = ""


class _Call(msgspec.Struct):
    """A call that a client knows of."""

    id: str
    name: str
    voice: _Voice
    is_open: bool = False
    is_running: bool = False


class AguiStream:
    """Takes the events of one turn; `thread` is the chat, and `run` is the client's name of it."""

    def __init__(self, thread: str, run: str, *, turn: str) -> None:
        self._thread = whole(thread)
        self._run = whole(run)
        self._turn = whole(turn)
        self._messages = 0
        self._voices: dict[str, _Voice] = {"": _Voice()}
        self._writing: dict[int, _Call] = {}
        self._calls: dict[str, _Call] = {}
        self._asked: dict[str, AguiEvent] = {}
        self._expected: set[str] = set()
        self._has_begun = self._is_over = self._is_skipping = False

    @property
    def paused(self) -> bool:
        """True if the run is to end here, until the person has answered."""
        waiting = {one.get("subagentRunId", "") for one in self._asked.values()}
        going = {voice.run for voice in self._voices.values() if voice.name and voice.is_going}
        is_busy = bool(self._writing) or any(call.is_running for call in self._calls.values())
        return bool(self._asked) and not self._is_over and not is_busy and going <= waiting

    def feed(self, event: TurnEvent) -> list[AguiEvent]:
        """Take the next event."""
        if self._is_over:
            return []
        return [*self._begin(), *self._take(event)]

    def skip(self, event: TurnEvent) -> None:
        """Take an event that the client has from a run before."""
        self._is_skipping = True
        self._take(event)
        self._is_skipping = False
        for voice in self._voices.values():
            voice.text = voice.thought = voice.step = ""
            voice.is_started = False

    def expect(self, approval: str) -> None:
        """An answer is on its way: nobody waits for it any more."""
        self._asked.pop(approval, None)
        self._expected.add(approval)

    def close(self) -> list[AguiEvent]:
        """End the run; without the turn's end and without a pause, it was cut."""
        if self._is_over:
            return []
        paused, events = self.paused, self._begin()
        asked = list(self._asked.values())
        self._is_over = True
        if not paused:
            return [*events, *self._end_all(), {"type": "RUN_ERROR", "message": _CUT}]
        events += self._suspended(asked)
        events += [*self._end_all(), self._patch("/status", "waiting")]
        return [*events, self._finished({"type": "interrupt", "interrupts": asked})]

    # --- The beginning and the end of a run ---

    def _begin(self) -> list[AguiEvent]:
        if self._has_begun:
            return []
        self._has_begun = True
        started = {"threadId": self._thread, "runId": self._run, "protocolVersion": PROTOCOL}
        state = {"turn": self._turn, "status": "running", "waiting": list(self._asked)}
        events: list[AguiEvent] = [
            {"type": "RUN_STARTED", **started},
            {"type": "STATE_SNAPSHOT", "snapshot": state},
        ]
        going = [voice for voice in self._voices.values() if voice.name and voice.is_going]
        return events + [one for voice in going for one in self._start(voice)]

    def _finished(self, outcome: AguiEvent, event: TurnEnded | None = None) -> AguiEvent:
        ended = {"type": "RUN_FINISHED", "threadId": self._thread, "runId": self._run}
        usage = [] if event is None else _usage(event)
        return {**ended, "outcome": outcome, **({"usage": usage} if usage else {})}

    def _suspended(self, asked: list[AguiEvent]) -> list[AguiEvent]:
        """End the members that wait for an answer, as far as this run goes."""
        events: list[AguiEvent] = []
        for voice in self._voices.values():
            if voice.name and voice.is_started:
                ids = [one["id"] for one in asked if one.get("subagentRunId") == voice.run]
                events += self._quiet(voice)
                outcome = {"type": "suspended", "interruptIds": ids}
                events.append({"type": "SUBAGENT_FINISHED", **_of(voice), "outcome": outcome})
                voice.is_started = False
        return events

    def _end_all(self) -> list[AguiEvent]:
        events: list[AguiEvent] = []
        for call in (*self._writing.values(), *self._calls.values()):
            events += self._close_call(call)
        self._writing.clear()
        for voice in self._voices.values():
            events += self._quiet(voice)
            if voice.name and voice.is_started:
                voice.is_started = False
                events.append({"type": "SUBAGENT_FINISHED", **_of(voice)})
        return events

    def _end(self, event: TurnEnded) -> list[AguiEvent]:
        voice = self._voice(event.member)
        if event.member:
            return self._member_ended(voice, event)
        self._is_over = not self._is_skipping
        events = [*self._end_all(), self._patch("/status", event.status)]
        if event.status in ("answered", "stopped"):
            kind = "success" if event.status == "answered" else "cancelled"
            return [*events, self._finished({"type": kind}, event)]
        usage = _usage(event)
        why = {"message": _words(event), **({"code": whole(event.code)} if event.code else {})}
        return [*events, {"type": "RUN_ERROR", **why, **({"usage": usage} if usage else {})}]

    def _member_ended(self, voice: _Voice, event: TurnEnded) -> list[AguiEvent]:
        events = self._quiet(voice)
        voice.is_going = False
        if not voice.is_started:
            return events
        voice.is_started = False
        if event.status == "answered":
            return [*events, {"type": "SUBAGENT_FINISHED", **_of(voice)}]
        why = {"message": _words(event), **({"code": whole(event.code)} if event.code else {})}
        return [*events, {"type": "SUBAGENT_ERROR", **_of(voice), **why}]

    # --- What happens in between ---

    def _take(self, event: TurnEvent) -> list[AguiEvent]:
        match event:
            case TurnBegan():
                return self._turn_began(event)
            case RoundBegan():
                return self._round_began(event)
            case ModelWrote():
                return self._wrote(event.event, self._voice(event.member))
            case TurnEnded():
                return self._end(event)
            case CallAsked() | CallAnswered():
                return self._asking(event)
            case _:
                return self._called(event)

    def _turn_began(self, event: TurnBegan) -> list[AguiEvent]:
        if not event.member:
            return []
        voice = self._voice(event.member)
        voice.is_going = True
        return self._start(voice)

    def _start(self, voice: _Voice) -> list[AguiEvent]:
        voice.is_started = True
        return [{"type": "SUBAGENT_STARTED", "subagentRunId": voice.run, "name": voice.name}]

    def _round_began(self, event: RoundBegan) -> list[AguiEvent]:
        voice = self._voice(event.member)
        ended = self._quiet(voice)
        voice.step = f"round {event.number}"
        return [*ended, {"type": "STEP_STARTED", "stepName": voice.step, **_of(voice)}]

    def _wrote(self, event: Event, voice: _Voice) -> list[AguiEvent]:
        match event:
            case Text(text=text):
                return self._text(voice, text)
            case Reasoning(text=text):
                return self._thought(voice, text)
            case CallStarted():
                return self._opened(event, voice)
            case CallReady():
                return self._written(event, voice)
            case Malformed() | Problem():
                return self._broken(event, voice)
            case _:
                return []

    def _text(self, voice: _Voice, text: str) -> list[AguiEvent]:
        if not text:
            return []
        events = self._end_thought(voice)
        if not voice.text:
            voice.text = self._new_message()
            start = {"messageId": voice.text, "role": "assistant", **_of(voice)}
            events.append({"type": "TEXT_MESSAGE_START", **start})
        delta = {"messageId": voice.text, "delta": whole(text), **_of(voice)}
        return [*events, {"type": "TEXT_MESSAGE_CONTENT", **delta}]

    def _thought(self, voice: _Voice, text: str) -> list[AguiEvent]:
        if not text:
            return []
        events = self._end_text(voice)
        if not voice.thought:
            voice.thought = self._new_message()
            place = {"messageId": voice.thought, **_of(voice)}
            events.append({"type": "REASONING_START", **place})
            events.append({"type": "REASONING_MESSAGE_START", "role": "reasoning", **place})
        delta = {"messageId": voice.thought, "delta": whole(text), **_of(voice)}
        return [*events, {"type": "REASONING_MESSAGE_CONTENT", **delta}]

    def _end_text(self, voice: _Voice) -> list[AguiEvent]:
        if not voice.text:
            return []
        ended = {"type": "TEXT_MESSAGE_END", "messageId": voice.text, **_of(voice)}
        voice.text = ""
        return [ended]

    def _end_thought(self, voice: _Voice) -> list[AguiEvent]:
        if not voice.thought:
            return []
        place = {"messageId": voice.thought, **_of(voice)}
        voice.thought = ""
        return [{"type": kind, **place} for kind in ("REASONING_MESSAGE_END", "REASONING_END")]

    def _quiet(self, voice: _Voice) -> list[AguiEvent]:
        """End what somebody was saying, and the step that it stands in."""
        events = [*self._end_text(voice), *self._end_thought(voice)]
        if voice.step:
            events.append({"type": "STEP_FINISHED", "stepName": voice.step, **_of(voice)})
            voice.step = ""
        return events

    # --- Calls ---

    def _opened(self, event: CallStarted, voice: _Voice) -> list[AguiEvent]:
        call = _Call(whole(event.id or ""), whole(event.name), voice)
        self._writing[event.index] = call
        return self._open_call(call) if call.id else []

    def _open_call(self, call: _Call) -> list[AguiEvent]:
        if call.is_open or self._is_skipping:
            return []
        call.is_open = True
        said = [*self._end_text(call.voice), *self._end_thought(call.voice)]
        named = {"toolCallId": call.id, "toolCallName": call.name, **_of(call.voice)}
        return [*said, {"type": "TOOL_CALL_START", **named}]

    def _close_call(self, call: _Call) -> list[AguiEvent]:
        if not call.is_open:
            return []
        call.is_open = False
        return [{"type": "TOOL_CALL_END", "toolCallId": call.id, **_of(call.voice)}]

    def _written(self, event: CallReady, voice: _Voice) -> list[AguiEvent]:
        opened = self._writing.pop(event.index, None)
        id = whole(event.call.id)
        events: list[AguiEvent] = []
        if opened is None or opened.id != id:
            # Announced under an id that it lost: it had none, or one that was taken.
            events += [] if opened is None else self._close_call(opened)
            opened = _Call(id, whole(event.call.name), voice)
        self._calls[event.call.id] = opened
        events += self._open_call(opened)
        arguments = to_compact_text(plain(event.call.input))
        delta = {"toolCallId": id, "delta": whole(arguments), **_of(voice)}
        return [*events, {"type": "TOOL_CALL_ARGS", **delta}, *self._close_call(opened)]

    def _broken(self, event: Malformed | Problem, voice: _Voice) -> list[AguiEvent]:
        opened = None if event.index is None else self._writing.pop(event.index, None)
        closed = [] if opened is None else self._close_call(opened)
        text = event.text if isinstance(event, Malformed) else ""
        problem = {"code": whole(event.code), "detail": whole(event.detail)}
        return [*closed, *self._text(voice, text), _custom("problem", problem, voice)]

    def _called(self, event: TurnEvent) -> list[AguiEvent]:
        match event:
            case CallBegan(id=id):
                if (call := self._calls.get(id)) is not None:
                    call.is_running = True
                return []
            case CallEnded(outcome=outcome):
                return self._result(outcome, self._voice(event.member))
            case CallTold(id=id, text=text):
                told = {"toolCallId": whole(id), "text": whole(text)}
                return [_custom("progress", told, self._voice(event.member))]
            case CallGranted(id=id, minutes=minutes):
                told = {"toolCallId": whole(id), "minutes": minutes}
                return [_custom("granted", told, self._voice(event.member))]
            case ModelQueued(before=before):
                return [_custom("queue", {"before": before}, self._voice(event.member))]
            case _:
                return []

    def _result(self, outcome: Outcome, voice: _Voice) -> list[AguiEvent]:
        self._calls.pop(outcome.id, None)
        place = {"messageId": self._new_message(), "toolCallId": whole(outcome.id)}
        content = {"content": whole(_content(outcome)), "role": "tool", **_of(voice)}
        return [{"type": "TOOL_CALL_RESULT", **place, **content}]

    # --- Questions ---

    def _asking(self, event: CallAsked | CallAnswered) -> list[AguiEvent]:
        return self._question(event) if isinstance(event, CallAsked) else self._answered(event)

    def _question(self, event: CallAsked) -> list[AguiEvent]:
        voice = self._voice(event.member)
        shown = {"input": plain(event.input or {}), "preview": whole(event.preview)}
        more = {"tainted": list(map(whole, event.tainted)), "hidden": event.hidden}
        interrupt: AguiEvent = {
            "id": whole(event.approval),
            "reason": "tool_approval",
            "message": whole(event.reason) or "Approve this call?",
            "toolCallId": whole(event.id),
            "responseSchema": _ANSWER,
            "metadata": {"callblocks": {**shown, **more}},
            **_of(voice),
        }
        if event.approval not in self._expected:
            self._asked[event.approval] = interrupt
        return [self._patch("/waiting", list(self._asked))]

    def _answered(self, event: CallAnswered) -> list[AguiEvent]:
        self._asked.pop(event.approval, None)
        told = {"toolCallId": whole(event.id), "approved": event.approved}
        said = {"reason": whole(event.reason)} if event.reason else {}
        answered = _custom("answered", {**told, **said}, self._voice(event.member))
        return [answered, self._patch("/waiting", list(self._asked))]

    def _patch(self, path: str, value: object) -> AguiEvent:
        return {
            "type": "STATE_DELTA",
            "delta": [{"op": "replace", "path": path, "value": value}],
        }

    def _voice(self, member: str) -> _Voice:
        known = self._voices.get(member)
        if known is None:
            name = whole(member)
            known = self._voices[member] = _Voice(name=name, run=f"{self._turn}/{name}")
        return known

    def _new_message(self) -> str:
        self._messages += 1
        return f"{self._turn}-{self._messages}"


def _of(voice: _Voice) -> dict[str, str]:
    return {"subagentRunId": voice.run} if voice.name else {}


def _custom(name: str, value: object, voice: _Voice) -> AguiEvent:
    return {"type": "CUSTOM", "name": f"callblocks.{name}", "value": value, **_of(voice)}


def _content(outcome: Outcome) -> str:
    """Return the result of a call as a client's model would be shown it."""
    if outcome.error is not None:
        return f"{outcome.error.code}: {outcome.error.message}"
    output = outcome.output
    text = output if isinstance(output, str) else to_compact_text(plain(output))
    files = [f"[file {one.path.rpartition('/')[2]}, {one.mime}]" for one in outcome.artifacts]
    return "\n".join(filter(None, (text, *files)))


def _words(event: TurnEnded) -> str:
    """Return the reason of an end; messages of a store are replaced, for they name server paths."""
    return whole(TIMELINE_CODES.get(event.code, event.message) or f"the turn {event.status}")


def _usage(event: TurnEnded) -> list[dict[str, int]]:
    if not (event.tokens_in or event.tokens_out):
        return []
    return [{"inputTokens": event.tokens_in, "outputTokens": event.tokens_out}]


# --- The body that an AG-UI client posts: the person's last message, or answers to interrupts ---
#
#     {"threadId": "trip", "runId": "run-1", "messages": [… {"role": "user", "content": "Hello"}]}
#     {"threadId": "trip", "runId": "run-2", "messages": […],
#      "resume": [{"interruptId": "a1b2", "status": "resolved", "payload": {"approved": true}}]}
#
# A client posts its whole history, its state and its tools. They are not trusted: what was said
# is on
# the timeline, and the tools are ours.

_MAX_PARTS = 1000
_MAX_FILES = 50
_MAX_ANSWERS = 1000
_TEXT, _FILES = "text", ("image", "audio", "video", "document")


class PostedRun(msgspec.Struct, frozen=True, kw_only=True):
    """`text` is None where the run goes on with answers; `run` names it to the client."""

    thread: str
    run: str
    text: str | None = None
    files: tuple[PostedFile, ...] = ()
    answers: tuple[PostedAnswer, ...] = ()


def read_run(body: dict[str, Any]) -> PostedRun:
    """Read a body; what is none raises `CallerError`."""
    thread, run = _text(body, "threadId"), _text(body, "runId")
    if answers := _answers(body.get("resume")):
        return PostedRun(thread=thread, run=run, answers=answers)
    messages = _list(body, "messages")
    last: Any = messages[-1] if messages else None
    if not isinstance(last, dict) or cast("dict[str, Any]", last).get("role") != "user":
        raise CallerError("there is nothing to answer: the last message is not of the user")
    text, files = _said(cast("dict[str, Any]", last).get("content"))
    if not text.strip() and not files:
        raise CallerError("the last message says nothing: give it a text, or a file")
    return PostedRun(thread=thread, run=run, text=text, files=files)


def _said(content: object) -> tuple[str, tuple[PostedFile, ...]]:
    if isinstance(content, str):
        return content, ()
    if not isinstance(content, list):
        raise CallerError("the content of the last message is a text, or a list of parts")
    given = cast("list[Any]", content)
    parts: list[dict[str, Any]] = [one for one in given if isinstance(one, dict)]
    if len(parts) > _MAX_PARTS:
        raise CallerError(f"the last message has {len(parts)} parts; send at most {_MAX_PARTS}")
    texts = [_text(part, "text") for part in parts if part.get("type") == _TEXT]
    kept = [part for part in parts if part.get("type") in _FILES]
    if len(kept) > _MAX_FILES:
        raise CallerError(f"the last message has {len(kept)} files; send at most {_MAX_FILES}")
    return "\n\n".join(texts), tuple(_file(part, at) for at, part in enumerate(kept, 1))


def _file(part: dict[str, Any], at: int) -> PostedFile:
    given: Any = part.get("source")
    source = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    mime, value = source.get("mimeType"), source.get("value")
    name: Any = part.get("filename") or part.get("id") or f"file-{at}"
    if source.get("type") != "data" or not isinstance(value, str) or not isinstance(mime, str):
        raise CallerError(f"the file {brief(name)} has no data; an address is not fetched")
    try:
        return PostedFile(str(name), mime, b64decode(value, validate=True))
    except (binascii.Error, ValueError) as error:
        raise CallerError(f"the file {brief(name)} cannot be read: {error}") from None


def _answers(resume: object) -> tuple[PostedAnswer, ...]:
    """Return the answers to interrupts; one that was cancelled is a no."""
    if resume is None:
        return ()
    if not isinstance(resume, list) or len(cast("list[Any]", resume)) > _MAX_ANSWERS:
        raise CallerError("`resume` is a list of answers")
    found: dict[str, PostedAnswer] = {}
    for one in cast("list[Any]", resume):
        entry = cast("dict[str, Any]", one) if isinstance(one, dict) else dict[str, Any]()
        id, status = entry.get("interruptId"), entry.get("status")
        if not isinstance(id, str) or status not in ("resolved", "cancelled"):
            raise CallerError(f"an answer has an interruptId and a status, not {brief(entry)}")
        found[id] = _answer(id, status, entry.get("payload"))
    return tuple(found.values())


def _answer(id: str, status: str, payload: object) -> PostedAnswer:
    if status == "cancelled":
        return PostedAnswer(id, approved=False)
    said = cast("dict[str, Any]", payload) if isinstance(payload, dict) else {}
    approved = payload if isinstance(payload, bool) else said.get("approved")
    if not isinstance(approved, bool):
        raise CallerError('the payload of an answer is {"approved": true} or {"approved": false}')
    reason = said.get("reason")
    return PostedAnswer(id, approved, reason if isinstance(reason, str) else "")


def _text(given: dict[str, Any], key: str) -> str:
    value = given.get(key)
    if not isinstance(value, str):
        raise CallerError(f"`{key}` is a text, not {brief(value)}")
    return value


def _list(given: dict[str, Any], key: str) -> list[Any]:
    value = given.get(key)
    if not isinstance(value, list):
        raise CallerError(f"`{key}` is a list, not {brief(value)}")
    return cast("list[Any]", value)
