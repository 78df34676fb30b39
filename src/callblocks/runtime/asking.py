"""The question to a person before a call runs.

An asker shows the question with the exact arguments and returns the answer, or `None` where the
person left without one.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from callblocks.model.calls import Call
from callblocks.model.secret_values import mask_secrets
from callblocks.model.shown import to_compact_text
from callblocks.runtime.plain import plain
from callblocks.tools.tool import Tool

__all__ = (
    "Answer",
    "Asker",
    "Grant",
    "LetThrough",
    "Question",
    "Settled",
    "ShownCall",
    "Verdict",
    "show_call",
)

Verdict: TypeAlias = Literal["once", "while", "deny"]


class ShownCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call as it may be stored and sent: input and preview with their secrets masked.

    `is_whole` is false where a mask covers more than the value of a secret.
    """

    name: str
    input: dict[str, Any]
    preview: str
    is_whole: bool

    @property
    def text(self) -> str:
        """Return the call as text, for a person who answers later.

            file_write
              "path": notes/a.md
              "content": first line
                  second line
              | --- notes/a.md
              | +++ notes/a.md

        Continuation lines of a value are indented further than a key, so no value can imitate
        another argument.
        """
        lines = [self.name]
        for key, value in self.input.items():
            text = to_compact_text(value).replace("\n", "\n      ")
            lines.append(f"  {json.dumps(key, ensure_ascii=False)}: {text}")
        lines += [f"  | {line}" for line in self.preview.splitlines()]
        return "\n".join(lines)


def show_call(name: str, input: Mapping[str, Any], preview: str) -> ShownCall:
    """Mask the secrets of a call and of its preview."""
    masked = mask_secrets({"input": plain(input), "preview": preview})
    return ShownCall(
        name=name,
        input=masked.value["input"],
        preview=masked.value["preview"],
        is_whole=masked.is_whole,
    )


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """The question whether a call may run. `preview` is the change, where the tool can tell.

    `read` is true where the input of the call is not as the model wrote it, but as the tool takes
    it.
    """

    call: Call
    tool: Tool
    approval_id: str
    reason: str
    preview: str = ""
    tainted: tuple[str, ...] = ()
    read: bool = False

    @property
    def shown(self) -> ShownCall:
        """Return the call as it may be stored and sent; `call` and `preview` still hold the
        secrets.
        """
        return show_call(self.tool.name, self.call.input, self.preview)


class Answer(msgspec.Struct, frozen=True):
    """Approval for one call; for some minutes; or a denial, with the reason that the model
    is told.
    """

    verdict: Verdict
    minutes: int = 0
    reason: str = ""


Asker: TypeAlias = Callable[[Question], Awaitable[Answer | None]]


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """An approval of every call of a tool for some minutes; `expires` in seconds since 1970."""

    approval: str
    minutes: int
    expires: float


# Callback with: whether the call runs, the words that came with the answer, and the grant that it
# gave.
Settled: TypeAlias = Callable[[Question, bool, str, Grant | None], None]

# Callback with a call that a grant lets through without a question.
LetThrough: TypeAlias = Callable[[Call, Grant], None]
