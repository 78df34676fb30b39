"""A reply on its way out: its items in order, and the bytes of events.

fold(request, events)      the whole reply: texts, reasoning and calls as they came
data_line(value)           one server-sent event without a name
named_line(value)          one with `event:`, by its `type`
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import msgspec

from callblocks.core.calls import Call
from callblocks.core.events import CallInput, CallReady, CallStarted, Reasoning, Text
from callblocks.core.json_values import plain
from callblocks.gateway.exchange import (
    Finished,
    FinishReason,
    GatewayRequest,
    Remark,
    ReplyEvent,
)
from callblocks.gateway.wires.parts import input_text

__all__ = (
    "CallItem",
    "Item",
    "Reply",
    "TextItem",
    "data_line",
    "fold",
    "json_bytes",
    "last_input",
    "named_line",
    "reason_of",
    "remark_rows",
)


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
