"""A wire with nothing but the events of a reply, one per line, for tests of what is around it.

{"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": true}

data: {"type":"text","text":"Hello"}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from callblocks.core.blocks import TextPart
from callblocks.core.specs import read_specs
from callblocks.gateway.exchange import (
    Finished,
    GatewayFault,
    GatewayRequest,
    ReplyEvent,
    ReplyHead,
)
from callblocks.models.model import Message

__all__ = ("PlainWire", "plain_wires")


class _Said(msgspec.Struct):
    role: str
    content: str = ""


class _Body(msgspec.Struct):
    messages: list[_Said]
    model: str = ""
    tools: list[dict[str, Any]] = []
    stream: bool = False
    conversation: str = ""


class PlainWire:
    """The wire of one name: all of them look the same."""

    media_type = "text/event-stream"

    def __init__(self, name: str = "chat") -> None:
        self.name = name

    def read(self, body: Any, headers: Mapping[str, str]) -> GatewayRequest:
        try:
            read = msgspec.convert(body, _Body)
            messages = [
                Message(one.role, (TextPart(one.content),))  # pyright: ignore[reportArgumentType] a role of a test
                for one in read.messages
            ]
            tools = tuple(read_specs(read.tools))
        except (msgspec.ValidationError, ValueError) as error:
            raise GatewayFault("invalid_request", str(error), field="body") from error
        return GatewayRequest(
            wire=self.name,
            model=read.model,
            messages=tuple(messages),
            tools=tools,
            streams=read.stream,
            conversation=read.conversation,
        )

    def writer(self, request: GatewayRequest, head: ReplyHead) -> PlainWriter:
        return PlainWriter(head)

    def whole(
        self, request: GatewayRequest, head: ReplyHead, events: Iterable[ReplyEvent]
    ) -> dict[str, Any]:
        return {"id": head.id, "events": [_shown(event) for event in events]}

    def fault(self, fault: GatewayFault) -> dict[str, Any]:
        words = {"wire": self.name, "kind": fault.kind, "message": fault.message}
        return {"error": {**words, "code": fault.code, "field": fault.field}}


class PlainWriter:
    """One stream."""

    def __init__(self, head: ReplyHead) -> None:
        self._head = head

    def begin(self) -> bytes:
        return _line({"type": "begin", "id": self._head.id})

    def write(self, event: ReplyEvent) -> bytes:
        return _line(_shown(event)) + (b"data: [DONE]\n\n" if isinstance(event, Finished) else b"")

    def fail(self, fault: GatewayFault) -> bytes:
        return _line({"type": "error", "kind": fault.kind, "message": fault.message})

    def keep_alive(self) -> bytes:
        return b": wait\n\n"


def plain_wires() -> dict[str, PlainWire]:
    """Return such a wire for each of the routes."""
    return {name: PlainWire(name) for name in ("chat", "responses", "messages", "ollama")}


def _line(value: object) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


def _shown(event: ReplyEvent) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(event)
    return found
