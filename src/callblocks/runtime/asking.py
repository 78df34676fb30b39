"""Asking a person before a call runs.

An asker shows the question with the exact arguments and gives the answer, or `None` where the
person went away without one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

import msgspec

from callblocks.model.calls import Call
from callblocks.tools.tool import Tool

__all__ = ("Answer", "Asker", "Question", "Settled", "Verdict")

Verdict: TypeAlias = Literal["once", "while", "deny"]


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


class Answer(msgspec.Struct, frozen=True):
    """Once; for a while, with the minutes; or no, with the reason that the model is told."""

    verdict: Verdict
    minutes: int = 0
    reason: str = ""


Asker: TypeAlias = Callable[[Question], Awaitable[Answer | None]]
Settled: TypeAlias = Callable[[Question, bool, str], None]
"""Told whether the call runs on the answer to a question, and the words that came with it."""
