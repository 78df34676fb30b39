"""Waiting for a person who answers elsewhere: on a page, by a program, at another terminal.

Whoever answers writes it into the book of approvals. What the book then says counts, so it does
not matter who was asked where, and an answer that came twice is one.
"""

from __future__ import annotations

import asyncio

from callblocks.runtime.approvals.book import ApprovalBook
from callblocks.runtime.asking import Answer, Question

__all__ = ("BookAsker",)

_LOOK = 0.5
"""Seconds between two looks into the book: another process may have answered."""


class BookAsker:
    """An asker who looks into the book until the question is answered, or over."""

    def __init__(self, book: ApprovalBook) -> None:
        self._book = book
        self._waiting: dict[str, asyncio.Event] = {}

    async def __call__(self, question: Question) -> Answer | None:
        """The answer; `None` once the question is over without one."""
        id = question.approval_id
        event = self._waiting.setdefault(id, asyncio.Event())
        try:
            while (answer := self._look(id)) is _OPEN:
                event.clear()
                await _wait(event)
            return answer
        finally:
            self._waiting.pop(id, None)

    def wake(self, id: str) -> None:
        """Look at once: the book has an answer."""
        if event := self._waiting.get(id):
            event.set()

    def _look(self, id: str) -> Answer | None:
        approval = self._book.get(id)
        match approval.state if approval else "expired":
            case "pending":
                return _OPEN
            case "approved" if approval and approval.minutes:
                return Answer("while", minutes=approval.minutes)
            case "approved":
                return Answer("once")
            case "denied":
                return Answer("deny", reason=approval.reason if approval else "")
            case _:
                return None


# Stands for no answer yet; it never leaves this file.
_OPEN = Answer("deny", reason="open")


async def _wait(event: asyncio.Event) -> None:
    timer = asyncio.get_running_loop().call_later(_LOOK, event.set)
    try:
        await event.wait()
    finally:
        timer.cancel()
