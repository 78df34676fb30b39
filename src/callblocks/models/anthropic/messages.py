"""A model behind Anthropic's Messages API.

    model = MessagesEndpoint(locate("anthropic:claude-sonnet-4-5"))

In text mode only messages are sent. In the native modes tools go as `tools`, and calls and results
of earlier rounds as blocks of content. Thoughts of earlier rounds are left out: the API takes only
those that it signed itself.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from itertools import groupby
from typing import Any

from callblocks.core.blocks import DocumentPart, ImagePart, Part, TextPart, text_of
from callblocks.core.errors import ModelError
from callblocks.core.json_values import plain
from callblocks.core.specs import ToolSpec
from callblocks.models.anthropic.reply_reader import MessageReader, WireEvent, read_event
from callblocks.models.model import Message, Piece, Request, UsedMode
from callblocks.models.openai.endpoint import EndpointSettings
from callblocks.models.openai.endpoint_faults import Faults
from callblocks.models.openai.reply_stream import HttpStream, ServerEvent, server_events

__all__ = ("MessagesEndpoint", "messages_body")

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
