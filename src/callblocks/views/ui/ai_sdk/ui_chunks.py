"""The chunks of a UI message stream, by the version of the client that reads it.

One chunk of a type that a client does not know ends the stream there, and the first clients of a
version take no key that they do not know: so a stream has only what all clients of its version
take, and no key whose value is null.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from callblocks.core.json_values import whole

__all__ = (
    "DATA",
    "TYPES",
    "VERSIONS",
    "Chunk",
    "TextParts",
    "Version",
)

Chunk: TypeAlias = dict[str, Any]
Version: TypeAlias = Literal[5, 6, 7]

VERSIONS: tuple[Version, ...] = (5, 6, 7)

DATA = ("data-approval", "data-artifact", "data-member", "data-problem", "data-progress")
"""Parts of our own, which every version takes; the last one is never kept in a message."""

_ALWAYS = (
    *("start", "start-step", "finish-step", "message-metadata", "error", "abort", "finish"),
    *("text-start", "text-delta", "text-end"),
    *("reasoning-start", "reasoning-delta", "reasoning-end"),
    *("tool-input-start", "tool-input-available", "tool-output-available", "tool-output-error"),
    *DATA,
)
_APPROVALS = ("tool-approval-request", "tool-output-denied")

TYPES: dict[Version, frozenset[str]] = {
    5: frozenset(_ALWAYS),
    6: frozenset((*_ALWAYS, *_APPROVALS)),
    7: frozenset((*_ALWAYS, *_APPROVALS, "tool-approval-response")),
}
"""The types that we send to each version."""


# --- Prose and thinking as parts of a message: begun by the first text, ended before anything else
# ---
#
#     text-start  text-delta …  text-end
#
# Each who speaks has one open part at most. Blank text alone is no part: it waits for what follows,
# and goes if that is none.

_Kind: TypeAlias = Literal["text", "reasoning"]


class _Open(msgspec.Struct, frozen=True):
    kind: _Kind
    id: str

    def chunk(self, what: Literal["start", "delta", "end"]) -> Chunk:
        return {"type": f"{self.kind}-{what}", "id": self.id}


class TextParts:
    """The parts that are open, by who speaks."""

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}
        self._blank: dict[tuple[str, _Kind], str] = {}
        self._count = 0

    def add(self, kind: _Kind, text: str, member: str = "") -> list[Chunk]:
        """Take a piece of text."""
        text = whole(text)
        part = self._open.get(member)
        if part is None or part.kind != kind:
            text = self._blank.pop((member, kind), "") + text
            if not text.strip():
                self._blank[member, kind] = text
                return []
            ended = self.end(member)
            part = self._begin(kind, member)
            return [*ended, _started(part, member), {**part.chunk("delta"), "delta": text}]
        return [{**part.chunk("delta"), "delta": text}] if text else []

    def end(self, member: str) -> list[Chunk]:
        """End what this one says; blank text that waits goes."""
        for kind in ("text", "reasoning"):
            self._blank.pop((member, kind), None)
        part = self._open.pop(member, None)
        return [] if part is None else [part.chunk("end")]

    def end_all(self) -> list[Chunk]:
        """End what everybody says."""
        self._blank.clear()
        return [chunk for member in list(self._open) for chunk in self.end(member)]

    def _begin(self, kind: _Kind, member: str) -> _Open:
        self._count += 1
        self._open[member] = part = _Open(kind, f"{kind}-{self._count}")
        return part


def _started(part: _Open, member: str) -> Chunk:
    return {**part.chunk("start"), **of_member(member)}


def of_member(member: str) -> Chunk:
    """Return the metadata of a part that names the member; empty without a team."""
    return {"providerMetadata": {"callblocks": {"member": whole(member)}}} if member else {}
