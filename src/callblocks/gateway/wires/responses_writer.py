"""Writer of a response: its events, numbered, and the response that they build.

One item is open at a time: a message, a summary of reasoning, or a call. It begins with
`output_item.added` and ends with `output_item.done`; between them stand its pieces, and what its
kind needs around them. The last event has all items again: clients take the whole response from it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from callblocks.core.events import CallInput, CallReady, CallStarted, Reasoning, Text
from callblocks.gateway.exchange import (
    Finished,
    GatewayFault,
    GatewayRequest,
    JsonFormat,
    ReplyEvent,
    ReplyHead,
)
from callblocks.gateway.wires.reply_items import (
    json_bytes,
    last_input,
    named_line,
    openai_error_code,
    reason_of,
)
from callblocks.models.model import Usage

__all__ = ("ItemStore", "ResponsesWriter")


class ItemStore:
    """The newest output items, by id: at most so many, of at most so many bytes together."""

    def __init__(self, most: int = 4_096, most_bytes: int = 64 << 20) -> None:
        self._items: OrderedDict[str, tuple[dict[str, Any], int]] = OrderedDict()
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0

    def keep(self, items: Iterable[dict[str, Any]]) -> None:
        for item in items:
            _, known = self._items.pop(item["id"], (item, 0))
            size = len(json_bytes(item))
            self._items[item["id"]] = item, size
            self._bytes += size - known
        while len(self._items) > self._most or self._bytes > self._most_bytes:
            _, (_, size) = self._items.popitem(last=False)
            self._bytes -= size

    def find(self, item_id: str) -> dict[str, Any] | None:
        item, _ = self._items.get(item_id, (None, 0))
        return item


class ResponsesWriter:
    """Writes the events of a response, and builds it in `response`."""

    def __init__(self, request: GatewayRequest, head: ReplyHead, store: ItemStore) -> None:
        self._request = request
        self._head = head
        self._store = store
        self._number = 0
        self._item: _OpenItem | None = None
        self._has_calls = False
        self.response = _new_response(request, head)

    def begin(self) -> bytes:
        return self._lifecycle("created") + self._lifecycle("in_progress")

    def write(self, event: ReplyEvent) -> bytes:
        match event:
            case Text():
                return self._prose("message", event.text)
            case Reasoning():
                return self._prose("reasoning", event.text) if self._request.thinks else b""
            case CallStarted():
                return self._close() + self._open_call(event)
            case CallInput():
                return self._more(event.text)
            case CallReady():
                return self._ready(event)
            case Finished():
                return self._finish(event)

    def fail(self, fault: GatewayFault) -> bytes:
        # A call that was open is no call: `incomplete` keeps clients from running it.
        lines = self._close(complete=False)
        code = openai_error_code(fault)
        self.response["status"] = "failed"
        self.response["error"] = {"code": _failure_code(fault, code), "message": fault.message}
        return lines + self._lifecycle("failed")

    def keep_alive(self) -> bytes:
        return b": keep-alive\n\n"

    # --- Items ---

    def _prose(self, kind: str, text: str) -> bytes:
        if not text:
            return b""
        lines = b""
        if self._item is None or self._item.kind != kind:
            lines = self._close() + self._open(_OpenItem.prose(kind, self._head.id, self._count))
        return lines + self._more(text)

    def _open_call(self, event: CallStarted) -> bytes:
        request = self._request
        call_id = event.id or f"call_{event.index}"
        kind = "custom_tool_call" if event.name in request.free_text else "function_call"
        namespace, name = request.options.get("namespaces", {}).get(event.name, ("", event.name))
        return self._open(
            _OpenItem.call(kind, self._head.id, self._count, call_id, name, namespace)
        )

    def _open(self, item: _OpenItem) -> bytes:
        self._item = item
        lines = self._event("response.output_item.added", item=item.added())
        match item.kind:
            case "message":
                return lines + self._item_event(
                    "response.content_part.added", content_index=0, part=item.part()
                )
            case "reasoning":
                return lines + self._item_event(
                    "response.reasoning_summary_part.added", summary_index=0, part=item.part()
                )
            case _:
                return lines

    def _more(self, text: str) -> bytes:
        item = self._item
        if not text or item is None:
            return b""
        item.texts.append(text)
        match item.kind:
            case "message":
                return self._item_event(
                    "response.output_text.delta", content_index=0, delta=text, logprobs=[]
                )
            case "reasoning":
                return self._item_event(
                    "response.reasoning_summary_text.delta", summary_index=0, delta=text
                )
            case "custom_tool_call":
                return self._item_event("response.custom_tool_call_input.delta", delta=text)
            case _:
                return self._item_event("response.function_call_arguments.delta", delta=text)

    def _ready(self, event: CallReady) -> bytes:
        self._has_calls = True
        sent = bool(self._item and self._item.texts)
        rest = last_input(event.call, self._request.free_text, sent=sent)
        return self._more(rest) + self._close()

    def _close(self, complete: bool = True) -> bytes:
        """End the open item; a call that is not complete gets no `done` of its input."""
        item = self._item
        if item is None:
            return b""
        if self._request.options.get("encrypted") and item.kind == "reasoning":
            # Clients send back only reasoning that has it; it need not hold anything.
            item.base["encrypted_content"] = "callblocks"
        lines = self._closing(item) if complete or not item.is_call else b""
        made = item.done(complete)
        lines += self._event("response.output_item.done", item=made)
        self.response["output"].append(made)
        self._item = None
        return lines

    def _closing(self, item: _OpenItem) -> bytes:
        text = "".join(item.texts)
        match item.kind:
            case "message":
                part = item.part()
                return self._item_event(
                    "response.output_text.done", content_index=0, text=text, logprobs=[]
                ) + self._item_event("response.content_part.done", content_index=0, part=part)
            case "reasoning":
                part = item.part()
                return self._item_event(
                    "response.reasoning_summary_text.done", summary_index=0, text=text
                ) + self._item_event(
                    "response.reasoning_summary_part.done", summary_index=0, part=part
                )
            case "custom_tool_call":
                return self._item_event("response.custom_tool_call_input.done", input=text)
            case _:
                name = item.base["name"]
                return self._item_event(
                    "response.function_call_arguments.done", arguments=text, name=name
                )

    # --- The response ---

    def _finish(self, event: Finished) -> bytes:
        reason = reason_of(event, self._has_calls)
        complete = reason in ("stop", "calls")
        is_call = self._item is not None and self._item.is_call
        lines = self._close(complete and not is_call)
        kind = "completed" if complete else "incomplete"
        self.response["status"] = kind
        if not complete:
            why = "content_filter" if reason == "filter" else "max_output_tokens"
            self.response["incomplete_details"] = {"reason": why}
        self.response["usage"] = _usage(event.usage)
        if self._request.options.get("store"):
            self._store.keep(self.response["output"])
        return lines + self._lifecycle(kind)

    @property
    def _count(self) -> int:
        return len(self.response["output"])

    def _item_event(self, kind: str, **fields: Any) -> bytes:
        item_id = self._item.base["id"] if self._item else ""
        return self._event(kind, item_id=item_id, **fields)

    def _event(self, kind: str, **fields: Any) -> bytes:
        return self._line({"type": kind, "output_index": self._count, **fields})

    def _lifecycle(self, kind: str) -> bytes:
        return self._line({"type": f"response.{kind}", "response": self.response})

    def _line(self, event: dict[str, Any]) -> bytes:
        event["sequence_number"] = self._number
        self._number += 1
        return named_line(event)


class _OpenItem:
    """An output item that is being written. `base` are the fields that do not change."""

    def __init__(self, kind: str, base: dict[str, Any]) -> None:
        self.kind = kind
        self.base = {"type": kind, **base}
        self.texts: list[str] = []

    @classmethod
    def prose(cls, kind: str, reply: str, number: int) -> _OpenItem:
        if kind == "reasoning":
            return cls(kind, {"id": f"rs_{reply}_{number}"})
        return cls(kind, {"id": f"msg_{reply}_{number}", "role": "assistant"})

    @classmethod
    def call(
        cls, kind: str, reply: str, number: int, call_id: str, name: str, namespace: str
    ) -> _OpenItem:
        prefix = "ctc" if kind == "custom_tool_call" else "fc"
        base = {"id": f"{prefix}_{reply}_{number}", "call_id": call_id, "name": name}
        return cls(kind, base | ({"namespace": namespace} if namespace else {}))

    @property
    def is_call(self) -> bool:
        return self.kind.endswith("_call")

    def part(self) -> dict[str, Any]:
        """Return the only part of a message, or of a summary."""
        text = "".join(self.texts)
        if self.kind == "reasoning":
            return {"type": "summary_text", "text": text}
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}

    def added(self) -> dict[str, Any]:
        """Return the item as it is when it begins: the same fields, empty."""
        return self._item("in_progress", [], "")

    def done(self, complete: bool) -> dict[str, Any]:
        status = "completed" if complete else "incomplete"
        return self._item(status, [self.part()], "".join(self.texts))

    def _item(self, status: str, parts: list[dict[str, Any]], text: str) -> dict[str, Any]:
        match self.kind:
            case "message":
                return {**self.base, "status": status, "content": parts}
            case "reasoning":
                # OpenAI's own reasoning items have no status in a reply.
                return {**self.base, "summary": parts}
            case "custom_tool_call":
                return {**self.base, "status": status, "input": text}
            case _:
                return {**self.base, "status": status, "arguments": text}


def _new_response(request: GatewayRequest, head: ReplyHead) -> dict[str, Any]:
    form = request.json_format
    return {
        "id": f"resp_{head.id}",
        "object": "response",
        "created_at": head.created,
        "status": "in_progress",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": request.options.get("instructions"),
        "max_output_tokens": request.max_tokens,
        "metadata": {},
        "model": head.model,
        "output": [],
        "parallel_tool_calls": request.parallel,
        "previous_response_id": None,
        "reasoning": {"effort": request.options.get("effort"), "summary": None},
        "store": bool(request.options.get("store")),
        "temperature": request.temperature,
        "text": {"format": _echoed_format(form)},
        "tool_choice": request.choice.demand,
        "tools": [],
        "top_p": request.fields.get("top_p"),
        "truncation": "disabled",
        "usage": None,
    }


def _echoed_format(form: JsonFormat | None) -> dict[str, Any]:
    if form is None:
        return {"type": "text"}
    if form.schema is None:
        return {"type": "json_object"}
    schema = {"name": form.name or "answer", "schema": form.schema, "strict": form.strict}
    return {"type": "json_schema", **schema}


def _failure_code(fault: GatewayFault, code: str | None) -> str:
    if fault.kind == "invalid_request":
        return code or "invalid_prompt"
    return code or "server_error"


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.tokens_in,
        "input_tokens_details": {"cached_tokens": usage.tokens_cached, "cache_write_tokens": 0},
        "output_tokens": usage.tokens_out,
        "output_tokens_details": {"reasoning_tokens": usage.tokens_reasoning},
        "total_tokens": usage.tokens_in + usage.tokens_out,
    }
