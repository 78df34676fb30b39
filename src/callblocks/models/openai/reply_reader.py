"""Pieces of a reply from a server's chunks, chat and completion alike.

{"choices": [{"delta": {"reasoning": "hm"}}]}      Thinking("hm")
{"choices": [{"delta": {"content": "Hi"}}]}        Spoken("Hi")
{"choices": [{"delta": {"tool_calls": […]}}]}      NativeDelta(…), one a delta
{"choices": [{"finish_reason": "stop"}]}, [DONE]   Usage(…), Stopped("stop") at the end
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from callblocks.core.errors import ModelError
from callblocks.models.model import (
    NativeDelta,
    Piece,
    Sampled,
    SampledToken,
    Spoken,
    Stopped,
    Thinking,
    Usage,
)
from callblocks.models.openai.endpoint_faults import Faults
from callblocks.parsing.values.strict_json import JsonScan

__all__ = (
    "CallSlots",
    "Chunk",
    "Function",
    "NativeCall",
    "ReplyReader",
    "Speech",
    "WireChoice",
    "read_chunk",
)

# --- Messages of an OpenAI-compatible server, as far as they are read ---
#
#     {"choices": [{"delta": {"content": "Hel"}}]}                             a chunk of a chat
#     {"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]}  a chat, whole
#     {"choices": [{"text": "Hel"}]}                                           a completion
#
# Unknown fields are ignored, and every field may be missing or null.


class Function(msgspec.Struct, frozen=True):
    """The name and the input of a native call, or a part of them."""

    name: str | None = None
    arguments: Any = None


class NativeCall(msgspec.Struct, frozen=True):
    """A part of a call in the API's own form."""

    index: int | str | None = None
    id: str | int | None = None
    function: Function | None = None


class Speech(msgspec.Struct, frozen=True):
    """The text of a model: a part of it, or all."""

    content: str | list[dict[str, Any]] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[NativeCall | None] | None = None
    function_call: Function | None = None


class WireChoice(msgspec.Struct, frozen=True):
    """One of the replies; only the first is asked for."""

    index: int | None = None
    delta: Speech | None = None
    message: Speech | None = None
    text: str | None = None
    finish_reason: str | None = None
    # Servers give these in many shapes, and a shape that is not known must not break the reply.
    logprobs: Any = None
    token_ids: Any = None


class Chunk(msgspec.Struct, frozen=True):
    """One event of a stream, or a whole reply."""

    choices: list[WireChoice | None] | None = None
    # A count of an unknown shape must not cost the reply.
    usage: Any = None
    error: Any = None
    object: str | None = None
    message: Any = None
    code: Any = None


# An event may be `null`, too: some servers keep a connection alive by it.
_DECODER = msgspec.json.Decoder(Chunk | None)


_EMPTY = Chunk()


# A second try without lone surrogates: decoding strictly first keeps the common case fast.
def read_chunk(text: str) -> Chunk:
    """Parse a chunk; raise `ValueError` with the place of the fault."""
    try:
        return _DECODER.decode(text) or _EMPTY
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        return _DECODER.decode(_whole_characters(text)) or _EMPTY
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _whole_characters(text: str) -> bytes:
    r"""Return the same JSON without lone surrogates: a lone `\ud83d` becomes U+FFFD.

    Some servers cut an emoji in two and escape each half.
    """
    try:
        said = json.dumps(json.loads(text), ensure_ascii=False)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    return said.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


# --- Calls in the API's own form, as servers really stream them, sorted into one slot per call ---
#
# By the published API a call opens with `index`, `id` and `name`, and continues by its `index`
# alone. Servers deviate in these ways, and each is accepted:
#
#     no `index`                   a new id or name opens a call; others belong to the last
#     `index` 0 for every call     another id, or a name after complete arguments, opens a new one
#     one id for two calls         a name after complete arguments opens a new one
#     id and name in every delta   they are the same, and the arguments are not complete: it goes on
#     `arguments` as an object     it is written as JSON text
#
# Invariant: a slot never joins two calls, because joined arguments would be the input of neither.
# "Complete arguments" is the key test: once the text of a slot is one JSON object, no further text
# can belong to it.


class _Slot:
    """The state of one call: its id on the wire, and whether its input is complete.

    `repeated` is a name that came after the input was complete: the name of the next call, or the
    same one repeated. Only further input decides which.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.id = ""
        self.name = ""
        self.repeated = ""
        self._scan = JsonScan()

    @property
    def is_complete(self) -> bool:
        """Return whether the arguments are one JSON object: no text can continue it."""
        return self._scan.complete

    def take(self, id: str, name: str, text: str) -> NativeDelta:
        """Return the delta of this call without an id and a name that were given before."""
        delta = NativeDelta(self.number, "" if self.id else id, "" if self.name else name, text)
        self.id, self.name = self.id or id, self.name or name
        self._scan.feed(text)
        return delta


class CallSlots:
    """The sorter of the deltas of one reply.

    A delta continues the newest slot of its id, else the newest of its index, else the newest of
    all, unless that slot shows that it is another call.
    """

    def __init__(self) -> None:
        self._count = 0
        self._newest: dict[tuple[str | None, str], _Slot] = {}

    def take(self, call: NativeCall) -> NativeDelta:
        """Return the delta with the number of the slot that it belongs to."""
        function = call.function or Function()
        id = "" if call.id is None else str(call.id)
        name, text = function.name or "", _json_text(function.arguments)
        index = None if call.index is None else str(call.index)
        # `index` may be None, which is a key of its own: then the id alone, or the newest call,
        # decides.
        slot = self._newest.get((index, id)) or self._newest.get((index, ""))
        if slot is None or _is_other(slot, id, name, text):
            name = name or (slot.repeated if slot and slot.is_complete else "")
            slot = _Slot(self._count)
            self._count += 1
        # A name without further input after complete arguments: remembered, because only the next
        # delta tells whether it opens another call.
        elif slot.is_complete:
            slot.repeated = name
        # Registered four ways, under index and id, so that a later delta may omit either of them.
        for key in (index, None):
            self._newest[key, id] = self._newest[key, ""] = slot
        return slot.take(id, name, text)


def _is_other(slot: _Slot, id: str, name: str, text: str) -> bool:
    """Return whether a delta opens a call of its own instead of continuing that of a slot."""
    if (id and slot.id and id != slot.id) or (name and slot.name and name != slot.name):
        return True
    return bool(slot.is_complete and text.strip() and (name or slot.repeated))


def _json_text(arguments: Any) -> str:
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()


# --- Pieces of a reply from a server's chunks, chat and completion alike ---

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
        self._usage: dict[str, Any] | None = None
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
        usage: Any = chunk.usage
        if isinstance(usage, dict):
            self._usage = cast("dict[str, Any]", usage)
        for choice in filter(None, chunk.choices or ()):
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

    def _choice(self, choice: WireChoice) -> Iterator[Piece]:
        if choice.text:
            yield Spoken(choice.text)
        said = choice.delta or choice.message
        if said:
            yield from self._speech(said)
        if (choice.logprobs or choice.token_ids) and (tokens := _sampled(choice)):
            yield Sampled(tokens)
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


def _usage(tokens: dict[str, Any]) -> Usage:
    return Usage(
        _count_of(tokens, "prompt_tokens"),
        _count_of(tokens, "completion_tokens"),
        _count_of(tokens.get("prompt_tokens_details"), "cached_tokens"),
        _count_of(tokens.get("completion_tokens_details"), "reasoning_tokens"),
    )


def _count_of(counts: Any, name: str) -> int:
    count: Any = cast("dict[str, Any]", counts).get(name) if isinstance(counts, dict) else None
    if not isinstance(count, int | float) or not math.isfinite(count):
        return 0
    return max(int(count), 0)


# --- Tokens that a model chose, as servers give them ---
#
#     "logprobs": {"content": [{"token": "Hi", "logprob": -0.1, "id": 5}]}     a chat
#     "logprobs": {"tokens": ["Hi"], "token_logprobs": [-0.1]}                 a completion
#     "token_ids": [5]                                                         vLLM, for both


def _sampled(choice: WireChoice) -> tuple[SampledToken, ...]:
    """Return the tokens of a choice; none where their shape is unknown."""
    shape: Any = choice.logprobs
    given = cast("dict[str, Any]", shape if isinstance(shape, dict) else {})
    texts: list[Any]
    logprobs: list[Any]
    if content := _list(given.get("content")):
        rows = [cast("dict[str, Any]", row) for row in content if isinstance(row, dict)]
        texts = [row.get("token") for row in rows]
        logprobs = [row.get("logprob") for row in rows]
        ids = _list(choice.token_ids) or [row.get("id") for row in rows]
    else:
        texts = _list(given.get("tokens"))
        logprobs = _list(given.get("token_logprobs"))
        ids = _list(choice.token_ids)
    count = max(len(texts), len(ids))
    columns = [_padded(one, count) for one in (texts, ids, logprobs)]
    return tuple(
        SampledToken(
            text if isinstance(text, str) else "",
            id if type(id) is int else None,
            float(logprob) if isinstance(logprob, int | float) else None,
        )
        for text, id, logprob in zip(*columns, strict=True)
    )


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _padded(values: list[Any], count: int) -> list[Any]:
    return [*values[:count], *[None] * (count - len(values))]


def _too_long(faults: Faults, limit: int) -> ModelError:
    return faults.error(
        "model_too_long",
        f"sent a reply of more than {limit} characters; ask for less, or raise reply_limit",
        limit=limit,
    )
