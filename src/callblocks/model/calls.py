"""A call that a model wrote, and what came of it."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

__all__ = ("Call", "Item", "Result", "Span", "Thought")

Span: TypeAlias = tuple[int, int]
"""Where something stands in the whole input: `(start, end)` in characters."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call: which tool, with what input.

    `extra` holds the fields that the dialect keeps beside the input. `ended` is false
    where the text stopped before the call did, so that a policy can refuse to run it.
    """

    id: str
    name: str
    input: dict[str, Any] = {}
    dialect: str = ""
    extra: dict[str, Any] = {}
    span: Span = (0, 0)
    ended: bool = True


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What a call gave, by the call's id: an output, or the text of an error."""

    id: str
    output: Any = None
    error: str | None = None


class Thought(str):
    """Text that the model thought. Wherever it goes, it is never prose."""

    __slots__ = ()


Item: TypeAlias = str | Call | Result
"""What a dialect writes: prose (or a `Thought`), a call, or a result."""
