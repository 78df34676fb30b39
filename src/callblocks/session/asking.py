"""Waiting for a person who answers elsewhere: on a page, by a program, at another terminal.

Whoever answers writes it into the book of approvals. What the book then says counts, so it does
not matter who was asked where, and an answer that came twice is one.
"""

from __future__ import annotations

import asyncio

from callblocks.runtime.approvals.approval import Approval
from callblocks.runtime.approvals.book import ApprovalBook
from callblocks.runtime.approvals.faults import ApprovalsUnavailable
from callblocks.runtime.asking import Answer, Question

__all__ = ("BookAsker",)

_LOOK = 0.5
"""Seconds between two looks into the book: another process may have answered."""


class BookAsker:
    """An asker who looks into the book until the question is answered, or over.

    All questions that are open have one look.
    """

    def __init__(self, book: ApprovalBook) -> None:
        self._book = book
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._next: asyncio.TimerHandle | None = None

    async def __call__(self, question: Question) -> Answer | None:
        """The answer; `None` once the question is over without one."""
        id, event = question.approval_id, asyncio.Event()
        self._waiting.setdefault(id, set()).add(event)
        if self._next is None:
            self._look_later()
        try:
            while (approval := self._book.get(id)) is not None and approval.state == "pending":
                event.clear()
                await event.wait()
            return None if approval is None else _answer(approval)
        finally:
            self._leave(id, event)

    def wake(self, id: str) -> None:
        """Look at once: the book has an answer."""
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
            # Whoever waits finds it out, and says so.
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
