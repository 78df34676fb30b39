"""The question to a person before a call runs.

An asker shows the question with the exact arguments and returns the answer, or `None` where the
person left without one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from callblocks.approvals.approval import Approval, ApprovalsUnavailable
from callblocks.approvals.book import ApprovalBook
from callblocks.core.call_text import to_compact_text
from callblocks.core.calls import Call
from callblocks.core.json_values import to_json_value
from callblocks.core.redaction import mask_secrets
from callblocks.tools.tool import Tool

__all__ = (
    "Answer",
    "Asker",
    "BookAsker",
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
    masked = mask_secrets({"input": to_json_value(input), "preview": preview})
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


# --- Wait for a person who answers elsewhere: on a page, in a program, at another terminal ---
#
# The answer is written into the book of approvals, and the book alone decides. It does not matter
# through which channel the person was asked, and answering twice is idempotent.
#
# Why polling: the answer may come from another process, and SQLite has no notification across
# processes. One timer per `BookAsker` lists all pending approvals, however many questions are open.
# An answer from this process does not wait for the timer: the server calls `wake`.

# Seconds between two looks into the book: another process may have answered.
_LOOK = 0.5


class BookAsker:
    """An asker that polls the book until the question is answered or expires.

    All open questions share one timer.
    """

    def __init__(self, book: ApprovalBook) -> None:
        self._book = book
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._next: asyncio.TimerHandle | None = None

    async def __call__(self, question: Question) -> Answer | None:
        """Return the answer, or `None` when the question expires without one."""
        id, event = question.approval_id, asyncio.Event()
        self._waiting.setdefault(id, set()).add(event)
        if self._next is None:
            self._look_later()
        try:
            # The event may be set for another reason than an answer: the state in the book is read
            # again after each wake-up. `clear` stands before `wait` without an await in between, so
            # no wake-up is lost.
            while (approval := self._book.get(id)) is not None and approval.state == "pending":
                event.clear()
                await event.wait()
            return None if approval is None else _answer(approval)
        finally:
            self._leave(id, event)

    def wake(self, id: str) -> None:
        """Read the book now: it has an answer for this question."""
        for event in self._waiting.get(id, ()):
            event.set()

    def _leave(self, id: str, event: asyncio.Event) -> None:
        waiting = self._waiting[id]
        waiting.discard(event)
        if not waiting:
            del self._waiting[id]
        if not self._waiting and self._next is not None:
            self._next.cancel()
            self._next = None

    def _look_later(self) -> None:
        self._next = asyncio.get_running_loop().call_later(_LOOK, self._look)

    def _look(self) -> None:
        self._look_later()
        try:
            pending = {approval.id for approval in self._book.list("pending")}
        except ApprovalsUnavailable:
            # Wake everybody: each waiter reads the book itself and reports the failure.
            pending = set[str]()
        for id in self._waiting.keys() - pending:
            self.wake(id)


def _answer(approval: Approval) -> Answer | None:
    match approval.state:
        case "approved":
            verdict = "while" if approval.minutes else "once"
            return Answer(verdict, minutes=approval.minutes)
        case "denied":
            return Answer("deny", reason=approval.reason)
        case _:
            return None
