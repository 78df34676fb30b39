"""The pieces of a reply from the chunks that a server sends, chat and completion alike.

    {"choices": [{"delta": {"reasoning": "hm"}}]}      Thinking("hm")
    {"choices": [{"delta": {"content": "Hi"}}]}        Spoken("Hi")
    {"choices": [{"finish_reason": "stop"}]}, [DONE]   Usage(…), Stopped("stop") at the end

Calls in the API's own form were not asked for, so nothing runs them: they are given at the end as
`Thinking`, which no reader takes for a call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from callblocks.model.errors import ModelError
from callblocks.models.endpoint_faults import Faults
from callblocks.models.model import Piece, Spoken, Stopped, Thinking, Usage
from callblocks.models.wire import Choice, Chunk, Function, Speech, Tokens

__all__ = ("ReplyReader",)

_REASONS = {
    **dict.fromkeys(("eos", "eos_token", "end_turn", "stop_sequence"), "stop"),
    "max_tokens": "length",
}


class ReplyReader:
    """Reads one reply: `feed` every chunk, then `close`, which gives `Usage` and `Stopped`.

    `limit` is in characters of all that the model says and thinks.
    """

    def __init__(self, faults: Faults, limit: int) -> None:
        self._faults = faults
        self._limit = limit
        self._length = 0
        self._usage: Tokens | None = None
        self._reason = ""
        self._calls: dict[int, list[str]] = {}

    @property
    def is_whole(self) -> bool:
        """Whether the server said why the reply ended: then nothing of it is missing."""
        return bool(self._reason)

    def feed(self, chunk: Chunk) -> Iterator[Piece]:
        """The pieces in one chunk; raises `ModelError` where the server tells an error."""
        self._usage = chunk.usage or self._usage
        for choice in chunk.choices or ():
            if not choice.index:
                yield from self._counted(self._choice(choice))
        if chunk.error or chunk.object == "error":
            told = chunk.error or {"message": chunk.message, "code": chunk.code}
            raise self._faults.told(told)

    def close(self, *, done: bool) -> Iterator[Piece]:
        """The end. `done` says that the server said so, if without a reason."""
        if self._calls:
            yield Thinking("".join(_as_thought(parts) for parts in self._calls.values()))
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
                self._count(piece.text)
            yield piece

    def _count(self, text: str) -> None:
        self._length += len(text)
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
        # A server may say the same thought under both names.
        thought = said.reasoning_content or said.reasoning
        if thought:
            yield Thinking(thought)
        yield from _content(said.content)
        if said.refusal:
            yield Spoken(said.refusal)
        for place, call in enumerate(said.tool_calls or ()):
            self._add_call(place if call.index is None else call.index, call.function)
        self._add_call(-1, said.function_call)

    def _add_call(self, index: int, function: Function | None) -> None:
        if function is None:
            return
        given = function.arguments or ""
        text = given if isinstance(given, str) else msgspec.json.encode(given).decode()
        said = f"{function.name} {text}" if function.name else text
        # A call costs something even where it says nothing.
        self._count(said if index in self._calls else _as_thought([said]))
        parts = self._calls.setdefault(index, [])
        if said:
            parts.append(said)


def _content(content: str | list[dict[str, Any]] | None) -> Iterator[Piece]:
    """Content is text, or a list of parts, some of which may be thoughts."""
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


def _as_thought(parts: list[str]) -> str:
    return f"\n(a call that was not asked for, and is not run: {''.join(parts)})\n"


def _usage(tokens: Tokens) -> Usage:
    counts = (tokens.prompt_tokens, tokens.completion_tokens)
    return Usage(*(max(int(count or 0), 0) for count in counts))


def _too_long(faults: Faults, limit: int) -> ModelError:
    return faults.error(
        "model_too_long",
        f"sent a reply of more than {limit} characters; ask for less, or raise reply_limit",
        limit=limit,
    )
