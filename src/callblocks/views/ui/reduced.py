"""Chunks put together to the message that a client has after them.

It is what the clients themselves do, for a page that loads a chat: the message is the same,
whether a client read the stream or got it whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from callblocks.views.ui.chunks import Chunk

__all__ = ("reduced",)


def reduced(chunks: Iterable[Chunk]) -> dict[str, Any]:
    """The assistant's message of a stream, without what stands only in passing."""
    message = _Message()
    for chunk in chunks:
        message.take(chunk)
    return {"id": message.id, "role": "assistant", **message.metadata, "parts": message.parts}


class _Message:
    def __init__(self) -> None:
        self.id = ""
        self.metadata: dict[str, Any] = {}
        self.parts: list[dict[str, Any]] = []
        # Parts by what chunks call them.
        self._texts: dict[str, dict[str, Any]] = {}
        self._calls: dict[str, dict[str, Any]] = {}
        self._asked: dict[str, dict[str, Any]] = {}
        self._data: dict[tuple[str, str], dict[str, Any]] = {}

    def take(self, chunk: Chunk) -> None:
        if chunk["type"].startswith("data-"):
            self.set_data(chunk)
        elif (take := _TAKES.get(chunk["type"])) is not None:
            take(self, chunk)

    def start(self, chunk: Chunk) -> None:
        self.id = chunk["messageId"]
        if "messageMetadata" in chunk:
            self.describe(chunk)

    def describe(self, chunk: Chunk) -> None:
        known = self.metadata.get("metadata", {})
        self.metadata = {"metadata": {**known, **chunk["messageMetadata"]}}

    def step(self, _: Chunk) -> None:
        self._add({"type": "step-start"})

    def begin_text(self, chunk: Chunk) -> None:
        part = {"type": chunk["type"].removesuffix("-start"), "text": "", "state": "streaming"}
        self._texts[chunk["id"]] = self._add({**part, **_metadata(chunk, "providerMetadata")})

    def add_text(self, chunk: Chunk) -> None:
        self._texts[chunk["id"]]["text"] += chunk["delta"]

    def end_text(self, chunk: Chunk) -> None:
        self._texts.pop(chunk["id"])["state"] = "done"

    def begin_call(self, chunk: Chunk) -> None:
        named = {key: chunk[key] for key in ("toolCallId", "toolName", "providerExecuted")}
        part = self._add({"type": "dynamic-tool", **named, "state": "input-streaming"})
        self._calls[chunk["toolCallId"]] = part

    def fill_call(self, chunk: Chunk) -> None:
        if chunk["toolCallId"] not in self._calls:
            self.begin_call(chunk)
        part = self._calls[chunk["toolCallId"]]
        part |= {key: chunk[key] for key in ("input", "providerExecuted")}
        part["state"] = "input-available"
        part |= _metadata(chunk, "callProviderMetadata")

    def end_call(self, chunk: Chunk) -> None:
        part = self._calls[chunk["toolCallId"]]
        part["state"] = chunk["type"].removeprefix("tool-")
        part |= {key: chunk[key] for key in ("output", "errorText") if key in chunk}

    def ask(self, chunk: Chunk) -> None:
        part = self._calls[chunk["toolCallId"]]
        part |= {"state": "approval-requested", "approval": {"id": chunk["approvalId"]}}
        self._asked[chunk["approvalId"]] = part

    def answer(self, chunk: Chunk) -> None:
        part = self._asked[chunk["approvalId"]]
        part["state"] = "approval-responded"
        part["approval"] |= {key: chunk[key] for key in ("approved", "reason") if key in chunk}

    def set_data(self, chunk: Chunk) -> None:
        if chunk.get("transient"):
            return
        name = (chunk["type"], chunk["id"])
        if name in self._data:
            self._data[name]["data"] = chunk["data"]
        else:
            self._data[name] = self._add(dict(chunk))

    def _add(self, part: dict[str, Any]) -> dict[str, Any]:
        self.parts.append(part)
        return part


def _metadata(chunk: Chunk, name: str) -> dict[str, Any]:
    return {name: chunk["providerMetadata"]} if "providerMetadata" in chunk else {}


_TAKES: dict[str, Callable[[_Message, Chunk], None]] = {
    "start": _Message.start,
    "message-metadata": _Message.describe,
    "start-step": _Message.step,
    "text-start": _Message.begin_text,
    "text-delta": _Message.add_text,
    "text-end": _Message.end_text,
    "reasoning-start": _Message.begin_text,
    "reasoning-delta": _Message.add_text,
    "reasoning-end": _Message.end_text,
    "tool-input-start": _Message.begin_call,
    "tool-input-available": _Message.fill_call,
    "tool-output-available": _Message.end_call,
    "tool-output-error": _Message.end_call,
    "tool-output-denied": _Message.end_call,
    "tool-approval-request": _Message.ask,
    "tool-approval-response": _Message.answer,
}
