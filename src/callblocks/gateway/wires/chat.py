"""OpenAI's chat completions: `POST /v1/chat/completions`.

What is read
    Roles system, developer (as system), user, assistant, tool and function. Content is a string or
    parts. `tools` of type function and custom, or `functions`; tools of a namespace are named
    `namespace.tool`; any other kind is left out and named. Calls of a history may hold broken JSON,
    no id, or no result; a result of no call says so.
What is passed on
    Every other field, as it is, but those of `_OWN`: what only OpenAI's service understands
    (`store`, `metadata`, `service_tier`, `prompt_cache_key`, `verbosity`, …) is accepted and
    dropped, because other servers refuse it.
What is written
    One chunk with the role; then texts, reasoning and calls as they come. The first delta of a call
    has its index, id, type and name, all others only index and arguments: clients concatenate what
    they get twice. A chunk with the reason, one with the usage where it was asked for, `[DONE]`.
    `options["remarks"]` adds a field `callblocks` to the last chunk with a choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from callblocks.core.blocks import Part, TextPart
from callblocks.core.calls import Call
from callblocks.core.events import CallInput, CallReady, CallStarted, Reasoning, Text
from callblocks.core.text import brief
from callblocks.gateway.exchange import (
    Finished,
    FinishReason,
    GatewayFault,
    GatewayRequest,
    ReplyEvent,
    ReplyHead,
    ToolChoice,
)
from callblocks.gateway.wires.openai_tools import OpenAITools, json_format
from callblocks.gateway.wires.parts import (
    Fields,
    as_fields,
    media_of,
    media_of_base64,
    prepared_messages,
    read_input,
    request_fields,
    text_parts,
)
from callblocks.gateway.wires.reply_items import (
    CallItem,
    data_line,
    fold,
    last_input,
    openai_error,
    reason_of,
    remark_rows,
)
from callblocks.models.model import Message, Usage

__all__ = ("ChatWire", "ChatWriter")

# Fields that are read here, or that only OpenAI's own service understands.
_OWN = frozenset(
    (
        *("model", "messages", "tools", "tool_choice", "functions", "function_call"),
        *("parallel_tool_calls", "response_format", "max_tokens", "max_completion_tokens"),
        *("temperature", "stop", "stream", "stream_options", "n"),
        *("store", "metadata", "service_tier", "user", "safety_identifier", "verbosity"),
        *("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"),
        *("prediction", "modalities", "audio", "web_search_options", "moderation"),
    )
)
_CONVERSATION_HEADERS = ("x-session-id", "x-session-affinity", "x-conversation-id")
_FINISH: dict[FinishReason, str] = {
    "stop": "stop",
    "calls": "tool_calls",
    "length": "length",
    "filter": "content_filter",
}


class ChatWire:
    """Reads and writes chat completions."""

    name = "chat"
    media_type = "text/event-stream"

    def read(self, body: Any, headers: Mapping[str, str]) -> GatewayRequest:
        fields = request_fields(body)
        _refuse_choices(fields)
        tools = _tools(fields)
        messages = prepared_messages(_messages(fields, tools.free_text))
        if not messages:
            raise fields.fault("messages", "expected at least one message")
        stream = fields.object("stream_options")
        return GatewayRequest(
            wire=self.name,
            model=fields.needed_text("model"),
            messages=messages,
            tools=tuple(tools.specs.values()),
            free_text=frozenset(tools.free_text),
            strict=frozenset(tools.strict),
            left_out=tuple(tools.left_out),
            choice=_choice(fields, tools),
            parallel=fields.flag("parallel_tool_calls", True),
            json_format=json_format(fields.object("response_format")),
            max_tokens=_max_tokens(fields),
            temperature=fields.number("temperature"),
            stop=fields.stops("stop"),
            fields=_foreign_format(fields) | _passed_on(fields),
            streams=fields.flag("stream"),
            conversation=_conversation(fields, headers),
            options={"include_usage": bool(stream and stream.flag("include_usage"))},
        )

    def writer(self, request: GatewayRequest, head: ReplyHead) -> ChatWriter:
        return ChatWriter(request, head)

    def whole(
        self, request: GatewayRequest, head: ReplyHead, events: Iterable[ReplyEvent]
    ) -> dict[str, Any]:
        reply = fold(request, events)
        message: dict[str, Any] = {"role": "assistant", "content": reply.text() or None}
        message["refusal"] = None
        if reasoning := reply.text("reasoning"):
            message["reasoning_content"] = reasoning
        if reply.calls:
            message["tool_calls"] = [_whole_call(call, request) for call in reply.calls]
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": _FINISH[reply.finished.reason],
            "logprobs": None,
        }
        made: dict[str, Any] = {
            "id": f"chatcmpl-{head.id}",
            "object": "chat.completion",
            "created": head.created,
            "model": head.model,
            "choices": [choice],
            "usage": _usage(reply.finished.usage),
        }
        if request.options.get("remarks"):
            made["callblocks"] = {"remarks": remark_rows(reply.finished.remarks)}
        return made

    def fault(self, fault: GatewayFault) -> dict[str, Any]:
        return openai_error(fault)


class ChatWriter:
    """Writes chunks of a chat completion."""

    def __init__(self, request: GatewayRequest, head: ReplyHead) -> None:
        self._request = request
        self._base = {
            "id": f"chatcmpl-{head.id}",
            "object": "chat.completion.chunk",
            "created": head.created,
            "model": head.model,
        }
        # Whether the open call has sent input, and the key that holds it.
        self._sent = False
        self._key = "arguments"
        self._has_calls = False

    def begin(self) -> bytes:
        return self._delta({"role": "assistant", "content": ""})

    def write(self, event: ReplyEvent) -> bytes:
        match event:
            case Text():
                return self._delta({"content": event.text}) if event.text else b""
            case Reasoning():
                shown = event.text and self._request.thinks
                return self._delta({"reasoning_content": event.text}) if shown else b""
            case CallStarted():
                return self._started(event)
            case CallInput():
                return self._input(event.index, event.text)
            case CallReady():
                self._has_calls = True
                free = self._request.free_text
                return self._input(event.index, last_input(event.call, free, sent=self._sent))
            case Finished():
                return self._finish(event)

    def fail(self, fault: GatewayFault) -> bytes:
        return data_line(openai_error(fault))

    def keep_alive(self) -> bytes:
        return b": keep-alive\n\n"

    def _started(self, event: CallStarted) -> bytes:
        self._sent = False
        self._key = "input" if event.name in self._request.free_text else "arguments"
        kind = "custom" if self._key == "input" else "function"
        call = {
            "index": event.index,
            "id": event.id or f"call_{event.index}",
            "type": kind,
            kind: {"name": event.name, self._key: ""},
        }
        return self._delta({"tool_calls": [call]})

    def _input(self, index: int, text: str) -> bytes:
        if not text:
            return b""
        self._sent = True
        kind = "custom" if self._key == "input" else "function"
        return self._delta({"tool_calls": [{"index": index, kind: {self._key: text}}]})

    def _finish(self, event: Finished) -> bytes:
        reason = _FINISH[reason_of(event, self._has_calls)]
        more: dict[str, Any] = {}
        if self._request.options.get("remarks"):
            more["callblocks"] = {"remarks": remark_rows(event.remarks)}
        lines = self._delta({}, reason, more)
        if self._request.options.get("include_usage"):
            lines += data_line({**self._base, "choices": [], "usage": _usage(event.usage)})
        return lines + b"data: [DONE]\n\n"

    def _delta(
        self, delta: dict[str, Any], reason: str | None = None, more: Mapping[str, Any] = {}
    ) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return data_line({**self._base, "choices": [choice], **more})


# --- Requests ---


def _refuse_choices(fields: Fields) -> None:
    if fields.get("n") not in (None, 1):
        fields.number("n")
        raise fields.fault("n", "only one choice can be made; leave n out", "unsupported_value")


def _max_tokens(fields: Fields) -> int | None:
    # Clients of LM Studio and llama.cpp send -1 where there is no limit.
    names = ("max_completion_tokens", "max_tokens")
    given = (name for name in names if fields.get(name) not in (None, -1))
    return next(map(fields.count, given), None)


def _passed_on(fields: Fields) -> dict[str, Any]:
    return {
        name: value for name, value in fields.raw.items() if name not in _OWN and value is not None
    }


def _conversation(fields: Fields, headers: Mapping[str, str]) -> str:
    key = fields.get("prompt_cache_key")
    if isinstance(key, str) and key:
        return key
    return next((headers[name] for name in _CONVERSATION_HEADERS if headers.get(name)), "")


def _tools(fields: Fields) -> OpenAITools:
    tools = OpenAITools()
    for tool in fields.objects("tools"):
        tools.read(tool)
    for function in fields.objects("functions"):
        tools.read_function(function)
    return tools


def _choice(fields: Fields, tools: OpenAITools) -> ToolChoice:
    name = "tool_choice" if fields.get("tool_choice") is not None else "function_call"
    return tools.choice(fields, name)


def _foreign_format(fields: Fields) -> dict[str, Any]:
    """Return a form of the answer that only the model's server may know, to be passed on."""
    form = fields.object("response_format")
    known = ("text", "json_object", "json_schema")
    return {"response_format": form.raw} if form and form.text("type", "text") not in known else {}


# --- Messages ---


def _messages(fields: Fields, free_text: set[str]) -> Iterator[Message]:
    # Calls of the old form (`function_call`) have no id: the next result of that name is theirs.
    open_calls: dict[str, str] = {}
    for at, message in enumerate(fields.objects("messages")):
        role = message.text("role")
        match role:
            case "system" | "developer":
                yield Message("system", _content(message))
            case "user":
                yield Message("user", _content(message))
            case "assistant":
                calls = tuple(_calls(message, at, free_text))
                open_calls.update((call.name, call.id) for call in calls)
                yield Message("assistant", _said(message), calls, reasoning=_reasoning(message))
            case "tool":
                yield Message("tool", _content(message), call_id=message.text("tool_call_id"))
            case "function":
                name = message.text("name")
                call_id = open_calls.pop(name, name)
                yield Message("tool", _content(message), call_id=call_id)
            case _:
                known = "system, developer, user, assistant, tool or function"
                raise message.fault("role", f"expected {known}, not {brief(role, 40)}")


def _content(message: Fields) -> tuple[Part, ...]:
    value = message.get("content")
    if value is None or isinstance(value, str):
        return text_parts(value or "")
    if not isinstance(value, list):
        raise message.fault("content", f"expected a string or parts, not {brief(value, 40)}")
    parts: list[Part] = []
    for at, one in enumerate(cast("list[Any]", value)):
        if isinstance(one, str):
            parts += text_parts(one)
        else:
            parts += _part(as_fields(one, f"{message.where('content')}[{at}]"))
    return tuple(parts)


def _part(part: Fields) -> tuple[Part, ...]:
    kind = part.text("type", "text")
    match kind:
        case "text" | "input_text" | "output_text":
            return text_parts(part.text("text"))
        case "refusal":
            return text_parts(part.text("refusal"))
        case "thinking" | "reasoning":
            return ()
        case "image_url":
            return (_image(part),)
        case "file":
            return _file(part.object("file") or part)
        case _:
            return (TextPart(f"<{kind:.40}: this model cannot take it>"),)


def _image(part: Fields) -> Part:
    value = part.get("image_url")
    if isinstance(value, str):
        return media_of(value, part.where("image_url"))
    image = part.object("image_url")
    if image is None:
        raise part.fault("image_url", "expected an object with a url")
    return media_of(image.needed_text("url"), image.where("url"))


def _file(file: Fields) -> tuple[Part, ...]:
    name, data = file.text("filename"), file.text("file_data")
    if not data:
        return (TextPart(f"<file {name or file.text('file_id')}: its content was not given>"),)
    if data[:5].lower() == "data:":
        return (media_of(data, file.where("file_data")),)
    return (media_of_base64("application/pdf", data, file.where("file_data")),)


def _said(message: Fields) -> tuple[Part, ...]:
    return _content(message) or text_parts(message.text("refusal"))


def _reasoning(message: Fields) -> str:
    for name in ("reasoning_content", "reasoning"):
        value = message.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def _calls(message: Fields, at: int, free_text: set[str]) -> Iterator[Call]:
    for number, call in enumerate(message.objects("tool_calls")):
        call_id = call.text("id") or f"call_{at}_{number}"
        custom = call.object("custom")
        if custom is not None:
            value = {"input": custom.text("input")}
            yield Call(id=call_id, name=custom.needed_text("name"), input=value)
            continue
        function = call.object("function") or call
        name = function.needed_text("name")
        yield Call(id=call_id, name=name, input=_input(function, name, free_text))
    legacy = message.object("function_call")
    if legacy is not None:
        name = legacy.needed_text("name")
        yield Call(id=f"call_{at}", name=name, input=_input(legacy, name, free_text))


def _input(function: Fields, name: str, free_text: set[str]) -> dict[str, Any]:
    arguments = function.get("arguments")
    value = read_input(arguments)
    if name in free_text and isinstance(arguments, str) and [*value] != ["input"]:
        return {"input": arguments}
    return value


# --- Replies ---


def _whole_call(item: CallItem, request: GatewayRequest) -> dict[str, Any]:
    if item.name in request.free_text:
        return {"id": item.id, "type": "custom", "custom": {"name": item.name, "input": item.text}}
    function = {"name": item.name, "arguments": item.text}
    return {"id": item.id, "type": "function", "function": function}


def _usage(usage: Usage) -> dict[str, Any]:
    made: dict[str, Any] = {
        "prompt_tokens": usage.tokens_in,
        "completion_tokens": usage.tokens_out,
        "total_tokens": usage.tokens_in + usage.tokens_out,
    }
    if usage.tokens_cached:
        made["prompt_tokens_details"] = {"cached_tokens": usage.tokens_cached}
    if usage.tokens_reasoning:
        made["completion_tokens_details"] = {"reasoning_tokens": usage.tokens_reasoning}
    return made
