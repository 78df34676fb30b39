"""The clients' own packages before the engine, in this process: no sockets, no server.

    texts = Texts("prose and a call")
    with openai_client(texts, "tool-fence") as client:
        client.chat.completions.stream(…)

The model gives one text per request, in the pieces that it is told; what is left of the way is the
gateway's: a wire reads the request, the engine reads the model, and the wire writes the reply.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence

import anthropic
import httpx2
import openai

from callblocks.gateway.engine import reply
from callblocks.gateway.exchange import GatewayFault, GatewayRequest, ReplyEvent, ReplyHead
from callblocks.gateway.server import all_wires
from callblocks.gateway.upstreams import ModelSettings, Upstream
from callblocks.gateway.wires.reply_items import Wire
from callblocks.models.model import Piece, Request, Spoken, Stopped

__all__ = ("Texts", "anthropic_client", "openai_client")

_PATHS = {
    "/v1/chat/completions": "chat",
    "/v1/responses": "responses",
    "/v1/messages": "messages",
}


class Texts:
    """A model that gives one text after another, each in its pieces; then the last one again."""

    name = "texts"
    writes_results = False
    mode = "text"

    def __init__(self, *texts: str | Sequence[str]) -> None:
        self.texts = [*texts]
        self.requests: list[Request] = []

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        self.requests.append(request)
        text = self.texts.pop(0) if len(self.texts) > 1 else self.texts[0]
        for piece in (text,) if isinstance(text, str) else text:
            yield Spoken(piece)
        yield Stopped("stop")

    async def close(self) -> None:
        pass


def openai_client(model: Texts, dialect: str) -> openai.OpenAI:
    """Return a client of OpenAI's APIs before a model."""
    http = httpx2.Client(transport=_transport(model, dialect))
    return openai.OpenAI(
        base_url="http://gateway/v1", api_key="none", http_client=http, max_retries=0
    )


def anthropic_client(model: Texts, dialect: str) -> anthropic.Anthropic:
    """Return a client of Anthropic's API before a model."""
    http = httpx2.Client(transport=_transport(model, dialect))
    return anthropic.Anthropic(
        base_url="http://gateway", api_key="none", http_client=http, max_retries=0
    )


def _transport(model: Texts, dialect: str) -> httpx2.MockTransport:
    wires = all_wires()
    upstream = Upstream(name="texts", model=model, dialect=dialect, settings=ModelSettings())

    def answer(asked: httpx2.Request) -> httpx2.Response:
        wire = wires[_PATHS[asked.url.path]]
        try:
            request = wire.read(json.loads(asked.content), dict(asked.headers))
            events = asyncio.run(_events(request, upstream))
        except GatewayFault as fault:
            return httpx2.Response(fault.status, json=wire.fault(fault))
        head = ReplyHead("1", 1, "texts")
        if not request.streams:
            return httpx2.Response(200, json=wire.whole(request, head, events))
        return httpx2.Response(
            200, content=_streamed(wire, request, head, events), headers=_kind(wire)
        )

    return httpx2.MockTransport(answer)


def _kind(wire: Wire) -> dict[str, str]:
    return {"content-type": wire.media_type}


def _streamed(
    wire: Wire, request: GatewayRequest, head: ReplyHead, events: list[ReplyEvent]
) -> bytes:
    writer = wire.writer(request, head)
    return b"".join((writer.begin(), *map(writer.write, events)))


async def _events(request: GatewayRequest, upstream: Upstream) -> list[ReplyEvent]:
    return [event async for event in reply(request, upstream)]
