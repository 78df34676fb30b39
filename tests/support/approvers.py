"""Scripted people: answers to questions of approvals."""

from __future__ import annotations

from collections import deque

from callblocks.approvals.question import Answer, Question

YES, NO = Answer("once"), Answer("deny", reason="not on a Sunday")


class Person:
    """Gives answers in order; `questions` are those that were asked."""

    def __init__(self, *answers: Answer | None) -> None:
        self.questions: list[Question] = []
        self._answers = deque(answers)

    async def __call__(self, question: Question) -> Answer | None:
        self.questions.append(question)
        return self._answers.popleft()
