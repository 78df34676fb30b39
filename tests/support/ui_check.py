"""A strict reader of UI message streams, for each version of the protocol.

Each chunk has the keys that the first client of its version knows, no null for one that may be
missing, and comes after what it is about.
"""

from __future__ import annotations

from typing import Any

from callblocks.views.ui.ai_sdk.tool_parts import TYPES, Chunk, Version

__all__ = ("UiCheck", "check")

_TOOL = {"toolCallId", "toolName", "dynamic", "providerExecuted"}
# The keys that a chunk needs, and those that it may have.
KEYS: dict[str, tuple[set[str], set[str]]] = {
    "start": ({"messageId"}, {"messageMetadata"}),
    "start-step": (set(), set()),
    "finish-step": (set(), set()),
    "message-metadata": ({"messageMetadata"}, set()),
    "error": ({"errorText"}, set()),
    "abort": (set(), set()),
    "finish": (set(), set()),
    "text-start": ({"id"}, {"providerMetadata"}),
    "text-delta": ({"id", "delta"}, set()),
    "text-end": ({"id"}, set()),
    "reasoning-start": ({"id"}, {"providerMetadata"}),
    "reasoning-delta": ({"id", "delta"}, set()),
    "reasoning-end": ({"id"}, set()),
    "tool-input-start": (_TOOL, set()),
    "tool-input-available": ({*_TOOL, "input"}, {"providerMetadata"}),
    "tool-output-available": ({"toolCallId", "output", "dynamic"}, set()),
    "tool-output-error": ({"toolCallId", "errorText", "dynamic"}, set()),
    "tool-output-denied": ({"toolCallId"}, set()),
    "tool-approval-request": ({"toolCallId", "approvalId"}, set()),
    "tool-approval-response": ({"approvalId", "approved"}, {"reason"}),
    "data-approval": ({"id", "data"}, set()),
    "data-artifact": ({"id", "data"}, set()),
    "data-member": ({"id", "data"}, set()),
    "data-problem": ({"id", "data"}, set()),
    "data-progress": ({"data", "transient"}, set()),
}
# Any value may be null there.
_FREE = {"input", "output"}


class UiCheck:
    """Reads chunks one by one; `begin` for each response of a message."""

    def __init__(self, version: Version) -> None:
        self.types = TYPES[version]
        self.texts: set[str] = set()
        self.open_texts: set[str] = set()
        self.calls: dict[str, str] = {}
        self.asked: set[str] = set()
        self.in_step = False
        self.last = "finish"

    def take(self, chunk: Chunk) -> None:
        kind = chunk["type"]
        needed, allowed = KEYS[kind]
        keys = chunk.keys() - {"type"}
        assert kind in self.types, f"{kind} is not of this version"
        assert needed <= keys <= needed | allowed, f"{kind} has the keys {sorted(keys)}"
        assert all(value is not None for key, value in chunk.items() if key not in _FREE)
        assert (self.last == "finish") == (kind == "start"), f"{kind} after {self.last}"
        assert self.last != "error" or kind == "finish", f"{kind} after an error"
        self.last = kind
        self._order(kind, chunk)

    def _order(self, kind: str, chunk: Chunk) -> None:
        match kind.split("-"):
            case ["text" | "reasoning", what]:
                self._text(what, chunk)
            case ["tool", *_] if "toolCallId" in chunk:
                self._tool(kind, chunk["toolCallId"], chunk)
            case ["tool", *_]:
                assert chunk["approvalId"] in self.asked, "an answer to no question"
            case ["start", "step"]:
                assert not self.in_step
                self.in_step = True
            case ["finish", "step"]:
                assert self.in_step
                assert not self.open_texts, "a text outlives its step"
                assert "writing" not in self.calls.values(), "a call is written over two steps"
                self.in_step = False
            case ["finish"]:
                assert not self.open_texts
                assert not self.in_step
            case _:
                pass

    def _text(self, what: str, chunk: Chunk) -> None:
        id = chunk["id"]
        if what == "start":
            assert id not in self.texts, f"{id} was used before"
            self.texts.add(id)
            self.open_texts.add(id)
        assert id in self.open_texts, f"{id} is not open"
        if what == "end":
            self.open_texts.remove(id)

    def _tool(self, kind: str, id: str, chunk: Chunk) -> None:
        state = self.calls.get(id)
        match kind:
            case "tool-input-start":
                assert state is None, f"{id} was used before"
                self.calls[id] = "writing"
            case "tool-input-available":
                again = state == "written" and not chunk["providerExecuted"]
                assert again or state in (None, "writing"), f"{id} has its input already"
                self.calls[id] = "written"
            case "tool-approval-request":
                assert state == "written"
                self.asked.add(chunk["approvalId"])
            case _:
                assert state == "written", f"{id} ended as {state}"
                self.calls[id] = "ended"


def check(chunks: list[Chunk], version: Version) -> dict[str, Any]:
    """Read the whole response; the states in which its calls are left."""
    reader = UiCheck(version)
    for chunk in chunks:
        reader.take(chunk)
    assert reader.last == "finish"
    return reader.calls
