"""Answers that come with a post, as AI SDK clients of version 6 and later send them.

Only a question that the chat's own turn asks is answered: an id from elsewhere is none. An answer
goes into the book of approvals once; what the book says then counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from callblocks.runtime.approvals.faults import BadApproval, HiddenCall
from callblocks.server.approvals import AnswerBody, answer_book
from callblocks.server.faults import ApiFault
from callblocks.server.running_turn import RunningTurn
from callblocks.server.service import Service
from callblocks.views.ui.posted import PostedAnswer

__all__ = ("Answered", "answer_questions")


class Answered(NamedTuple):
    """The turn that goes on, the questions that were answered, and where its log is after them."""

    running: RunningTurn
    approvals: Sequence[str]
    start: int


async def answer_questions(
    service: Service, name: str, answers: Sequence[PostedAnswer]
) -> Answered:
    """Answer what the turn of a chat asks; an answer to anything else is a fault.

    So is a yes to a call that is not shown whole, where no other answer was taken.
    """
    running = service.chats.get(name)
    if running is None:
        words = "no turn of this chat waits for an answer; one that was interrupted can be resumed"
        raise ApiFault("approval_answered", words)
    waiting = running.waiting
    taken: list[str] = []
    hidden: HiddenCall | None = None
    for one in answers:
        try:
            if one.approval in waiting and await _take(service, one):
                taken.append(one.approval)
        except HiddenCall as error:
            hidden = error
    if not taken and hidden is not None:
        raise hidden
    if not taken:
        raise ApiFault("approval_answered", "the turn of this chat asks no such question any more")
    return Answered(running, taken, running.after(taken))


async def _take(service: Service, answer: PostedAnswer) -> bool:
    """Return whether the book took it; `HiddenCall` for a yes to a call not shown whole."""
    said = AnswerBody("once" if answer.approved else "deny", reason=answer.reason[:2000])
    try:
        await service.read(lambda: answer_book(service.host.book, answer.approval, said))
    except HiddenCall:
        raise
    except (ApiFault, BadApproval):
        return False
    service.chats.asker.wake(answer.approval)
    return True
