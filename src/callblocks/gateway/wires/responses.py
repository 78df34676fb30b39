"""OpenAI's responses: `POST /v1/responses`.

What is read
    `input` is a string or items; reasoning, texts and calls between two other items are one message
    of the assistant. Tools of type function, custom and namespace; a tool of a namespace is named
    `namespace.tool` for the model, and its calls go back with `namespace` and their inner name, as
    Codex expects. Tools may also come inside the input (`additional_tools`, `tool_search_output`).
    Any other kind is left out and named.
What is kept
    Items of replies that were not asked for with `store: false`, by id, so that `item_reference`
    finds them: the newest 4,096, in this process. Whole responses are not kept:
    `previous_response_id`, `conversation` and `background` are faults.
What is written
    The full sequence of events, numbered, with the same ids throughout; no event of our own, for
    clients raise at an unknown one. Reasoning is a summary, the only form that all clients show.
    `tools` is empty in each response: repeating them costs 100 KB for each reply to Codex, and no
    client reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from callblocks.core.blocks import Part, TextPart
from callblocks.core.calls import Call
from callblocks.core.json_values import json_text
from callblocks.core.text import brief
from callblocks.gateway.exchange import (
    Finished,
    GatewayFault,
    GatewayRequest,
    JsonFormat,
    ReplyEvent,
    ReplyHead,
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
from callblocks.gateway.wires.reply_items import openai_error
from callblocks.gateway.wires.responses_writer import ItemStore, ResponsesWriter
from callblocks.models.model import Message, Role

__all__ = ("ResponsesWire",)

# What servers of models understand; everything else is for OpenAI's own service.
_PASSED = ("top_p", "top_logprobs", "seed", "frequency_penalty", "presence_penalty", "top_k")
_CONVERSATION_HEADERS = ("session-id", "session_id", "conversation_id", "x-session-id")
_FORMATS = ("text", "json_object", "json_schema")
_NOT_KEPT = ("previous_response_id", "conversation")


class ResponsesWire:
    """Reads and writes responses."""

    name = "responses"
    media_type = "text/event-stream"

    def __init__(self) -> None:
        self._store = ItemStore()

    def read(self, body: Any, headers: Mapping[str, str]) -> GatewayRequest:
        fields = request_fields(body)
        _refuse_state(fields)
        tools = OpenAITools()
        for tool in fields.objects("tools"):
            tools.read(tool)
        history = _History(tools, self._store)
        if instructions := fields.text("instructions"):
            history.add("system", (TextPart(instructions),))
        history.read(fields)
        messages = history.messages()
        if not messages:
            raise fields.fault("input", "expected a string, or at least one item")
        reasoning = fields.object("reasoning")
        effort = reasoning.text("effort") if reasoning else ""
        return GatewayRequest(
            wire=self.name,
            model=fields.needed_text("model"),
            messages=messages,
            tools=tuple(tools.specs.values()),
            free_text=frozenset(tools.free_text),
            strict=frozenset(tools.strict),
            left_out=tuple(dict.fromkeys(tools.left_out)),
            choice=tools.choice(fields, "tool_choice"),
            parallel=fields.flag("parallel_tool_calls", True),
            json_format=_format(fields),
            max_tokens=fields.count("max_output_tokens"),
            temperature=fields.number("temperature"),
            stop=fields.stops("stop"),
            fields=_passed_on(fields, effort),
            streams=fields.flag("stream"),
            conversation=_conversation(fields, headers),
            options={
                "namespaces": tools.namespaces,
                "encrypted": "reasoning.encrypted_content" in fields.texts("include"),
                "store": fields.flag("store", True),
                "instructions": instructions or None,
                "effort": effort or None,
            },
        )

    def writer(self, request: GatewayRequest, head: ReplyHead) -> ResponsesWriter:
        return ResponsesWriter(request, head, self._store)

    def whole(
        self, request: GatewayRequest, head: ReplyHead, events: Iterable[ReplyEvent]
    ) -> dict[str, Any]:
        # The writer builds the whole response anyway, for its last event.
        writer = ResponsesWriter(request, head, self._store)
        finished = Finished("stop")
        for event in events:
            if isinstance(event, Finished):
                finished = event
            else:
                writer.write(event)
        writer.write(finished)
        return writer.response

    def fault(self, fault: GatewayFault) -> dict[str, Any]:
        return openai_error(fault)


# --- Requests ---


def _refuse_state(fields: Fields) -> None:
    for name in _NOT_KEPT:
        if fields.get(name):
            message = "responses are not kept here; send the whole conversation in `input`"
            raise fields.fault(name, message, "unsupported_parameter")
    if fields.flag("background"):
        message = "a reply is given at once, never later; leave it out"
        raise fields.fault("background", message, "unsupported_parameter")


def _passed_on(fields: Fields, effort: str) -> dict[str, Any]:
    passed = {name: fields.get(name) for name in _PASSED if fields.get(name) is not None}
    return passed | ({"reasoning_effort": effort} if effort else {})


def _conversation(fields: Fields, headers: Mapping[str, str]) -> str:
    key = fields.get("prompt_cache_key")
    if isinstance(key, str) and key:
        return key
    return next((headers[name] for name in _CONVERSATION_HEADERS if headers.get(name)), "")


def _format(fields: Fields) -> JsonFormat | None:
    text = fields.object("text")
    form = text.object("format") if text else None
    if form is not None and form.text("type", "text") not in _FORMATS:
        raise form.fault("type", f"expected {', '.join(_FORMATS)}")
    return json_format(form)


# --- Items of the input ---


class _History:
    """Messages made of items.

    Items of the assistant are collected until an item of another side comes: `_parts`, `_calls` and
    `_reasoning` are the message that is open.
    """

    def __init__(self, tools: OpenAITools, store: ItemStore) -> None:
        self._tools = tools
        self._store = store
        self._messages: list[Message] = []
        self._parts: list[Part] = []
        self._calls: list[Call] = []
        self._reasoning: list[str] = []

    def read(self, fields: Fields) -> None:
        value = fields.get("input")
        if value is None or isinstance(value, str):
            self.add("user", text_parts(value or ""))
            return
        for item in fields.objects("input"):
            self._item(item)

    def messages(self) -> tuple[Message, ...]:
        self._end()
        return prepared_messages(self._messages)

    def add(self, role: Role, parts: tuple[Part, ...], call_id: str = "") -> None:
        self._end()
        if parts or role == "tool":
            self._messages.append(Message(role, parts, call_id=call_id))

    def _end(self) -> None:
        if self._parts or self._calls or self._reasoning:
            reasoning = "\n".join(self._reasoning)
            self._messages.append(
                Message("assistant", tuple(self._parts), tuple(self._calls), reasoning=reasoning)
            )
        self._parts, self._calls, self._reasoning = [], [], []

    def _item(self, item: Fields) -> None:
        kind = item.text("type", "message")
        match kind:
            case "message":
                self._message(item)
            case "function_call" | "custom_tool_call":
                self._call(item, kind)
            case "reasoning":
                self._thought(item)
            case "item_reference":
                self._reference(item)
            case "additional_tools" | "tool_search_output":
                for tool in item.objects("tools"):
                    self._tools.read(tool)
            case "agent_message":
                name = item.text("author", "agent")
                self.add("user", (TextPart(f"Message of {name}:\n"), *_content(item, "content")))
            case "compaction" | "compaction_summary" | "context_compaction":
                self._tools.left_out.append(kind)
            case _ if kind.endswith("_output"):
                call_id = item.text("call_id") or item.text("id")
                self.add("tool", _content(item, "output"), call_id)
            case _:
                self._foreign(item, kind)

    def _message(self, item: Fields) -> None:
        role = item.text("role", "user")
        parts = _content(item, "content")
        match role:
            case "assistant":
                self._parts += parts
            case "system" | "developer":
                self.add("system", parts)
            case "user":
                self.add("user", parts)
            case _:
                known = "system, developer, user or assistant"
                raise item.fault("role", f"expected {known}, not {brief(role, 40)}")

    def _call(self, item: Fields, kind: str) -> None:
        name = self._tools.flat_name(item)
        if kind == "custom_tool_call":
            value: dict[str, Any] = {"input": item.text("input")}
        else:
            value = read_input(item.get("arguments"))
        call_id = item.text("call_id") or item.text("id") or f"call_{len(self._messages)}"
        self._calls.append(Call(id=call_id, name=name, input=value))

    def _thought(self, item: Fields) -> None:
        for name in ("content", "summary"):
            texts = [part.text("text") for part in item.objects(name)]
            if any(texts):
                self._reasoning.append("\n".join(text for text in texts if text))
                return

    def _reference(self, item: Fields) -> None:
        kept = self._store.find(item.text("id"))
        if kept is None:
            self._tools.left_out.append("item_reference: the item is not kept here")
        else:
            self._item(Fields(kept, item.path))

    def _foreign(self, item: Fields, kind: str) -> None:
        # Calls of tools that a server of OpenAI runs: the model sees that they were made. One with
        # a `call_id` has a result, and is a call like any other.
        shown = {key: value for key, value in item.raw.items() if key not in ("id", "status")}
        call_id = item.get("call_id")
        if kind.endswith("_call") and isinstance(call_id, str) and call_id:
            for key in ("type", "call_id"):
                shown.pop(key, None)
            name = kind.removesuffix("_call")
            self._calls.append(Call(id=call_id, name=name, input=shown))
        else:
            self._parts.append(TextPart(f"<{kind:.40}: {json_text(shown):.2000}>"))


def _content(item: Fields, name: str) -> tuple[Part, ...]:
    value = item.get(name)
    if value is None or isinstance(value, str):
        return text_parts(value or "")
    if not isinstance(value, list):
        # Outputs of a shell and the like are objects.
        return text_parts(json_text(value))
    parts: list[Part] = []
    for at, one in enumerate(cast("list[Any]", value)):
        path = f"{item.where(name)}[{at}]"
        parts += text_parts(one) if isinstance(one, str) else _part(as_fields(one, path))
    return tuple(parts)


def _part(part: Fields) -> tuple[Part, ...]:
    kind = part.text("type", "text")
    match kind:
        case "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text":
            return text_parts(part.text("text"))
        case "input_image" | "image_url" | "computer_screenshot":
            return (_image(part),)
        case "input_file":
            return (_file(part),)
        case "encrypted_content":
            return ()
        case _ if isinstance(said := part.get("text") or part.get("refusal"), str):
            return text_parts(said)
        case _:
            return (TextPart(f"<{kind:.40}: this model cannot take it>"),)


def _image(part: Fields) -> Part:
    value = part.get("image_url")
    if isinstance(value, dict):
        value = cast("dict[str, Any]", value).get("url")
    if isinstance(value, str) and value:
        return media_of(value, part.where("image_url"))
    return TextPart(f"<image {part.text('file_id')}: its content was not given>")


def _file(part: Fields) -> Part:
    data = part.text("file_data")
    if data[:5].lower() == "data:":
        return media_of(data, part.where("file_data"))
    if data:
        return media_of_base64("application/pdf", data, part.where("file_data"))
    name = part.text("filename") or part.text("file_url") or part.text("file_id")
    return TextPart(f"<file {name}: its content was not given>")
