"""Calls that a model wrote, and their results."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

__all__ = ("Call", "CheckedCall", "Item", "Result", "ResultKind", "Span", "Thought")

# A range in the whole input: `(start, end)` in characters.
Span: TypeAlias = tuple[int, int]


# The kind of a tool's outcome on a timeline: any output, a file, a document, code with a contract,
# blocks that were read again, blocks that were hidden, rows that become sources, pages that do.
ResultKind: TypeAlias = Literal[
    "plain", "write", "rendering", "exec", "read", "hide", "search", "fetch"
]


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call: the tool and its input.

    `extra` holds the fields that the dialect keeps beside the input. `ended` is false where the
    text stopped before the call did, so that a policy can refuse to run it.
    """

    id: str
    name: str
    input: dict[str, Any] = {}
    dialect: str = ""
    extra: dict[str, Any] = {}
    span: Span = (0, 0)
    ended: bool = True


class CheckedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call as its tool gets it: the value that a policy judged, a person approved, and that ran.

    `name` is the tool, also where the call was written with an alias of it. `input` is complete:
    each value as the tool takes it, and the defaults of parameters that were not given. `result` is
    the tool's declared kind of result; `None` where it declares none.
    """

    name: str
    input: dict[str, Any] = {}
    result: ResultKind | None = None


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a call, by the call's id: an output, or the text of an error."""

    id: str
    output: Any = None
    error: str | None = None


class Thought(str):
    """Text that the model marked as thinking. Wherever it goes, it is never prose."""

    __slots__ = ()


# An item that a dialect writes: prose (or a `Thought`), a call, or a result.
Item: TypeAlias = str | Call | Result
