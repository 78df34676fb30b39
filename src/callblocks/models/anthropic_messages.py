"""A model behind Anthropic's Messages API.

    model = MessagesEndpoint(locate("anthropic:claude-sonnet-4-5"))

In text mode only messages are sent. In the native modes tools go as `tools`, and calls and results
of earlier rounds as blocks of content. Thoughts of earlier rounds are left out: the API takes only
those that it signed itself.

Events of Anthropic's Messages API as pieces of a reply.

    message_start          the tokens of the prompt
    content_block_start    a text, thinking or tool_use block begins
    content_block_delta    text_delta, thinking_delta, input_json_delta
    message_delta          the reason of the end, the tokens of the reply
    message_stop           the end
    error                  instead of any of them

Unknown events, blocks and deltas are ignored, as the API demands of its clients.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from itertools import groupby
from typing import Any

import msgspec

from callblocks.core.blocks import DocumentPart, ImagePart, Part, TextPart, text_of
from callblocks.core.errors import ModelError
from callblocks.core.json_values import plain
from callblocks.core.specs import ToolSpec
from callblocks.models.model import (
    LinkedImage,
    Message,
    NativeDelta,
    Piece,
    Request,
    Spoken,
    Stopped,
    Thinking,
    Usage,
    UsedMode,
)
from callblocks.models.openai.endpoint import EndpointSettings
from callblocks.models.openai.endpoint_faults import Faults
from callblocks.models.openai.reply_stream import HttpStream, ServerEvent, server_events

__all__ = (
    "MessageReader",
    "MessagesEndpoint",
    "ReplyPart",
    "WireEvent",
    "messages_body",
    "read_event",
)

# The API wants a limit in each request; every model in service takes this one.
_MOST_TOKENS = 4096
# Fields of a request that this API knows by the same name. It refuses all others.
_SAME = ("top_p", "top_k", "thinking", "metadata", "service_tier", "output_config")
_NO_TOOLS = re.compile(r"\btools?\b.{0,60}\bnot\b.{0,10}\bsupport|\bnot support.{0,40}\btool", re.I)
_REFUSALS = (400, 404, 422, 501)
_NO_TEXT = "(nothing)"


class MessagesEndpoint:
    """A `Model` that asks `{base_url}/messages`."""

    writes_results = False

    def __init__(self, settings: EndpointSettings) -> None:
        self._settings = settings
        self.stream = HttpStream(settings)
        self.context = settings.context
        self._has_tools = False
        self.mode: UsedMode = "mixed" if settings.mode == "auto" else settings.mode

    def __repr__(self) -> str:
        return f"MessagesEndpoint({self._settings!r})"

    @property
    def server(self) -> str:
        """Return the name of the known server behind the address; "" where it is not known."""
        return self._settings.server

    @property
    def name(self) -> str:
        """Return the model's name, as the server knows it."""
        return self._settings.model

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield the reply as it arrives; closing it ends the request."""
        body = messages_body(request, self._settings, self.stream.faults)
        reader = MessageReader(self.stream.faults, self._settings.reply_limit)
        try:
            async with self.stream.post("messages", body) as arriving:
                async with aclosing(server_events(arriving, self.stream)) as events:
                    async for event in events:
                        known = _read(event, self.stream.faults)
                        for piece in reader.feed(known):
                            yield piece
                        if known.type == "message_stop":
                            break
                for piece in reader.close():
                    yield piece
                await arriving.finish()
        except ModelError as error:
            words = str(error.details.get("words", ""))
            refused = error.details.get("status") in _REFUSALS and _NO_TOOLS.search(words)
            if not request.tools or not refused:
                raise
            self.give_up_tools()
            raise ModelError("model_no_tools", error.message, **error.details) from error
        self._has_tools = self._has_tools or bool(request.tools)

    async def close(self) -> None:
        """Close the connections."""
        await self.stream.close()

    def give_up_tools(self) -> None:
        """Ask in text from now on, unless a mode was named, or tools were taken before."""
        if self._settings.mode == "auto" and not self._has_tools:
            self.mode = "text"


def _read(event: ServerEvent, faults: Faults) -> WireEvent:
    try:
        return read_event(event.data)
    except ValueError as error:
        problem = f"what is no part of a reply ({error})"
        raise faults.unreadable(problem, event.data) from None


# --- The body of a request ---


def messages_body(request: Request, settings: EndpointSettings, faults: Faults) -> dict[str, Any]:
    """Return the body; fields of the chat completions API in `extra` are translated or left out."""
    if request.grammar:
        raise faults.error("model_refused", "holds no reply to a grammar; ask without one")
    system = [text_of(list(one.parts)) for one in request.messages if one.role == "system"]
    body: dict[str, Any] = {
        **{name: request.extra.get(name) for name in _SAME},
        "model": settings.model,
        "stream": True,
        "max_tokens": request.max_tokens or _MOST_TOKENS,
        "system": "\n\n".join(filter(None, system)) or None,
        "messages": list(_messages(request.messages)),
        "temperature": request.temperature,
        # A stop of blanks alone is refused.
        "stop_sequences": [one for one in request.stop if one.strip()] or None,
        "tools": [_tool(spec) for spec in request.tools] or None,
        "tool_choice": _choice(request) if request.tools else None,
        **settings.extra,
    }
    return {name: value for name, value in body.items() if value is not None}


def _messages(messages: Iterable[Message]) -> Iterator[dict[str, Any]]:
    """Yield the messages; neighbours of the same side become one, and the first is the user's."""
    spoken = (one for one in messages if one.role != "system")
    sides = groupby(spoken, lambda one: "assistant" if one.role == "assistant" else "user")
    for number, (role, group) in enumerate(sides):
        content = [part for message in group for part in _content(message)]
        if role == "assistant" and not number:
            yield {"role": "user", "content": _NO_TEXT}
        yield {"role": role, "content": content or [{"type": "text", "text": _NO_TEXT}]}


def _content(message: Message) -> Iterator[dict[str, Any]]:
    if message.role == "tool":
        text = text_of(list(message.parts))
        yield {"type": "tool_result", "tool_use_id": _id(message.call_id), "content": text}
        return
    for part in message.parts:
        yield from _part(part)
    for call in message.calls:
        given = plain(call.input)
        yield {"type": "tool_use", "id": _id(call.id), "name": call.name, "input": given}


def _part(part: Part) -> Iterator[dict[str, Any]]:
    match part:
        case LinkedImage(url=url):
            yield {"type": "image", "source": {"type": "url", "url": url}}
        case TextPart(text=text):
            # The API refuses a text of blanks alone.
            if text.strip():
                yield {"type": "text", "text": text}
        case ImagePart(mime=mime) | DocumentPart(mime=mime):
            kind = "image" if isinstance(part, ImagePart) else "document"
            source = {"type": "base64", "media_type": mime, "data": part.base64}
            yield {"type": kind, "source": source}


def _tool(spec: ToolSpec) -> dict[str, Any]:
    tool = {"name": spec.name, "description": spec.description, "input_schema": spec.parameters}
    return {name: value for name, value in tool.items() if value}


def _choice(request: Request) -> dict[str, Any] | None:
    """Return the choice of the chat completions API as this API writes it."""
    said = request.extra.get("tool_choice")
    function = said.get("function") if isinstance(said, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] a field of JSON
    choice: dict[str, Any] | None = None
    if isinstance(function, dict):
        choice = {"type": "tool", "name": function.get("name")}  # pyright: ignore[reportUnknownMemberType] the same
    elif isinstance(said, str):
        choice = {"type": {"required": "any"}.get(said, said)}
    if request.extra.get("parallel_tool_calls") is False:
        choice = {**(choice or {"type": "auto"}), "disable_parallel_tool_use": True}
        if choice["type"] == "none":
            del choice["disable_parallel_tool_use"]
    return choice


def _id(id: str) -> str:
    """Return an id as the API allows it."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", id) or "call"


_REASONS = {
    **dict.fromkeys(("end_turn", "stop_sequence", "pause_turn"), "stop"),
    **dict.fromkeys(("max_tokens", "model_context_window_exceeded"), "length"),
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
# Characters that a call costs even where it is empty, because each is kept to the end.
_CALL_COST = 1000


class TokenCounts(msgspec.Struct, frozen=True):
    """The cost of a reply; the tokens of a cache are not among `input_tokens`."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class ReplyPart(msgspec.Struct, frozen=True):
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

    content: list[ReplyPart] | None = None
    usage: TokenCounts | None = None
    stop_reason: str | None = None


class WireEvent(msgspec.Struct, frozen=True):
    """One event, or a whole message."""

    type: str = ""
    index: int | None = None
    message: WireMessage | None = None
    content_block: ReplyPart | None = None
    delta: ReplyPart | None = None
    usage: TokenCounts | None = None
    content: list[ReplyPart] | None = None
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
        self._tokens = TokenCounts()
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

    def _started(self, index: int, part: ReplyPart) -> Iterator[Piece]:
        if part.type == "tool_use":
            slot = self._slots[index] = len(self._slots)
            self._count(_CALL_COST)
            if part.input:
                self._given[index] = msgspec.json.encode(part.input).decode()
            yield NativeDelta(slot, part.id or "", part.name or "")
        else:
            yield from self._text(part)

    def _delta(self, index: int, delta: ReplyPart) -> Iterator[Piece]:
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

    def _text(self, part: ReplyPart) -> Iterator[Piece]:
        if part.type in ("thinking", "thinking_delta") and part.thinking:
            self._count(len(part.thinking))
            yield Thinking(part.thinking)
        elif part.type in ("text", "text_delta") and part.text:
            self._count(len(part.text))
            yield Spoken(part.text)

    def _count_tokens(self, tokens: TokenCounts | None) -> None:
        """Take new counts over: they are sums, and one that is missing stays as it was."""
        if tokens:
            given = {
                name: value
                for name in TokenCounts.__struct_fields__
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
