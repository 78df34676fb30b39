"""A call that a model wrote, and what came of it."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

__all__ = ("Call", "CheckedCall", "Item", "Result", "ResultKind", "Span", "Thought")

Span: TypeAlias = tuple[int, int]
"""Where something stands in the whole input: `(start, end)` in characters."""


ResultKind: TypeAlias = Literal[
    "plain", "write", "rendering", "exec", "read", "hide", "search", "fetch"
]
"""What a tool's outcome is on a timeline: any output, a file, a document, code with a contract,
what was brought back, what was hidden, rows that become sources, pages that do."""


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


class CheckedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call as its tool gets it: what a policy judged, a person was asked about, and ran.

    `name` is the tool, also where the call was written with one that stands for it. `input` is
    complete: each value as the tool takes it, and the defaults of what was not given. `result` is
    what the tool says of its results; `None` where it does not.
    """

    name: str
    input: dict[str, Any] = {}
    result: ResultKind | None = None


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
