"""Wait for a person who answers elsewhere: on a page, in a program, at another terminal.

The answer is written into the book of approvals, and the book alone decides. It does not matter
through which channel the person was asked, and answering twice is idempotent.

Why polling: the answer may come from another process, and SQLite has no notification across
processes. One timer per `BookAsker` lists all pending approvals, however many questions are open.
An answer from this process does not wait for the timer: the server calls `wake`.
"""

from __future__ import annotations

import asyncio

from callblocks.runtime.approvals.approval import Approval
from callblocks.runtime.approvals.book import ApprovalBook
from callblocks.runtime.approvals.faults import ApprovalsUnavailable
from callblocks.runtime.asking import Answer, Question

__all__ = ("BookAsker",)

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
