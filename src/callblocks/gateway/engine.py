"""One reply of a model, as the events that a client gets.

    events = reply(request, upstream)
    async for event in events: …

A reply may take several requests to the model ("attempts"): the first may be broken, call nothing
where the client demands a call, or be denied by the firewall. `ModelReply` reads one attempt;
`Sender` keeps what was sent, over all of them. Every attempt ends with a verdict. Asking again is
bounded by `retries`, refusals of the firewall by `_DENIALS`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from callblocks.core.blocks import TextPart
from callblocks.core.calls import Call
from callblocks.core.errors import CallblocksError, ModelError, Unwritable
from callblocks.gateway.exchange import Finished, GatewayFault, GatewayRequest, ReplyEvent, fault_of
from callblocks.gateway.firewall import Firewall
from callblocks.gateway.history import ModelPrompt, dialect_for, prompt_of
from callblocks.gateway.model_reply import ModelReply, Sender
from callblocks.gateway.upstreams import Upstream, hold_of
from callblocks.models.model import (
    FairTurns,
    Message,
    NativeDelta,
    Piece,
    Spoken,
    Thinking,
    Usage,
    UsedMode,
    mode_of,
)
from callblocks.parsing.dialect import Dialect

__all__ = ("reply",)

_Result = TypeVar("_Result")

# How often a model may be told that the firewall denied its calls, within one request.
_DENIALS = 5
# Servers that report no usage: characters of a token, on average.
_CHARACTERS_A_TOKEN = 4
# The most characters of a model that are read at a time.
_PART = 512
# From so many characters on, what reads all of them at once would keep other streams waiting.
_LONG = 65_536


async def reply(
    request: GatewayRequest, upstream: Upstream, firewall: Firewall | None = None
) -> AsyncGenerator[ReplyEvent, None]:
    """Yield the reply of a model to a request, `Finished` last.

    Raise `GatewayFault` where the model fails, before or behind a part of the reply. Closing the
    generator ends the request to the model.
    """
    exchange = _Exchange(request, upstream, firewall)
    try:
        async with aclosing(exchange.events()) as events:
            async for event in events:
                yield event
    except ModelError as error:
        raise fault_of(error) from error
    except CallblocksError as error:
        raise GatewayFault("invalid_request", str(error)) from error


class _Exchange:
    """All attempts at one reply."""

    def __init__(
        self, request: GatewayRequest, upstream: Upstream, firewall: Firewall | None
    ) -> None:
        self._request = request
        self._upstream = upstream
        self._firewall = firewall
        self._sender = Sender()
        self._usages: list[Usage] = []
        self._has_usage = False
        self._characters = 0

    async def events(self) -> AsyncGenerator[ReplyEvent, None]:
        """Yield the events of the attempts, until one of them is good or none is left."""
        settings, after = self._upstream.settings, list[Message]()
        left, denials, bare = settings.retries, _DENIALS, False
        hold = await hold_of(self._request, self._upstream, dialect_for(self._upstream))
        while True:
            mode: UsedMode = "text" if hold else self._mode()
            prompt = await _in_turn(
                partial(prompt_of, self._request, self._upstream, mode, after, hold, bare=bare),
                sum(map(_length, (*self._request.messages, *after))),
            )
            reader = ModelReply(
                self._request,
                prompt,
                self._sender,
                self._firewall,
                holds=self._holds(prompt, is_again=bool(after)),
                prose_is_thought=settings.holds_prose,
            )
            try:
                async with aclosing(self._asked(prompt, reader)) as events:
                    async for event in events:
                        yield event
            except ModelError as error:
                # Each of these repeats a request once, and without what the server refused.
                if reader.has_pieces or not _is_refusal(error):
                    raise
                if error.code == "model_no_tools" and self._mode() != mode:
                    continue
                if hold is not None:
                    hold = None
                    continue
                if bare or not _has_demands(prompt):
                    raise
                bare = True
                continue
            if reader.is_unheard and not self._sender.has_sent and self._give_up_tools(mode):
                self._sender.remark("asked-again", "the server did not tell the model of its tools")
                continue
            again = reader.again(can_ask=left > 0, denials=denials)
            if again is None:
                break
            if again.is_denial:
                denials -= 1
            else:
                left -= 1
                self._sender.remark("asked-again", again.why)
            after += again.messages
        self._learn(reader, mode)
        for event in reader.rest():
            yield event
        yield self._finished(reader)

    async def _asked(
        self, prompt: ModelPrompt, reader: ModelReply
    ) -> AsyncGenerator[ReplyEvent, None]:
        turns = FairTurns()
        async with aclosing(self._upstream.model.reply(prompt.request)) as pieces:
            async for piece in pieces:
                turns.begin()
                if isinstance(piece, Usage):
                    self._usages.append(piece)
                    self._has_usage = True
                for part in _parts(piece):
                    for event in reader.feed(part):
                        yield event
                    await turns.pass_on()
                if reader.is_enough:
                    break
        # What could not be read as a call is looked at anew in the end.
        for event in await _in_turn(lambda: [*reader.close()], reader.length):
            yield event
        self._characters += reader.length
        if not self._has_usage:
            self._usages.append(_counted(prompt, reader.length))
        self._has_usage = False

    def _mode(self) -> UsedMode:
        return mode_of(self._upstream.model)

    def _holds(self, prompt: ModelPrompt, *, is_again: bool) -> bool:
        """Return whether prose waits for the end of the reply, or for its first call."""
        request, model = self._request, self._upstream.model
        # A server that passes over the tools is found out at the end of its first reply.
        is_unsure = bool(prompt.request.tools) and not getattr(model, "is_tried", True)
        return (
            is_again
            or is_unsure
            or request.choice.demand == "required"
            or self._upstream.settings.holds_prose
            or (request.json_format is not None and prompt.mode == "text")
        )

    def _give_up_tools(self, mode: UsedMode) -> bool:
        """Have the model asked in text from now on; return whether that changes its mode."""
        give_up = getattr(self._upstream.model, "give_up_tools", None)
        if give_up is not None:
            give_up()
        return self._mode() != mode

    def _learn(self, reader: ModelReply, mode: UsedMode) -> None:
        """Have a model asked in text from now on whose calls its server does not read.

        Such a server shows the calls of earlier turns in a form that the model does not write, and
        soon the model stops calling. For the same reason it is noted how the model writes a call.
        """
        if reader.has_text_calls and mode == "mixed":
            self._give_up_tools(mode)
        if reader.has_bare_calls and not _is_bare(dialect_for(self._upstream)):
            self._upstream.habits.bare_calls = True

    def _finished(self, reader: ModelReply) -> Finished:
        usage = Usage(
            sum(one.tokens_in for one in self._usages),
            sum(one.tokens_out for one in self._usages),
            sum(one.tokens_cached for one in self._usages),
            sum(one.tokens_reasoning for one in self._usages),
        )
        return Finished(
            reader.reason(self._sender),
            usage,
            tuple(self._sender.remarks),
            reader.stop_text,
        )


def _is_bare(dialect: Dialect) -> bool:
    """Return whether a call of the dialect is a JSON object by itself."""
    try:
        return dialect.write([_SAMPLE], ()).startswith("{")
    except Unwritable:
        return False


# With the id that the first call of a text gets: dialects that write no ids can say no other one.
_SAMPLE = Call(id="tool-call-1", name="f")


# Fields by which a server itself would hold what the client demands.
_DEMANDS = ("tool_choice", "parallel_tool_calls", "response_format")
_REFUSALS = ("model_refused", "model_no_tools", "model_failed")


def _is_refusal(error: ModelError) -> bool:
    return error.code in _REFUSALS and error.details.get("status") not in (401, 403)


def _has_demands(prompt: ModelPrompt) -> bool:
    return any(name in prompt.request.extra for name in _DEMANDS)


async def _in_turn(work: Callable[[], _Result], length: int) -> _Result:
    """Do work on a text of this length, apart from the event loop where that takes long."""
    return work() if length < _LONG else await asyncio.to_thread(work)


def _length(message: Message) -> int:
    return sum(len(part.text) for part in message.parts if isinstance(part, TextPart))


def _parts(piece: Piece) -> Iterable[Piece]:
    """Yield a piece in parts that are read in a moment each; how a text is cut changes nothing."""
    if not isinstance(piece, Spoken | Thinking | NativeDelta) or len(piece.text) <= _PART:
        return (piece,)
    first, *others = (piece.text[at : at + _PART] for at in range(0, len(piece.text), _PART))
    if isinstance(piece, NativeDelta):
        rest = (NativeDelta(piece.slot, text=text) for text in others)
        return (replace(piece, text=first), *rest)
    return (replace(piece, text=text) for text in (first, *others))


def _counted(prompt: ModelPrompt, length: int) -> Usage:
    """Return an estimate of the tokens, where the server reports none."""
    texts = (
        part.text
        for message in prompt.request.messages
        for part in message.parts
        if isinstance(part, TextPart)
    )
    return Usage(sum(map(len, texts)) // _CHARACTERS_A_TOKEN, length // _CHARACTERS_A_TOKEN)
