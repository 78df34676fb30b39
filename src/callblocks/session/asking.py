"""Waiting for a person who answers elsewhere: on a page, by a program, at another terminal.

Whoever answers writes it into the book of approvals. What the book then says counts, so it does
not matter who was asked where, and an answer that came twice is one.
"""

from __future__ import annotations

import asyncio

from callblocks.runtime.approvals.approval import Approval
from callblocks.runtime.approvals.book import ApprovalBook
from callblocks.runtime.asking import Answer, Question

__all__ = ("BookAsker",)

_LOOK = 0.5
"""Seconds between two looks into the book: another process may have answered."""


class BookAsker:
    """An asker who looks into the book until the question is answered, or over."""

    def __init__(self, book: ApprovalBook) -> None:
        self._book = book
        self._waiting: dict[str, set[asyncio.Event]] = {}

    async def __call__(self, question: Question) -> Answer | None:
        """The answer; `None` once the question is over without one."""
        id, event = question.approval_id, asyncio.Event()
        self._waiting.setdefault(id, set()).add(event)
        try:
            while (approval := self._book.get(id)) is not None and approval.state == "pending":
                event.clear()
                await _wait(event)
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


def _answer(approval: Approval) -> Answer | None:
    match approval.state:
        case "approved":
            verdict = "while" if approval.minutes else "once"
            return Answer(verdict, minutes=approval.minutes)
        case "denied":
            return Answer("deny", reason=approval.reason)
        case _:
            return None


async def _wait(event: asyncio.Event) -> None:
    timer = asyncio.get_running_loop().call_later(_LOOK, event.set)
    try:
        await event.wait()
    finally:
        timer.cancel()
