"""Pieces of a reply from a server's chunks, chat and completion alike.

{"choices": [{"delta": {"reasoning": "hm"}}]}      Thinking("hm")
{"choices": [{"delta": {"content": "Hi"}}]}        Spoken("Hi")
{"choices": [{"delta": {"tool_calls": […]}}]}      NativeDelta(…), one a delta
{"choices": [{"finish_reason": "stop"}]}, [DONE]   Usage(…), Stopped("stop") at the end
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from callblocks.model.errors import ModelError
from callblocks.models.endpoint_faults import Faults
from callblocks.models.model import NativeDelta, Piece, Spoken, Stopped, Thinking, Usage
from callblocks.models.native_calls import CallSlots
from callblocks.models.wire import Choice, Chunk, NativeCall, Speech, Tokens

__all__ = ("ReplyReader",)

# Characters that a call costs even where it is empty, because each is kept to the end.
_CALL_COST = 1000
_REASONS = {
    **dict.fromkeys(("eos", "eos_token", "end_turn", "stop_sequence"), "stop"),
    "max_tokens": "length",
}


class ReplyReader:
    """The reader of one reply: `feed` every chunk, then `close`, which yields `Usage` and
    `Stopped`.

    `limit` is in characters of text, reasoning and calls together. `reasoning_field` is the name
    under which the server gives reasoning; "" until it gave some.
    """

    def __init__(self, faults: Faults, limit: int) -> None:
        self._faults = faults
        self._limit = limit
        self._length = 0
        self._usage: Tokens | None = None
        self._reason = ""
        self._slots = CallSlots()
        self._calls = 0
        self.reasoning_field = ""

    @property
    def is_whole(self) -> bool:
        """Return whether the server gave a reason for the end: then the reply is complete."""
        return bool(self._reason)

    def feed(self, chunk: Chunk) -> Iterator[Piece]:
        """Yield the pieces in one chunk; raise `ModelError` where the server reports an error."""
        self._usage = chunk.usage or self._usage
        for choice in chunk.choices or ():
            if not choice.index:
                yield from self._counted(self._choice(choice))
        if chunk.error or chunk.object == "error":
            told = chunk.error or {"message": chunk.message, "code": chunk.code}
            raise self._faults.told(told)

    def close(self, *, done: bool) -> Iterator[Piece]:
        """Yield the end. `done` means that the server marked it, if without a reason."""
        if self._usage:
            yield _usage(self._usage)
        if not self._reason and not done:
            raise self._faults.error(
                "model_broken",
                "ended the reply without saying that it is over; a part of it may be missing",
            )
        yield Stopped(_REASONS.get(self._reason, self._reason) or "stop")

    def _counted(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        for piece in pieces:
            if isinstance(piece, Spoken | Thinking):
                self._count(len(piece.text))
            elif isinstance(piece, NativeDelta):
                # Calls have a basic cost, or a server could fill the memory with millions of empty
                # ones.
                is_new = piece.slot >= self._calls
                self._calls = max(self._calls, piece.slot + 1)
                self._count(len(piece.text) + len(piece.name) + len(piece.id) + is_new * _CALL_COST)
            yield piece

    def _count(self, length: int) -> None:
        self._length += length
        if self._length > self._limit:
            raise _too_long(self._faults, self._limit)

    def _choice(self, choice: Choice) -> Iterator[Piece]:
        if choice.text:
            yield Spoken(choice.text)
        said = choice.delta or choice.message
        if said:
            yield from self._speech(said)
        self._reason = choice.finish_reason or self._reason

    def _speech(self, said: Speech) -> Iterator[Piece]:
        # A server may send the same reasoning under both names.
        field = "reasoning_content" if said.reasoning_content else "reasoning"
        thought = said.reasoning_content or said.reasoning
        if thought:
            self.reasoning_field = field
            yield Thinking(thought)
        yield from _content(said.content)
        if said.refusal:
            yield Spoken(said.refusal)
        # Some servers send null entries to keep the indexes aligned.
        for call in filter(None, said.tool_calls or ()):
            yield self._slots.take(call)
        if said.function_call is not None:
            yield self._slots.take(NativeCall(function=said.function_call))


def _content(content: str | list[dict[str, Any]] | None) -> Iterator[Piece]:
    """Yield pieces of a content: text, or a list of parts, some of which may be reasoning."""
    if isinstance(content, str):
        if content:
            yield Spoken(content)
        return
    for part in content or ():
        if part.get("type") == "thinking":
            yield from (Thinking(text) for text in _texts(part.get("thinking")))
        else:
            yield from (Spoken(text) for text in _texts(part.get("text")))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, list):
        for part in cast("list[Any]", value):
            if isinstance(part, dict):
                yield from _texts(cast("dict[str, Any]", part).get("text"))


def _usage(tokens: Tokens) -> Usage:
    counts = (tokens.prompt_tokens, tokens.completion_tokens)
    return Usage(*(max(int(count or 0), 0) for count in counts))


def _too_long(faults: Faults, limit: int) -> ModelError:
    return faults.error(
        "model_too_long",
        f"sent a reply of more than {limit} characters; ask for less, or raise reply_limit",
        limit=limit,
    )
