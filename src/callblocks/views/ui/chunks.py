"""The chunks of a UI message stream, by the version of the client that reads it.

One chunk of a type that a client does not know ends the stream there, and the first clients of a
version take no key that they do not know: so a stream has only what all clients of its version
take, and no key whose value is null.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

__all__ = ("DATA", "TYPES", "VERSIONS", "Chunk", "Version")

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
