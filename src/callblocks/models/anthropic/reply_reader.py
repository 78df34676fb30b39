"""Events of Anthropic's Messages API as pieces of a reply.

    message_start          the tokens of the prompt
    content_block_start    a text, thinking or tool_use block begins
    content_block_delta    text_delta, thinking_delta, input_json_delta
    message_delta          the reason of the end, the tokens of the reply
    message_stop           the end
    error                  instead of any of them

Unknown events, blocks and deltas are ignored, as the API demands of its clients.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from callblocks.core.errors import ModelError
from callblocks.models.model import NativeDelta, Piece, Spoken, Stopped, Thinking, Usage
from callblocks.models.openai.endpoint_faults import Faults

__all__ = ("MessageReader", "Part", "WireEvent", "read_event")

_REASONS = {
    **dict.fromkeys(("end_turn", "stop_sequence", "pause_turn"), "stop"),
    **dict.fromkeys(("max_tokens", "model_context_window_exceeded"), "length"),
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
# Characters that a call costs even where it is empty, because each is kept to the end.
_CALL_COST = 1000


class Tokens(msgspec.Struct, frozen=True):
    """The cost of a reply; the tokens of a cache are not among `input_tokens`."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class Part(msgspec.Struct, frozen=True):
    """A block of content, or a delta of one: `type` says which fields it has."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None
    partial_json: str | None = None
    stop_reason: str | None = None


class WireMessage(msgspec.Struct, frozen=True):
    """A message: its beginning in a stream, or all of it."""

    content: list[Part] | None = None
    usage: Tokens | None = None
    stop_reason: str | None = None


class WireEvent(msgspec.Struct, frozen=True):
    """One event, or a whole message."""

    type: str = ""
    index: int | None = None
    message: WireMessage | None = None
    content_block: Part | None = None
    delta: Part | None = None
    usage: Tokens | None = None
    content: list[Part] | None = None
    stop_reason: str | None = None
    error: Any = None


_DECODER = msgspec.json.Decoder(WireEvent)


def read_event(text: str) -> WireEvent:
    """Parse an event; raise `ValueError` with the place of the fault."""
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


class MessageReader:
    """The reader of one reply: `feed` every event, then `close`, which yields `Usage`, `Stopped`.

    `limit` is in characters of text, thoughts and inputs together.
    """

    def __init__(self, faults: Faults, limit: int) -> None:
        self._faults = faults
        self._limit = limit
        self._length = 0
        self._tokens = Tokens()
        self._reason = ""
        self._slots: dict[int, int] = {}
        # Inputs that stand in the start of their block; most servers give {} there and then deltas.
        self._given: dict[int, str] = {}

    @property
    def is_whole(self) -> bool:
        """Return whether the server gave a reason for the end."""
        return bool(self._reason)

    def feed(self, event: WireEvent) -> Iterator[Piece]:
        """Yield the pieces of one event; raise `ModelError` where the server reports an error."""
        match event.type:
            case "error":
                raise self._faults.told(event.error or "it does not say why")
            case "message_start" if event.message:
                self._count_tokens(event.message.usage)
            case "content_block_start" if event.content_block:
                yield from self._started(event.index or 0, event.content_block)
            case "content_block_delta" if event.delta:
                yield from self._delta(event.index or 0, event.delta)
            case "content_block_stop":
                yield from self._stopped(event.index or 0)
            case "message_delta":
                self._count_tokens(event.usage)
                self._reason = (event.delta and event.delta.stop_reason) or self._reason
            case "message":
                yield from self._message(event)
            case _:
                pass

    def close(self) -> Iterator[Piece]:
        """Yield the end."""
        known = self._tokens
        cached = known.cache_read_input_tokens or 0
        asked = (known.input_tokens or 0) + cached + (known.cache_creation_input_tokens or 0)
        if asked or known.output_tokens:
            yield Usage(asked, known.output_tokens or 0, cached)
        if not self._reason:
            raise self._faults.error(
                "model_broken",
                "ended the reply without saying that it is over; a part of it may be missing",
            )
        yield Stopped(_REASONS.get(self._reason, self._reason))

    def _message(self, event: WireEvent) -> Iterator[Piece]:
        for index, part in enumerate(event.content or ()):
            yield from self._started(index, part)
            yield from self._stopped(index)
        self._count_tokens(event.usage)
        self._reason = event.stop_reason or self._reason

    def _started(self, index: int, part: Part) -> Iterator[Piece]:
        if part.type == "tool_use":
            slot = self._slots[index] = len(self._slots)
            self._count(_CALL_COST)
            if part.input:
                self._given[index] = msgspec.json.encode(part.input).decode()
            yield NativeDelta(slot, part.id or "", part.name or "")
        else:
            yield from self._text(part)

    def _delta(self, index: int, delta: Part) -> Iterator[Piece]:
        if delta.type == "input_json_delta" and index in self._slots:
            text = delta.partial_json or ""
            self._count(len(text))
            if text:
                self._given.pop(index, None)
                yield NativeDelta(self._slots[index], text=text)
        else:
            yield from self._text(delta)

    def _stopped(self, index: int) -> Iterator[Piece]:
        if text := self._given.pop(index, ""):
            self._count(len(text))
            yield NativeDelta(self._slots[index], text=text)

    def _text(self, part: Part) -> Iterator[Piece]:
        if part.type in ("thinking", "thinking_delta") and part.thinking:
            self._count(len(part.thinking))
            yield Thinking(part.thinking)
        elif part.type in ("text", "text_delta") and part.text:
            self._count(len(part.text))
            yield Spoken(part.text)

    def _count_tokens(self, tokens: Tokens | None) -> None:
        """Take new counts over: they are sums, and one that is missing stays as it was."""
        if tokens:
            given = {
                name: value
                for name in Tokens.__struct_fields__
                if (value := getattr(tokens, name)) is not None
            }
            self._tokens = msgspec.structs.replace(self._tokens, **given)

    def _count(self, length: int) -> None:
        self._length += length
        if self._length > self._limit:
            raise _too_long(self._faults, self._limit)


def _too_long(faults: Faults, limit: int) -> ModelError:
    return faults.error(
        "model_too_long",
        f"sent a reply of more than {limit} characters; ask for less, or raise reply_limit",
        limit=limit,
    )
