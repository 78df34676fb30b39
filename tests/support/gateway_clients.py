"""The published clients of OpenAI and Anthropic, fed with bytes instead of a network."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import httpx2
from anthropic import Anthropic
from openai import OpenAI

from callblocks.gateway.exchange import GatewayRequest, ReplyEvent
from callblocks.gateway.wires.reply_items import Wire
from support.gateway_replies import HEAD


def streamed(wire: Wire, request: GatewayRequest, events: Iterable[ReplyEvent]) -> bytes:
    """Return all bytes of a stream, with a keep-alive between any two events."""
    writer = wire.writer(request, HEAD)
    parts = [writer.begin()]
    for event in events:
        parts += [writer.write(event), writer.keep_alive()]
    # Nothing may stand behind the last event.
    return b"".join(parts[:-1])


def openai_client(body: bytes) -> OpenAI:
    return OpenAI(api_key="k", base_url="http://gateway", http_client=_http(body), max_retries=0)


def anthropic_client(body: bytes) -> Anthropic:
    return Anthropic(api_key="k", base_url="http://gateway", http_client=_http(body), max_retries=0)


def sse_values(body: bytes) -> list[Any]:
    """Return the values of server-sent events, without `[DONE]`."""
    lines = [line[6:] for line in body.split(b"\n") if line.startswith(b"data: ")]
    return [json.loads(line) for line in lines if line != b"[DONE]"]


def _http(body: bytes) -> httpx2.Client:
    headers = {"content-type": "text/event-stream"}

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers=headers, content=body)

    return httpx2.Client(transport=httpx2.MockTransport(answer))
