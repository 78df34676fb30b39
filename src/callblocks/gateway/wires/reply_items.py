"""A wire, and a reply on its way out: its items in order, and the bytes of events.

    request = wire.read(body, headers)              GatewayFault where it cannot be read
    writer = wire.writer(request, head)
    writer.begin(); writer.write(event) …; writer.fail(fault)
    wire.whole(request, head, events)               the body of a reply that is not streamed
    wire.fault(fault)                               the body of an error

    fold(request, events)      the whole reply: texts, reasoning and calls as they came
    data_line(value)           one server-sent event without a name
    named_line(value)          one with `event:`, by its `type`

Errors and the list of models are here as far as several wires share them. The list for OpenAI's
clients has `data`, and beside it `models`, which Codex reads (0.166): it refuses the whole list
where one required field is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol, TypeAlias

import msgspec

from callblocks.core.calls import Call
from callblocks.core.events import CallInput, CallReady, CallStarted, Reasoning, Text
from callblocks.core.json_values import plain
from callblocks.gateway.exchange import (
    FaultKind,
    Finished,
    FinishReason,
    GatewayFault,
    GatewayRequest,
    Remark,
    ReplyEvent,
    ReplyHead,
)
from callblocks.gateway.wires.parts import input_text

__all__ = (
    "CallItem",
    "Item",
    "ListedModel",
    "Reply",
    "StreamWriter",
    "TextItem",
    "Wire",
    "anthropic_model",
    "data_line",
    "fold",
    "json_bytes",
    "last_input",
    "list_models",
    "named_line",
    "openai_error",
    "openai_error_code",
    "openai_model",
    "reason_of",
    "remark_rows",
)


class StreamWriter(Protocol):
    """Writes one streamed reply. Each method returns whole events as bytes, perhaps none."""

    def begin(self) -> bytes:
        """Return what stands before the first event."""
        ...

    def write(self, event: ReplyEvent) -> bytes:
        """Return what an event becomes; `Finished` ends the stream."""
        ...

    def fail(self, fault: GatewayFault) -> bytes:
        """Return what ends a stream that has begun and cannot go on."""
        ...

    def keep_alive(self) -> bytes:
        """Return what may be sent while nothing comes, and changes nothing for any client."""
        ...


class Wire(Protocol):
    """A protocol of clients."""

    @property
    def name(self) -> str: ...

    @property
    def media_type(self) -> str:
        """Return the media type of a stream."""
        ...

    def read(self, body: Any, headers: Mapping[str, str]) -> GatewayRequest:
        """Read a decoded JSON body; raise `GatewayFault` (`invalid_request`) with the field."""
        ...

    def writer(self, request: GatewayRequest, head: ReplyHead) -> StreamWriter: ...

    def whole(
        self, request: GatewayRequest, head: ReplyHead, events: Iterable[ReplyEvent]
    ) -> dict[str, Any]:
        """Return the body of a reply that is not streamed."""
        ...

    def fault(self, fault: GatewayFault) -> dict[str, Any]:
        """Return the body of an error."""
        ...


# --- Replies ---


class TextItem(msgspec.Struct):
    """Text, or reasoning."""

    kind: str
    text: str


class CallItem(msgspec.Struct):
    """A call; `call` is `None` where it was cut off. `text` is its input as it was sent."""

    id: str
    name: str
    text: str
    call: Call | None = None


Item: TypeAlias = TextItem | CallItem


class Reply(msgspec.Struct):
    """A whole reply; its `finished` has the reason that fits its calls."""

    items: list[Item]
    finished: Finished

    def text(self, kind: str = "text") -> str:
        """Return all texts of a kind, joined."""
        return "".join(
            item.text for item in self.items if isinstance(item, TextItem) and item.kind == kind
        )

    @property
    def calls(self) -> list[CallItem]:
        return [item for item in self.items if isinstance(item, CallItem)]


def fold(request: GatewayRequest, events: Iterable[ReplyEvent]) -> Reply:
    """Return the reply that events make up; reasoning that the client does not show is left out."""
    # Pieces are joined at the end: joining each to the text before it would be quadratic.
    items: list[Item] = []
    pieces: list[list[str]] = []
    finished = Finished("stop")
    for event in events:
        match event:
            case Text() | Reasoning():
                kind = "text" if isinstance(event, Text) else "reasoning"
                if not event.text or (kind == "reasoning" and not request.thinks):
                    continue
                last = items[-1] if items else None
                if isinstance(last, TextItem) and last.kind == kind:
                    pieces[-1].append(event.text)
                else:
                    items.append(TextItem(kind, ""))
                    pieces.append([event.text])
            case CallStarted():
                items.append(CallItem(event.id or f"call_{event.index}", event.name, ""))
                pieces.append([])
            case CallInput():
                pieces[-1].append(event.text)
            case CallReady():
                item = items[-1]
                if isinstance(item, CallItem):
                    item.call = event.call
                    pieces[-1].append(
                        last_input(event.call, request.free_text, sent=any(pieces[-1]))
                    )
            case Finished():
                finished = event
    for item, texts in zip(items, pieces, strict=True):
        item.text = "".join(texts)
    ready = any(isinstance(item, CallItem) and item.call for item in items)
    reason = reason_of(finished, ready)
    return Reply(items, msgspec.structs.replace(finished, reason=reason))


def last_input(call: Call, free_text: frozenset[str], *, sent: bool) -> str:
    """Return what a call's input still lacks: all of it, where no `CallInput` had any text."""
    return "" if sent else input_text(call, free_text)


def reason_of(finished: Finished, has_calls: bool) -> FinishReason:
    """Return the reason with which a reply ends: agents stop at `stop`, whatever calls it has."""
    if finished.reason in ("stop", "calls"):
        return "calls" if has_calls else "stop"
    return finished.reason


def remark_rows(remarks: Iterable[Remark]) -> list[dict[str, str]]:
    """Return remarks as JSON."""
    return [{"code": remark.code, "detail": remark.detail} for remark in remarks]


# --- Bytes ---


def json_bytes(value: Any) -> bytes:
    """Return a value as JSON; lone surrogates and what is no JSON are replaced."""
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError, OverflowError):
        return msgspec.json.encode(plain(value))


def data_line(value: Any) -> bytes:
    """Return a server-sent event without a name."""
    return b"data: " + json_bytes(value) + b"\n\n"


def named_line(value: dict[str, Any]) -> bytes:
    """Return a server-sent event that is named by its `type`."""
    return b"event: " + value["type"].encode() + b"\ndata: " + json_bytes(value) + b"\n\n"


# --- Errors of OpenAI's APIs ---


# Type and code by kind; a fault's own code comes first.
_ERRORS: dict[FaultKind, tuple[str, str | None]] = {
    "invalid_request": ("invalid_request_error", None),
    "authentication": ("authentication_error", "invalid_api_key"),
    "permission": ("permission_error", None),
    "not_found": ("invalid_request_error", "model_not_found"),
    "too_large": ("invalid_request_error", "request_too_large"),
    "rate_limit": ("rate_limit_error", "rate_limit_exceeded"),
    "internal": ("server_error", "internal_error"),
    "upstream": ("server_error", "upstream_error"),
    "overloaded": ("server_error", "server_is_overloaded"),
    "timeout": ("server_error", "timeout"),
}


def openai_error(fault: GatewayFault) -> dict[str, Any]:
    """Return the body of an error."""
    kind, _ = _ERRORS[fault.kind]
    code = openai_error_code(fault)
    error = {"message": fault.message, "type": kind, "param": fault.field or None, "code": code}
    return {"error": error}


def openai_error_code(fault: GatewayFault) -> str | None:
    """Return the code of an error; `None` where there is none but its type."""
    return fault.code or _ERRORS[fault.kind][1]


# --- Lists of models ---


# Codex takes its instructions from here, for models that it does not know.
_INSTRUCTIONS = (
    "You are a coding agent. You work in the user's folder with the tools that you have been "
    "given, and you go on until the task is done."
)


class ListedModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model by the name that clients use. `context` is in tokens, `None` where unknown."""

    name: str
    created: int = 0
    context: int | None = None
    images: bool = False


def list_models(models: Sequence[ListedModel], headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the list as the client reads it; Anthropic's clients send their version."""
    if headers.get("anthropic-version"):
        return {
            "data": [anthropic_model(model) for model in models],
            "first_id": models[0].name if models else None,
            "last_id": models[-1].name if models else None,
            "has_more": False,
        }
    return {
        "object": "list",
        "data": [openai_model(model) for model in models],
        "models": [_codex_model(model, at) for at, model in enumerate(models)],
    }


def openai_model(model: ListedModel) -> dict[str, Any]:
    """Return one model for OpenAI's clients."""
    owner = {"object": "model", "owned_by": "callblocks"}
    return {"id": model.name, "created": model.created, **owner}


def anthropic_model(model: ListedModel) -> dict[str, Any]:
    """Return one model for Anthropic's clients."""
    created = datetime.fromtimestamp(model.created, UTC).isoformat().replace("+00:00", "Z")
    shown: dict[str, Any] = {"type": "model", "id": model.name, "display_name": model.name}
    shown |= {"created_at": created, "lifecycle": "active"}
    if model.context:
        shown["max_input_tokens"] = model.context
    return shown


def _codex_model(model: ListedModel, priority: int) -> dict[str, Any]:
    context = {"context_window": model.context} if model.context else {}
    return {
        "slug": model.name,
        "display_name": model.name,
        "description": None,
        "supported_reasoning_levels": [],
        "shell_type": "shell_command",
        "visibility": "list",
        "supported_in_api": True,
        "priority": priority,
        "availability_nux": None,
        "upgrade": None,
        "base_instructions": _INSTRUCTIONS,
        "supports_reasoning_summaries": False,
        "support_verbosity": False,
        "default_verbosity": None,
        "apply_patch_tool_type": None,
        "truncation_policy": {"mode": "bytes", "limit": 10_000},
        "supports_parallel_tool_calls": True,
        "experimental_supported_tools": [],
        "input_modalities": ["text", "image"] if model.images else ["text"],
        **context,
    }
