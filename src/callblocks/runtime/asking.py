"""Asking a person before a call runs.

An asker shows the question with the exact arguments and gives the answer, or `None` where the
person went away without one.
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
    """A call as it may be kept and sent: input and preview with their secrets masked.

    `is_whole` is false where a mask covers more than the value of a secret.
    """

    name: str
    input: dict[str, Any]
    preview: str
    is_whole: bool

    @property
    def text(self) -> str:
        """The call as text, for a person who answers later.

            file_write
              "path": notes/a.md
              "content": first line
                  second line
              | --- notes/a.md
              | +++ notes/a.md

        No line of a value can look like another argument: it stands further in.
        """
        lines = [self.name]
        for key, value in self.input.items():
            text = to_compact_text(value).replace("\n", "\n      ")
            lines.append(f"  {json.dumps(key, ensure_ascii=False)}: {text}")
        lines += [f"  | {line}" for line in self.preview.splitlines()]
        return "\n".join(lines)


def show_call(name: str, input: Mapping[str, Any], preview: str) -> ShownCall:
    """Mask the secrets of a call and of what it would change."""
    masked = mask_secrets({"input": plain(input), "preview": preview})
    return ShownCall(
        name=name,
        input=masked.value["input"],
        preview=masked.value["preview"],
        is_whole=masked.is_whole,
    )


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """May this call run? `preview` is what it would change, where the tool can tell.

    `read` is whether the input of the call is not as the model wrote it, but as the tool takes it.
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
        """The call as it may be kept and sent; `call` and `preview` also have the secrets."""
        return show_call(self.tool.name, self.call.input, self.preview)


class Answer(msgspec.Struct, frozen=True):
    """Once; for a while, with the minutes; or no, with the reason that the model is told."""

    verdict: Verdict
    minutes: int = 0
    reason: str = ""


Asker: TypeAlias = Callable[[Question], Awaitable[Answer | None]]


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """A yes to every call of a tool for some minutes; `expires` in seconds since 1970."""

    approval: str
    minutes: int
    expires: float


Settled: TypeAlias = Callable[[Question, bool, str, Grant | None], None]
"""Called with whether the call runs on the answer to a question, the words that came with it, and
the grant that the answer gave."""

LetThrough: TypeAlias = Callable[[Call, Grant], None]
"""Called with a call that a grant lets through without a question."""
