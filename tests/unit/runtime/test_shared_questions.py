"""Two who ask about the same call at the same time: each runs on a yes of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from callblocks.approvals.book import ApprovalBook
from callblocks.approvals.question import Answer, Asker, Grant, Question
from callblocks.core.outcomes import Outcome
from callblocks.policy.policy import Policy
from callblocks.runtime.approval_gate import Approving
from callblocks.runtime.runtime import Runtime
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from support.approvers import NO, YES, Person
from support.tool_runtime import call

ASK = Policy.ask_all()
DONE: list[str] = []


@tool(read_only=True)
async def act() -> str:
    """Act."""
    DONE.append("act")
    return "done"


@pytest.fixture
def book() -> Iterator[ApprovalBook]:
    DONE.clear()
    with ApprovalBook(":memory:") as opened:
        yield opened


class Settlings(list[tuple[str, bool, str]]):
    """What came of questions: the approval, whether the call runs on it, and words."""

    def __call__(self, question: Question, approved: bool, words: str, grant: Grant | None) -> None:
        self.append((question.approval_id, approved, words))

    @property
    def verdicts(self) -> list[bool]:
        return [approved for _, approved, _ in self]


async def run(book: ApprovalBook, asker: Asker, settled: Settlings) -> Outcome:
    runtime = Runtime(Registry([act]), ASK, approving=Approving(book, asker, settled=settled))
    (outcome,) = [one async for one in runtime.run([call("act")])]
    return outcome


def code(outcome: Outcome) -> str:
    return outcome.error.code if outcome.error else ""


class Meeting:
    """Holds the first questions until all are asked, and then gives the same answer to each."""

    def __init__(self, people: int, *later: Answer | None) -> None:
        self.first = asyncio.Barrier(people)
        self.later = Person(*later)
        self.questions: list[str] = []

    async def __call__(self, question: Question) -> Answer | None:
        is_first = len(self.questions) < self.first.parties
        self.questions.append(question.approval_id)
        if not is_first:
            return await self.later(question)
        await self.first.wait()
        return YES


def test_whoever_finds_the_answer_used_up_is_asked_anew(book: ApprovalBook) -> None:
    async def both() -> None:
        meeting, one, two = Meeting(2, YES), Settlings(), Settlings()
        outcomes = await asyncio.gather(run(book, meeting, one), run(book, meeting, two))
        assert [outcome.output for outcome in outcomes] == ["done", "done"]
        first, again, last = meeting.questions
        assert first == again != last
        assert sorted([one.verdicts, two.verdicts]) == [[False, True], [True]]
        (spent,) = [words for _, approved, words in (*one, *two) if not approved]
        assert spent == "another call used this approval; the question is asked again"

    asyncio.run(both())
    assert len(DONE) == len(book.list("used")) == 2


@pytest.mark.parametrize(
    ("later", "expected"), [(NO, "approval_denied"), (None, "approval_required")]
)
def test_one_yes_lets_one_call_run(book: ApprovalBook, later: Answer | None, expected: str) -> None:
    async def both() -> list[str]:
        meeting, told = Meeting(2, later), Settlings()
        outcomes = await asyncio.gather(*(run(book, meeting, told) for _ in range(2)))
        assert sorted(told.verdicts) == [False, False, True]
        return sorted(map(code, outcomes))

    assert asyncio.run(both()) == ["", expected]
    assert len(DONE) == 1


def test_one_yes_for_minutes_is_enough_for_all(book: ApprovalBook) -> None:
    async def all_of_them() -> None:
        told, gate = Settlings(), asyncio.Barrier(3)

        async def asker(question: Question) -> Answer:
            await gate.wait()
            return Answer("while", minutes=5)

        outcomes = await asyncio.gather(*(run(book, asker, told) for _ in range(3)))
        assert all(outcome.ok for outcome in outcomes)
        assert told.verdicts == [True] * 3

    asyncio.run(all_of_them())
    assert len(DONE) == 3


def test_three_need_three_answers(book: ApprovalBook) -> None:
    async def three() -> None:
        meeting, told = Meeting(3, YES, YES, YES), Settlings()
        outcomes = await asyncio.gather(*(run(book, meeting, told) for _ in range(3)))
        assert all(outcome.ok for outcome in outcomes)
        assert sum(told.verdicts) == 3

    asyncio.run(three())
    assert len(DONE) == len(book.list("used")) == 3


def test_a_no_that_somebody_said_since_is_not_asked_about(book: ApprovalBook) -> None:
    async def asker(question: Question) -> Answer | None:
        """Another call runs on the answer, and then somebody says no to a third one."""
        book.approve(question.approval_id)
        now = book.get(question.approval_id)
        assert now
        assert book.take(now.fingerprint, now.grant_key).ok
        third = book.request(
            fingerprint=now.fingerprint, grant_key=now.grant_key, tool="act", shown="act"
        )
        book.deny(third.id, "enough")
        return YES

    told = Settlings()
    outcome = asyncio.run(run(book, asker, told))
    assert (code(outcome), told.verdicts, DONE) == ("approval_denied", [False], [])


def test_a_question_that_was_used_up_unanswered_here_is_asked_anew(book: ApprovalBook) -> None:
    first: list[str] = []

    async def asker(question: Question) -> Answer | None:
        if first:
            return YES
        first.append(question.approval_id)
        now = book.approve(question.approval_id)
        assert book.take(now.fingerprint, now.grant_key).ok
        return None

    told = Settlings()
    outcome = asyncio.run(run(book, asker, told))
    assert (outcome.output, told.verdicts) == ("done", [False, True])


@pytest.mark.parametrize("answer", [YES, NO, None])
def test_what_came_of_a_question_is_told_with_its_words(
    book: ApprovalBook, answer: Answer | None
) -> None:
    told = Settlings()
    asyncio.run(run(book, Person(answer), told))
    (settled,) = told
    assert settled[1:] == (answer is YES, "not on a Sunday" if answer is NO else "")
