"""An explanation of one request: what the model is asked, and how its reply is read.

    callblocks proxy --explain REQUEST.json --reply REPLY.txt

The request is a body as a client sent it; its wire is that of its fields.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import urlencode

from callblocks.core.blocks import text_of
from callblocks.core.errors import CallerError
from callblocks.core.json_values import json_text
from callblocks.gateway.connection import read_json
from callblocks.gateway.exchange import GatewayFault, GatewayRequest
from callblocks.gateway.history import ModelPrompt, prompt_of
from callblocks.gateway.pool import Pool
from callblocks.gateway.upstreams import Upstream
from callblocks.gateway.wires.reply_items import Wire
from callblocks.models.model import Request, mode_of
from callblocks.parsing.dialect import Parsed

__all__ = ("explain", "playground_link", "wire_of_body")

# The page of `callblocks serve` and `callblocks demo`.
_PLAYGROUND = "http://127.0.0.1:8765/playground"


async def explain(
    pool: Pool, wires: Mapping[str, Wire], content: bytes, reply: str | None = None
) -> str:
    """Return the prompt of a request as text; with a reply, how it is read, and a link."""
    try:
        body = read_json(content)
        request = wires[wire_of_body(body)].read(body, {})
        backend, *_ = pool.route(request.model).order("")
        upstream = await backend.upstream()
    except GatewayFault as fault:
        raise CallerError(fault.message) from fault
    try:
        prompt = prompt_of(request, upstream, mode_of(upstream.model))
        lines = list(_prompt_lines(request, upstream, prompt))
        if reply is not None:
            lines += _reply_lines(prompt, reply)
    finally:
        await pool.close()
    return "".join(f"{line}\n" for line in lines)


def wire_of_body(body: Mapping[str, Any]) -> str:
    """Return the wire that a body is of, by the fields that only that wire has."""
    if "input" in body or "instructions" in body:
        return "responses"
    tools: Any = body.get("tools")
    first: Any = cast("list[Any]", tools)[0] if isinstance(tools, list) and tools else None
    is_message = "system" in body or (isinstance(first, dict) and "input_schema" in first)
    if is_message or "stop_sequences" in body or "anthropic_version" in body:
        return "messages"
    return "ollama" if "options" in body or "keep_alive" in body else "chat"


def playground_link(text: str, dialect: str) -> str:
    """Return the address at which the page of a server on this machine shows a text."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(text.encode("utf-8", "replace")) + packer.flush()
    shown = base64.urlsafe_b64encode(packed).decode().rstrip("=")
    return f"{_PLAYGROUND}#{urlencode({'text': shown, 'dialect': dialect})}"


def _prompt_lines(
    request: GatewayRequest, upstream: Upstream, prompt: ModelPrompt
) -> Iterator[str]:
    taught = prompt.dialect.name if prompt.dialect else "none: the server is given the tools"
    yield f"wire: {request.wire}"
    yield f"model: {request.model} → {upstream.name} ({upstream.model.name})"
    yield f"mode: {prompt.mode}"
    yield f"dialect: {taught if request.tools else 'none: the request has no tools'}"
    for name in request.left_out:
        yield f"left out: {name}"
    asked: Request = prompt.request
    fields = {"max_tokens": asked.max_tokens, "temperature": asked.temperature, "stop": asked.stop}
    for name, value in {**fields, **asked.extra}.items():
        if value not in (None, ()):
            yield f"{name}: {json_text(value)}"
    for spec in asked.tools:
        yield f"tool: {spec.name} {json_text(spec.parameters)}"
    for message in asked.messages:
        yield f"\n--- {message.role} ---"
        yield text_of(list(message.parts))
        for call in message.calls:
            yield f"[call {call.id}] {call.name} {json_text(call.input)}"


def _reply_lines(prompt: ModelPrompt, reply: str) -> Iterator[str]:
    dialect = prompt.dialect.name if prompt.dialect else "auto"
    read = Parsed(prompt.parser.feed(reply) + prompt.parser.close())
    yield "\n--- the reply, as it is read ---"
    for call in read.calls:
        yield f"call: {call.name} {json_text(call.input)}  ({call.dialect}, {_span(call.span)})"
    for problem in read.problems:
        yield f"problem: {problem.code}: {problem.detail}"
    if not read.calls:
        yield "no call"
    yield f"text: {json_text(read.text)}"
    yield f"\nIn the playground of `callblocks demo`: {playground_link(reply, dialect)}"


def _span(span: tuple[int, int]) -> str:
    return f"characters {span[0]} to {span[1]}"
