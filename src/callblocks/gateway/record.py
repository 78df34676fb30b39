"""The record of what went through a gateway: timelines and rollouts. Off unless the config says so.

    [timeline]
    store = "state"                a folder, laid out as that of `callblocks run --timeline`
    [rollouts]
    file = "rollouts.jsonl"        one line for each reply of a model

Timelines. A conversation is the timeline `gateway-…`. A message of the user begins a turn, calls
and their results follow as the client sends them back, and a reply without a call ends the turn.
Nothing is remembered between two requests: what a turn is, its timeline and the client's own
history say.

Rollouts. A line has the prompt as the model got it, its raw text, the calls with their spans in
that text (in characters), and tokens with ids and logprobs where the server gives them.

Both are written by a thread behind the reply, in the order of the replies. A fault of the disk is
one line in the log, and no fault of a reply.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from typing import Any

import msgspec

from callblocks.core.blocks import text_of
from callblocks.core.calls import Call
from callblocks.core.errors import CallblocksError
from callblocks.core.events import CallReady, Text
from callblocks.core.json_values import json_text
from callblocks.core.outcomes import Outcome
from callblocks.gateway.config import GatewayConfig
from callblocks.gateway.exchange import Finished, GatewayRequest, ReplyEvent
from callblocks.gateway.upstreams import Upstream
from callblocks.models.model import (
    Message,
    Model,
    NativeDelta,
    Piece,
    Request,
    Sampled,
    SampledToken,
    Spoken,
    Stopped,
    Thinking,
    Usage,
)
from callblocks.parser import parse
from callblocks.timeline.recorder import Recorder
from callblocks.toolkits.turn_files import open_recorder

__all__ = ("Record", "Rollout", "TappedModel")

_LOG = logging.getLogger("callblocks.gateway")


class Rollout(msgspec.Struct, omit_defaults=True):
    """One reply of a model, as it wrote it."""

    conversation: str
    model: str
    messages: list[dict[str, Any]]
    text: str = ""
    reasoning: str = ""
    calls: list[dict[str, Any]] = []
    tokens: list[SampledToken] = []
    usage: Usage = Usage()
    finish: str = ""


class TappedModel:
    """A model that notes each of its replies; everything else is the model's own."""

    def __init__(self, model: Model, note: Callable[[Request, list[Piece]], None]) -> None:
        self._model = model
        self._note = note

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    @property
    def name(self) -> str:
        """Return the model's name."""
        return self._model.name

    @property
    def writes_results(self) -> bool:
        """Return whether its text may carry results."""
        return self._model.writes_results

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield the reply; note what came of it, also where it was cut off."""
        pieces: list[Piece] = []
        try:
            async with aclosing(self._model.reply(request)) as coming:
                async for piece in coming:
                    pieces.append(piece)
                    yield piece
        finally:
            self._note(request, pieces)

    async def close(self) -> None:
        """Leave it open: it is another's."""


class Record:
    """What is kept of the replies of one gateway."""

    def __init__(self, config: GatewayConfig) -> None:
        self._store = config.store
        self._rollouts = config.rollouts
        is_on = bool(self._store or self._rollouts)
        self._thread = ThreadPoolExecutor(1, "callblocks-record") if is_on else None

    def is_same(self, config: GatewayConfig) -> bool:
        """Return whether another config keeps the same at the same places."""
        return (self._store, self._rollouts) == (config.store, config.rollouts)

    def tapped(self, upstream: Upstream, request: GatewayRequest, conversation: str) -> Upstream:
        """Return the upstream, noting its replies where rollouts are kept."""
        if not self._rollouts:
            return upstream

        def note(asked: Request, pieces: list[Piece]) -> None:
            self._run(lambda: self._write_rollout(upstream, request, conversation, asked, pieces))

        return msgspec.structs.replace(upstream, model=TappedModel(upstream.model, note))

    def wants(self) -> bool:
        """Return whether timelines are kept."""
        return bool(self._store)

    def replied(
        self, request: GatewayRequest, conversation: str, events: Sequence[ReplyEvent]
    ) -> None:
        """Write a request and its reply on the timeline of its conversation."""
        if self._store:
            self._run(lambda: self._write_turn(request, conversation, events))

    async def flush(self) -> None:
        """Wait until everything so far is written."""
        if self._thread is not None:
            await asyncio.wrap_future(self._thread.submit(lambda: None))

    def close(self) -> None:
        """Write what waits, and end the thread."""
        if self._thread is not None:
            self._thread.shutdown(wait=True)

    def _run(self, write: Callable[[], None]) -> None:
        def run() -> None:
            try:
                write()
            except (CallblocksError, OSError) as error:
                _LOG.error("a reply could not be recorded: %s", error)
            except Exception:
                # Nobody waits for the thread: what is not logged here is lost.
                _LOG.exception("a reply could not be recorded")

        if self._thread is not None:
            self._thread.submit(run)

    # --- Timelines ---

    def _write_turn(
        self, request: GatewayRequest, conversation: str, events: Sequence[ReplyEvent]
    ) -> None:
        with open_recorder(self._store, f"gateway-{conversation}") as recorder:
            with recorder.lock:
                turn = _turn_of(recorder, request)
            with recorder.together():
                for call, result in _results(request.messages):
                    outcome = Outcome(id=call.id, name=call.name, output=result)
                    recorder.ended(turn, call, outcome)
            _write_reply(recorder, turn, request, events)

    # --- Rollouts ---

    def _write_rollout(
        self,
        upstream: Upstream,
        request: GatewayRequest,
        conversation: str,
        asked: Request,
        pieces: list[Piece],
    ) -> None:
        messages = [_shown(message) for message in asked.messages]
        rollout = Rollout(conversation, upstream.model.name, messages)
        rollout.text = "".join(one.text for one in pieces if isinstance(one, Spoken))
        rollout.reasoning = "".join(one.text for one in pieces if isinstance(one, Thinking))
        rollout.calls = [*_written_calls(rollout.text, request), *_native_calls(pieces)]
        for piece in pieces:
            match piece:
                case Sampled(tokens=tokens):
                    rollout.tokens = [*rollout.tokens, *tokens]
                case Usage():
                    rollout.usage = piece
                case Stopped(reason=reason):
                    rollout.finish = reason
                case _:
                    pass
        line = json_text(msgspec.to_builtins(rollout)) + "\n"
        # One write of one line: several programs may append to the same file.
        with open(self._rollouts, "ab", buffering=0) as file:
            file.write(line.encode("utf-8", "replace"))


def _turn_of(recorder: Recorder, request: GatewayRequest) -> str:
    """Return the open turn that a request goes on with, or begin one."""
    state = recorder.state
    last = next(reversed(list(state.turns)), "")
    is_open = bool(last) and last not in state.ended
    if is_open and request.messages and request.messages[-1].role == "tool":
        return last
    if is_open:
        # The client asks something else: it gave the turn up.
        recorder.end_turn(last, status="interrupted")
    said = [one for one in request.messages if one.role == "user"]
    prompt = text_of(list(said[-1].parts)) if said else ""
    return recorder.begin_turn(prompt, model=request.model, wire=request.wire)


def _results(messages: Sequence[Message]) -> list[tuple[Call, str]]:
    """Return the results at the end of a history, each with its call."""
    count = 0
    while count < len(messages) and messages[-count - 1].role == "tool":
        count += 1
    last = messages[len(messages) - count :] if count else ()
    calls = {call.id: call for message in messages for call in message.calls}
    return [(calls[one.call_id], text_of(list(one.parts))) for one in last if one.call_id in calls]


def _write_reply(
    recorder: Recorder, turn: str, request: GatewayRequest, events: Sequence[ReplyEvent]
) -> None:
    with recorder.together():
        text, has_calls, end = "", False, Finished("stop")
        for event in events:
            match event:
                case Text(text=more):
                    text += more
                case CallReady(call=call):
                    if text.strip():
                        recorder.notes(turn, call, text)
                    recorder.started(turn, call)
                    text, has_calls = "", True
                case Finished():
                    end = event
                case _:
                    pass
        if text.strip() or not has_calls:
            meta = {"tokens_in": end.usage.tokens_in, "tokens_out": end.usage.tokens_out}
            recorder.completion(turn, text, **meta)
    if not has_calls:
        recorder.end_turn(turn, status="answered" if end.reason == "stop" else end.reason)


def _shown(message: Message) -> dict[str, Any]:
    calls = [{"id": call.id, "name": call.name, "input": call.input} for call in message.calls]
    shown: dict[str, Any] = {"role": message.role, "content": text_of(list(message.parts))}
    return {**shown, **({"calls": calls} if calls else {})}


def _written_calls(text: str, request: GatewayRequest) -> list[dict[str, Any]]:
    if not text or not request.tools:
        return []
    read = parse(text, tools=request.tools, in_code_fences="whole")
    return [
        {
            "name": call.name,
            "input": call.input,
            "dialect": call.dialect,
            "span": list(call.span),
        }
        for call in read.calls
    ]


def _native_calls(pieces: Sequence[Piece]) -> list[dict[str, Any]]:
    slots: dict[int, dict[str, Any]] = {}
    for piece in pieces:
        if isinstance(piece, NativeDelta):
            call = slots.setdefault(piece.slot, {"name": "", "arguments": "", "dialect": "native"})
            call["name"] = call["name"] or piece.name
            call["arguments"] += piece.text
    return list(slots.values())
