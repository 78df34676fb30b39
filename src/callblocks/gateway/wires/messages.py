"""Anthropic's messages: `POST /v1/messages`, and the request of `/v1/messages/count_tokens`.

What is read
    `system` as a string or blocks, and messages of the role system. Blocks of text, images,
    documents, thinking, `tool_use` and `tool_result`; a failed result begins with `Error: `. Tools
    with an `input_schema`, whatever their type; a tool that Anthropic's server runs has none, is
    left out and named. Fields of the service (`context_management`, `cache_control`, …) are
    accepted and dropped.
What is written
    Blocks with dense indexes, one after another; a thinking block has a signature, the same one
    always, because clients send back no block without. Thinking is written only where the request
    asks for it. A call that was cut off ends with the part of its input that came; a reply that is
    not streamed leaves it out, for its input is an object there.
Counting
    `count` estimates: a quarter of the characters of messages and tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from callblocks.core.blocks import Part, TextPart
from callblocks.core.calls import Call
from callblocks.core.events import CallInput, CallReady, CallStarted, Reasoning, Text
from callblocks.core.json_values import json_text
from callblocks.core.specs import ToolSpec
from callblocks.core.text import brief
from callblocks.gateway.exchange import (
    ANY_TOOL,
    FaultKind,
    Finished,
    FinishReason,
    GatewayFault,
    GatewayRequest,
    JsonFormat,
    ReplyEvent,
    ReplyHead,
    ToolChoice,
)
from callblocks.gateway.wires.parts import (
    Fields,
    as_fields,
    choice_of,
    failed_parts,
    media_of,
    media_of_base64,
    prepared_messages,
    read_input,
    request_fields,
    text_parts,
    tool_spec,
)
from callblocks.gateway.wires.reply_items import (
    TextItem,
    fold,
    last_input,
    named_line,
    reason_of,
    remark_rows,
)
from callblocks.models.model import Message, Usage

__all__ = ("MessagesWire", "MessagesWriter")

_PASSED = ("top_p", "top_k")
_SIGNATURE = "callblocks"
_STOP: dict[FinishReason, str] = {
    "stop": "end_turn",
    "calls": "tool_use",
    "length": "max_tokens",
    "filter": "refusal",
}
_ERRORS: dict[FaultKind, str] = {
    "invalid_request": "invalid_request_error",
    "authentication": "authentication_error",
    "permission": "permission_error",
    "not_found": "not_found_error",
    "too_large": "request_too_large",
    "rate_limit": "rate_limit_error",
    "internal": "api_error",
    "upstream": "api_error",
    "overloaded": "overloaded_error",
    "timeout": "timeout_error",
}


class MessagesWire:
    """Reads and writes messages."""

    name = "messages"
    media_type = "text/event-stream"

    def read(self, body: Any, headers: Mapping[str, str]) -> GatewayRequest:
        fields = request_fields(body)
        tools, left_out = _tools(fields)
        messages = prepared_messages(_messages(fields))
        if not messages:
            raise fields.fault("messages", "expected at least one message")
        thinking = fields.object("thinking")
        choice, parallel = _choice(fields, tools, left_out)
        return GatewayRequest(
            wire=self.name,
            model=fields.needed_text("model"),
            messages=messages,
            tools=tuple(tools.values()),
            strict=frozenset(_strict(fields)),
            left_out=tuple(left_out),
            choice=choice,
            parallel=parallel,
            json_format=_format(fields),
            max_tokens=fields.count("max_tokens"),
            temperature=fields.number("temperature"),
            stop=fields.stops("stop_sequences"),
            fields=_passed_on(fields),
            streams=fields.flag("stream"),
            thinks=bool(thinking and thinking.text("type") in ("enabled", "adaptive")),
            conversation=_conversation(fields, headers),
        )

    def writer(self, request: GatewayRequest, head: ReplyHead) -> MessagesWriter:
        return MessagesWriter(request, head)

    def whole(
        self, request: GatewayRequest, head: ReplyHead, events: Iterable[ReplyEvent]
    ) -> dict[str, Any]:
        reply = fold(request, events)
        content: list[dict[str, Any]] = []
        for item in reply.items:
            if isinstance(item, TextItem):
                content.append(_text_block(item))
            elif item.call is not None:
                block = {"type": "tool_use", "id": item.id, "name": item.name}
                content.append({**block, "input": read_input(item.text)})
        made = {
            **_new_message(head),
            "content": content,
            **_ending(reply.finished, reply.finished.reason),
            "usage": _usage(reply.finished.usage),
        }
        if request.options.get("remarks"):
            made["callblocks"] = {"remarks": remark_rows(reply.finished.remarks)}
        return made

    def fault(self, fault: GatewayFault) -> dict[str, Any]:
        error = {"type": _ERRORS[fault.kind], "message": fault.message}
        return {"type": "error", "error": error, "request_id": None}


class MessagesWriter:
    """Writes the events of a message."""

    def __init__(self, request: GatewayRequest, head: ReplyHead) -> None:
        self._request = request
        self._head = head
        self._index = -1
        # The kind of the open block, "" where none is open.
        self._kind = ""
        self._sent = False
        self._has_calls = False

    def begin(self) -> bytes:
        return named_line({"type": "message_start", "message": _new_message(self._head)})

    def write(self, event: ReplyEvent) -> bytes:
        match event:
            case Text():
                return self._prose("text", "text", event.text)
            case Reasoning():
                shown = self._request.thinks
                return self._prose("thinking", "thinking", event.text) if shown else b""
            case CallStarted():
                name, call_id = event.name, event.id or f"call_{event.index}"
                empty: dict[str, Any] = {}
                return self._open({"type": "tool_use", "id": call_id, "name": name, "input": empty})
            case CallInput():
                return self._input(event.text)
            case CallReady():
                self._has_calls = True
                rest = last_input(event.call, self._request.free_text, sent=self._sent)
                return self._input(rest) + self._close()
            case Finished():
                return self._finish(event)

    def fail(self, fault: GatewayFault) -> bytes:
        error = {"type": _ERRORS[fault.kind], "message": fault.message}
        return named_line({"type": "error", "error": error})

    def keep_alive(self) -> bytes:
        return named_line({"type": "ping"})

    def _prose(self, kind: str, key: str, text: str) -> bytes:
        if not text:
            return b""
        lines = b""
        if self._kind != kind:
            more = {"signature": ""} if kind == "thinking" else {}
            lines = self._open({"type": kind, key: "", **more})
        return lines + self._delta({"type": f"{kind}_delta", key: text})

    def _input(self, text: str) -> bytes:
        if not text:
            return b""
        self._sent = True
        return self._delta({"type": "input_json_delta", "partial_json": text})

    def _open(self, block: dict[str, Any]) -> bytes:
        lines = self._close()
        self._index += 1
        self._kind = block["type"]
        self._sent = False
        start = {"type": "content_block_start", "index": self._index, "content_block": block}
        return lines + named_line(start)

    def _close(self) -> bytes:
        if not self._kind:
            return b""
        lines = b""
        if self._kind == "thinking":
            lines = self._delta({"type": "signature_delta", "signature": _SIGNATURE})
        self._kind = ""
        return lines + named_line({"type": "content_block_stop", "index": self._index})

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return named_line({"type": "content_block_delta", "index": self._index, "delta": delta})

    def _finish(self, event: Finished) -> bytes:
        delta = _ending(event, reason_of(event, self._has_calls))
        end: dict[str, Any] = {
            "type": "message_delta",
            "delta": delta,
            "usage": _usage(event.usage),
        }
        if self._request.options.get("remarks"):
            end["callblocks"] = {"remarks": remark_rows(event.remarks)}
        return self._close() + named_line(end) + named_line({"type": "message_stop"})


# --- Replies ---


def _new_message(head: ReplyHead) -> dict[str, Any]:
    return {
        "id": f"msg_{head.id}",
        "type": "message",
        "role": "assistant",
        "model": head.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(Usage()),
    }


def _text_block(item: TextItem) -> dict[str, Any]:
    if item.kind == "reasoning":
        return {"type": "thinking", "thinking": item.text, "signature": _SIGNATURE}
    return {"type": "text", "text": item.text}


def _ending(finished: Finished, reason: FinishReason) -> dict[str, Any]:
    if reason == "stop" and finished.stop_text:
        return {"stop_reason": "stop_sequence", "stop_sequence": finished.stop_text}
    return {"stop_reason": _STOP[reason], "stop_sequence": None}


def _usage(usage: Usage) -> dict[str, int]:
    # Here the tokens from a cache are apart from the others.
    return {
        "input_tokens": max(usage.tokens_in - usage.tokens_cached, 0),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.tokens_cached,
        "output_tokens": usage.tokens_out,
    }


# --- Requests ---


def _passed_on(fields: Fields) -> dict[str, Any]:
    passed = {name: fields.get(name) for name in _PASSED if fields.get(name) is not None}
    output = fields.object("output_config")
    effort = output.text("effort") if output else ""
    return passed | ({"reasoning_effort": effort} if effort else {})


def _conversation(fields: Fields, headers: Mapping[str, str]) -> str:
    metadata = fields.object("metadata")
    user = metadata.text("user_id") if metadata else ""
    return user or headers.get("x-claude-code-session-id", "") or headers.get("x-session-id", "")


def _format(fields: Fields) -> JsonFormat | None:
    output = fields.object("output_config")
    form = (output and output.object("format")) or fields.object("output_format")
    if form is None or form.text("type") != "json_schema":
        return None
    schema = form.object("schema")
    return JsonFormat(schema.raw if schema else None, form.text("name"), strict=True)


def _tools(fields: Fields) -> tuple[dict[str, ToolSpec], list[str]]:
    specs: dict[str, ToolSpec] = {}
    left_out: list[str] = []
    for tool in fields.objects("tools"):
        kind = tool.text("type", "custom")
        if tool.get("input_schema") is None and kind != "custom":
            left_out.append(f"{kind} {tool.text('name')}".strip())
            continue
        name = tool.needed_text("name")
        schema, path = tool.get("input_schema"), tool.where("input_schema")
        specs[name] = tool_spec(name, tool.text("description"), schema, path)
    left_out += [f"mcp {server.text('name')}".strip() for server in fields.objects("mcp_servers")]
    return specs, left_out


def _strict(fields: Fields) -> Iterator[str]:
    return (tool.text("name") for tool in fields.objects("tools") if tool.flag("strict"))


def _choice(
    fields: Fields, tools: dict[str, ToolSpec], left_out: list[str]
) -> tuple[ToolChoice, bool]:
    """Return the choice, and whether more than one call may be made."""
    choice = fields.object("tool_choice")
    if choice is None:
        return ANY_TOOL, True
    parallel = not choice.flag("disable_parallel_tool_use")
    specs = list(tools.values())
    match choice.text("type"):
        case "auto":
            return ANY_TOOL, parallel
        case "none":
            return ToolChoice("none"), parallel
        case "any":
            return choice_of("required", (), specs, left_out), parallel
        case "tool":
            names = (choice.needed_text("name"),)
            return choice_of("required", names, specs, left_out, choice.where("name")), parallel
        case kind:
            raise choice.fault("type", f"expected auto, any, tool or none, not {brief(kind, 40)}")


# --- Messages ---


def _messages(fields: Fields) -> Iterator[Message]:
    if system := tuple(_prose(fields, "system")):
        yield Message("system", system)
    for message in fields.objects("messages"):
        role = message.text("role")
        match role:
            case "system" | "developer":
                yield Message("system", tuple(_prose(message, "content")))
            case "user":
                yield from _user(message)
            case "assistant":
                yield _assistant(message)
            case _:
                known = "user, assistant or system"
                raise message.fault("role", f"expected {known}, not {brief(role, 40)}")


def _blocks(fields: Fields, name: str) -> Iterator[Fields]:
    """Yield the blocks of a content; a string is one block of text."""
    value = fields.get(name)
    if value is None:
        return
    if isinstance(value, str):
        yield Fields({"type": "text", "text": value}, fields.where(name))
    elif isinstance(value, list):
        for at, block in enumerate(cast("list[Any]", value)):
            path = f"{fields.where(name)}[{at}]"
            if isinstance(block, str):
                yield Fields({"type": "text", "text": block}, path)
            else:
                yield as_fields(block, path)
    else:
        raise fields.fault(name, f"expected a string or blocks, not {brief(value, 40)}")


def _prose(fields: Fields, name: str) -> Iterator[Part]:
    for block in _blocks(fields, name):
        yield from _parts(block)


def _user(message: Fields) -> Iterator[Message]:
    """Yield the messages of one: each result apart, what stands between them as the user's."""
    parts: list[Part] = []
    empty = True
    for block in _blocks(message, "content"):
        kind = block.text("type", "text")
        if not kind.endswith("tool_result"):
            parts += _parts(block)
            continue
        if parts:
            yield Message("user", tuple(parts))
            parts = []
        empty = False
        yield _result(block)
    if parts or empty:
        yield Message("user", tuple(parts))


def _result(block: Fields) -> Message:
    value = block.get("content")
    if isinstance(value, dict):
        # Results of a server's own tools are objects.
        parts = text_parts(json_text(value))
    else:
        parts = tuple(_prose(block, "content"))
    if block.get("is_error") is True:
        parts = failed_parts(parts)
    return Message("tool", parts, call_id=block.text("tool_use_id"))


def _assistant(message: Fields) -> Message:
    parts: list[Part] = []
    calls: list[Call] = []
    reasoning: list[str] = []
    for block in _blocks(message, "content"):
        match block.text("type", "text"):
            case "tool_use" | "server_tool_use" | "mcp_tool_use":
                call_id = block.text("id") or f"{message.path}_{len(calls)}"
                value = read_input(block.get("input"))
                calls.append(Call(id=call_id, name=block.needed_text("name"), input=value))
            case "thinking":
                reasoning.append(block.text("thinking"))
            case _:
                parts += _parts(block)
    said = "\n".join(text for text in reasoning if text)
    return Message("assistant", tuple(parts), tuple(calls), reasoning=said)


def _parts(block: Fields) -> tuple[Part, ...]:
    kind = block.text("type", "text")
    match kind:
        case "text":
            return text_parts(block.text("text"))
        case "thinking" | "redacted_thinking":
            return ()
        case "image" | "document":
            return _media(block, kind)
        case "search_result":
            title, source = block.text("title"), block.get("source")
            return (TextPart(f"{title} {json_text(source)}\n"), *_prose(block, "content"))
        case _:
            shown = {key: value for key, value in block.raw.items() if key != "cache_control"}
            return (TextPart(f"<{kind:.40}: {json_text(shown):.2000}>"),)


def _media(block: Fields, kind: str) -> tuple[Part, ...]:
    source = block.object("source")
    if source is None:
        raise block.fault("source", "expected an object")
    match source.text("type"):
        case "base64":
            mime = source.text("media_type") or ("image/png" if kind == "image" else "")
            data = source.text("data")
            return (media_of_base64(mime or "application/pdf", data, source.where("data")),)
        case "url":
            return (media_of(source.needed_text("url"), source.where("url")),)
        case "text":
            return text_parts(source.text("data"))
        case "content":
            return tuple(_prose(source, "content"))
        case other:
            return (TextPart(f"<{kind} {other:.40} {source.text('file_id'):.80}>"),)
