"""Ollama's chat: `POST /api/chat` and `/api/generate`, and what its clients ask before them.

What is read
    Calls of a history have their arguments as an object, and often no id: a result belongs to the
    first open call of its `tool_name`, else to the first open one. Options of sampling are passed
    on under the names of chat completions; those for loading a model (`num_ctx`, `num_gpu`, …) are
    accepted and dropped. `/api/generate` is a chat of one message, and of no tools. A request with
    nothing to answer only loads the model, which is open anyway (`loaded`).
What is written
    One JSON object a line. A call is one piece, when it is ready; one that was cut off is left out,
    and the reason is `length`. Durations are those of the whole reply: the parts are not measured.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from callblocks.core.blocks import Part
from callblocks.core.calls import Call
from callblocks.core.events import CallReady, Reasoning, Text
from callblocks.core.specs import ToolSpec
from callblocks.core.text import brief
from callblocks.gateway.exchange import (
    Finished,
    FinishReason,
    GatewayFault,
    GatewayRequest,
    JsonFormat,
    ReplyEvent,
    ReplyHead,
)
from callblocks.gateway.wires.parts import (
    Fields,
    media_of,
    media_of_base64,
    prepared_messages,
    read_input,
    request_fields,
    text_parts,
    tool_spec,
)
from callblocks.gateway.wires.reply_items import ListedModel, fold, json_bytes, remark_rows
from callblocks.models.model import Message

__all__ = (
    "VERSION",
    "GenerateWire",
    "OllamaWire",
    "OllamaWriter",
    "loaded",
    "running",
    "show",
    "tags",
)

# Options of sampling, by their names in chat completions.
_OPTIONS = {
    **{name: name for name in ("top_p", "top_k", "min_p", "typical_p", "seed")},
    **{name: name for name in ("presence_penalty", "frequency_penalty")},
    "repeat_penalty": "repetition_penalty",
}
_DONE: dict[FinishReason, str] = {
    "stop": "stop",
    "calls": "stop",
    "length": "length",
    "filter": "stop",
}
# The version of Ollama whose chat this is, for `/api/version`.
VERSION = "0.13.0"


class OllamaWire:
    """Reads and writes Ollama's chat."""

    name = "ollama"
    media_type = "application/x-ndjson"

    def read(self, body: Any, headers: Mapping[str, str]) -> GatewayRequest:
        fields = request_fields(body)
        tools = _tools(fields)
        messages = prepared_messages(_messages(fields))
        if not messages:
            raise fields.fault("messages", "expected at least one message")
        options = fields.object("options") or Fields({}, "options")
        return GatewayRequest(
            wire=self.name,
            model=fields.needed_text("model"),
            messages=messages,
            tools=tuple(tools.values()),
            json_format=_format(fields),
            max_tokens=_max_tokens(options),
            temperature=options.number("temperature"),
            stop=options.stops("stop"),
            fields={
                passed: options.get(name)
                for name, passed in _OPTIONS.items()
                if options.get(name) is not None
            },
            streams=fields.flag("stream", True),
            thinks=fields.get("think") is not False,
            conversation=headers.get("x-session-id", ""),
        )

    def writer(self, request: GatewayRequest, head: ReplyHead) -> OllamaWriter:
        return OllamaWriter(request, head)

    def whole(
        self, request: GatewayRequest, head: ReplyHead, events: Iterable[ReplyEvent]
    ) -> dict[str, Any]:
        reply = fold(request, events)
        message: dict[str, Any] = {"role": "assistant", "content": reply.text()}
        if thinking := reply.text("reasoning"):
            message["thinking"] = thinking
        ready = [item.call for item in reply.calls if item.call]
        if ready:
            message["tool_calls"] = [_call(call, at) for at, call in enumerate(ready)]
        return _last(request, head, self._shown(message), reply.finished)

    def fault(self, fault: GatewayFault) -> dict[str, Any]:
        return {"error": fault.message}

    @staticmethod
    def _shown(message: dict[str, Any]) -> dict[str, Any]:
        return {"message": message}


class GenerateWire(OllamaWire):
    """Reads and writes Ollama's plain answers."""

    name = "generate"

    def read(self, body: Any, headers: Mapping[str, str]) -> GatewayRequest:
        fields = request_fields(body)
        for name in ("raw", "suffix"):
            if fields.get(name):
                words = "a prompt is not taken as it is here; ask /v1/completions for that"
                raise fields.fault(name, words, "unsupported_parameter")
        messages: list[dict[str, Any]] = []
        if system := fields.text("system"):
            messages.append({"role": "system", "content": system})
        said = {"content": fields.text("prompt"), "images": fields.get("images")}
        messages.append({"role": "user", **said})
        return super().read({**fields.raw, "messages": messages, "tools": None}, headers)

    def writer(self, request: GatewayRequest, head: ReplyHead) -> OllamaWriter:
        return OllamaWriter(request, head, self._shown)

    @staticmethod
    def _shown(message: dict[str, Any]) -> dict[str, Any]:
        kept = {name: message[name] for name in ("thinking",) if name in message}
        return {"response": message.get("content", ""), **kept}


class OllamaWriter:
    """Writes the lines of a chat. `shown` gives the fields of a line for a message."""

    def __init__(
        self,
        request: GatewayRequest,
        head: ReplyHead,
        shown: Callable[[dict[str, Any]], dict[str, Any]] = lambda message: {"message": message},
    ) -> None:
        self._shown = shown
        self._request = request
        self._head = head
        self._calls = 0

    def begin(self) -> bytes:
        return b""

    def write(self, event: ReplyEvent) -> bytes:
        match event:
            case Text():
                return self._line({"content": event.text}) if event.text else b""
            case Reasoning():
                shown = event.text and self._request.thinks
                return self._line({"content": "", "thinking": event.text}) if shown else b""
            case CallReady():
                call = _call(event.call, self._calls)
                self._calls += 1
                return self._line({"content": "", "tool_calls": [call]})
            case Finished():
                message = self._shown({"role": "assistant", "content": ""})
                return _bytes(_last(self._request, self._head, message, event))
            case _:
                return b""

    def fail(self, fault: GatewayFault) -> bytes:
        return _bytes({"error": fault.message})

    def keep_alive(self) -> bytes:
        # Clients decode every line, so an empty one would be an error.
        return b""

    def _line(self, message: dict[str, Any]) -> bytes:
        line = {
            "model": self._head.model,
            "created_at": _now(),
            **self._shown({"role": "assistant", **message}),
            "done": False,
        }
        return _bytes(line)


# --- Replies ---


def _call(call: Call, at: int) -> dict[str, Any]:
    function = {"index": at, "name": call.name, "arguments": call.input}
    return {"id": call.id, "function": function}


def _last(
    request: GatewayRequest, head: ReplyHead, shown: dict[str, Any], finished: Finished
) -> dict[str, Any]:
    # Clients divide counts by durations: none may be 0.
    duration = max(1, time.time_ns() - head.created * 1_000_000_000)
    made = {
        "model": head.model,
        "created_at": _now(),
        **shown,
        "done": True,
        "done_reason": _DONE[finished.reason],
        "total_duration": duration,
        "load_duration": 1,
        "prompt_eval_count": finished.usage.tokens_in,
        "prompt_eval_duration": 1,
        "eval_count": finished.usage.tokens_out,
        "eval_duration": duration,
    }
    if request.options.get("remarks"):
        made["callblocks"] = {"remarks": remark_rows(finished.remarks)}
    return made


def loaded(name: str, body: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the answer to a body without anything to answer; `None` for any other."""
    if any(body.get(field) for field in ("messages", "prompt", "images")):
        return None
    unloads = body.get("keep_alive") in (0, "0", "0s")
    is_plain = name == GenerateWire.name
    return {
        "model": body.get("model"),
        "created_at": _now(),
        **({"response": ""} if is_plain else {"message": {"role": "assistant", "content": ""}}),
        "done": True,
        "done_reason": "unload" if unloads else "load",
    }


def _bytes(value: dict[str, Any]) -> bytes:
    return json_bytes(value) + b"\n"


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


# --- Requests ---


def _max_tokens(options: Fields) -> int | None:
    # -1 and -2 mean "no limit" to Ollama.
    number = options.number("num_predict")
    return None if number is not None and number <= 0 else options.count("num_predict")


def _format(fields: Fields) -> JsonFormat | None:
    form = fields.get("format")
    if not form:
        return None
    if isinstance(form, str):
        if form == "json":
            return JsonFormat()
        raise fields.fault("format", f"expected json or a schema, not {brief(form, 40)}")
    schema = fields.object("format")
    return JsonFormat(schema.raw if schema else None)


def _tools(fields: Fields) -> dict[str, ToolSpec]:
    specs: dict[str, ToolSpec] = {}
    for tool in fields.objects("tools"):
        function = tool.object("function") or tool
        name = function.needed_text("name")
        schema, path = function.get("parameters"), function.where("parameters")
        specs[name] = tool_spec(name, function.text("description"), schema, path)
    return specs


def _messages(fields: Fields) -> Iterator[Message]:
    open_calls = _OpenCalls()
    for at, message in enumerate(fields.objects("messages")):
        role = message.text("role")
        match role:
            case "system" | "developer":
                yield Message("system", _content(message))
            case "user":
                yield Message("user", _content(message))
            case "assistant":
                calls = tuple(_calls(message, at))
                open_calls = _OpenCalls(calls)
                thinking = message.text("thinking")
                yield Message("assistant", _content(message), calls, reasoning=thinking)
            case "tool":
                yield Message("tool", _content(message), call_id=open_calls.called(message))
            case _:
                known = "system, user, assistant or tool"
                raise message.fault("role", f"expected {known}, not {brief(role, 40)}")


def _content(message: Fields) -> tuple[Part, ...]:
    parts: list[Part] = list(text_parts(message.text("content")))
    for at, image in enumerate(message.texts("images")):
        path = f"{message.where('images')}[{at}]"
        is_url = image[:5].lower() in ("data:", "http:", "https")
        parts.append(
            media_of(image, path) if is_url else media_of_base64(_kind(image), image, path)
        )
    return tuple(parts)


# How the base64 of an image begins, by its first bytes.
_KINDS = {"/9j/": "image/jpeg", "R0lG": "image/gif", "UklG": "image/webp"}


def _kind(image: str) -> str:
    return _KINDS.get(image[:4], "image/png")


def _calls(message: Fields, at: int) -> Iterator[Call]:
    for number, call in enumerate(message.objects("tool_calls")):
        function = call.object("function") or call
        value = read_input(function.get("arguments"))
        call_id = call.text("id") or f"call_{at}_{number}"
        yield Call(id=call_id, name=function.needed_text("name"), input=value)


class _OpenCalls:
    """Calls without a result yet, found by id and by name without a look at each of them."""

    def __init__(self, calls: Iterable[Call] = ()) -> None:
        self._by_id: dict[str, list[Call]] = {}
        self._by_name: dict[str, deque[Call]] = {}
        self._in_order: deque[Call] = deque()
        # By place, for two calls may be equal.
        self._answered: set[int] = set()
        for call in calls:
            self._by_id.setdefault(call.id, []).append(call)
            self._by_name.setdefault(call.name, deque()).append(call)
            self._in_order.append(call)

    def called(self, message: Fields) -> str:
        """Return the id of the call that a result belongs to, and take it from the open ones."""
        call_id = message.text("tool_call_id")
        name = message.text("tool_name") or message.text("name")
        if call_id:
            fits = self._first(deque(self._by_id.pop(call_id, ())))
        else:
            fits = self._first(self._by_name.get(name, deque())) or self._first(self._in_order)
        if fits is None:
            return call_id or name
        self._answered.add(id(fits))
        return fits.id

    def _first(self, calls: deque[Call]) -> Call | None:
        while calls:
            call = calls.popleft()
            if id(call) not in self._answered:
                return call
        return None


# --- Models ---


def tags(models: Iterable[ListedModel]) -> dict[str, Any]:
    """Return the body of `/api/tags`."""
    return {"models": [_tag(model) for model in models]}


def running(models: Iterable[ListedModel]) -> dict[str, Any]:
    """Return the body of `/api/ps`: all models are there, and none of them goes."""
    until = "2100-01-01T00:00:00Z"
    return {"models": [{**_tag(one), "expires_at": until, "size_vram": 0} for one in models]}


def show(model: ListedModel) -> dict[str, Any]:
    """Return the body of `/api/show`; clients read `capabilities` and the length of the context."""
    info: dict[str, Any] = {"general.architecture": "callblocks"}
    if model.context:
        info["callblocks.context_length"] = model.context
    tag = _tag(model)
    return {
        "modelfile": "",
        "parameters": "",
        "template": "",
        "details": tag["details"],
        "model_info": info,
        "capabilities": ["completion", "tools", "thinking", *(["vision"] if model.images else [])],
        "modified_at": tag["modified_at"],
    }


def _tag(model: ListedModel) -> dict[str, Any]:
    changed = datetime.fromtimestamp(model.created, UTC).isoformat().replace("+00:00", "Z")
    return {
        "name": model.name,
        "model": model.name,
        "modified_at": changed,
        "size": 0,
        "digest": "",
        "details": {
            "parent_model": "",
            "format": "",
            "family": "callblocks",
            "families": ["callblocks"],
            "parameter_size": "",
            "quantization_level": "",
        },
    }
