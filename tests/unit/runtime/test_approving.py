from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callblocks.approvals.book import ApprovalBook
from callblocks.approvals.question import Answer, Question
from callblocks.core.errors import ToolError
from callblocks.core.outcomes import Outcome
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.runtime import gate as showing
from callblocks.runtime.gate import Approving
from callblocks.runtime.judgement import Turn
from callblocks.runtime.runtime import Runtime
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool
from support.approvers import NO, YES, Person
from support.policies import sqlite_of
from support.tool_runtime import call, run, run_one

ASK = Policy.ask_all()


@pytest.fixture
def book() -> Iterator[ApprovalBook]:
    with ApprovalBook(":memory:") as opened:
        yield opened


@pytest.fixture
def done() -> list[str]:
    return []


@pytest.fixture
def act(done: list[str]) -> Tool:
    @tool
    def act(what: Any = "it") -> str:
        """Act."""
        done.append(str(what))
        return "done"

    return act


def code(outcome: Outcome) -> str:
    return outcome.error.code if outcome.error else ""


def words(outcome: Outcome) -> str:
    return outcome.error.message if outcome.error else ""


def test_a_yes_runs_the_call_once_and_counts_no_second_time(
    book: ApprovalBook, act: Tool, done: list[str]
) -> None:
    person = Person(YES, None)
    approving = Approving(book, person)
    first = run_one([act], call("act"), policy=ASK, approving=approving)
    again = run_one([act], call("act"), policy=ASK, approving=approving)
    assert (first.output, code(again), done) == ("done", "approval_required", ["it"])
    assert len(person.questions) == 2


def test_a_yes_for_minutes_covers_any_input_of_the_tool(
    book: ApprovalBook, act: Tool, done: list[str]
) -> None:
    person = Person(Answer("while", minutes=5))
    outcomes = run(
        [act],
        call("act", "a", what=1),
        call("act", "b", what=2),
        policy=ASK,
        approving=Approving(book, person),
    )
    assert all(outcome.ok for outcome in outcomes)
    assert done == ["1", "2"]
    assert len(person.questions) == 1


def test_a_yes_for_minutes_is_none_for_a_call_that_reaches_further(
    book: ApprovalBook, done: list[str]
) -> None:
    @tool(reaches_any_host=lambda given: given["far"] is not False)
    def act(what: Any = "it", far: bool = False) -> str:
        """Act."""
        done.append(str(what))
        return "done"

    person = Person(Answer("while", minutes=5), NO, Answer("while", minutes=5))
    approving = Approving(book, person)
    near, again, refused, far = (
        run_one([act], call("act", what=n, far=far), policy=ASK, approving=approving)
        for n, far in enumerate((False, False, True, True))
    )
    assert (near.ok, again.ok, code(refused), far.ok) == (True, True, "approval_denied", True)
    assert done == ["0", "1", "3"]
    first, second, third = person.questions
    assert [one.tool.traits.open_world for one in (first, second, third)] == [False, True, True]
    assert second.reason == "no rule names this call (the call may reach any host)"


@pytest.mark.parametrize("minutes", [0, 7, -5, 10**9])
def test_minutes_that_nobody_offered_approve_nothing(
    book: ApprovalBook, act: Tool, done: list[str], minutes: int
) -> None:
    approving = Approving(book, Person(Answer("while", minutes=minutes)))
    outcome = run_one([act], call("act"), policy=ASK, approving=approving)
    assert (code(outcome), done) == ("approval_required", [])


def test_a_no_tells_the_model_why_and_is_not_asked_again(
    book: ApprovalBook, act: Tool, done: list[str]
) -> None:
    person = Person(NO)
    approving = Approving(book, person)
    for _ in range(2):
        outcome = run_one([act], call("act"), policy=ASK, approving=approving)
        assert code(outcome) == "approval_denied"
        assert words(outcome) == "act did not run: a person said no: not on a Sunday"
    assert len(person.questions) == 1
    assert not done


@pytest.mark.parametrize("yes", [YES, Answer("while", minutes=5)])
def test_a_no_of_an_earlier_run_is_asked_again(
    book: ApprovalBook, act: Tool, done: list[str], yes: Answer
) -> None:
    run_one([act], call("act"), policy=ASK, approving=Approving(book, Person(NO)))
    person = Person(yes)
    again = run_one([act], call("act"), policy=ASK, approving=Approving(book, person))
    assert (again.output, len(person.questions), done) == ("done", 1, ["it"])


def test_a_no_stands_where_nobody_is_there_to_be_asked_again(
    book: ApprovalBook, act: Tool, done: list[str]
) -> None:
    run_one([act], call("act"), policy=ASK, approving=Approving(book, Person(NO)))
    outcome = run_one([act], call("act"), policy=ASK, approving=Approving(book))
    assert (code(outcome), done) == ("approval_denied", [])


def test_a_second_no_stands_too(book: ApprovalBook, act: Tool, done: list[str]) -> None:
    for _ in range(2):
        person = Person(NO)
        approving = Approving(book, person)
        for _ in range(2):
            outcome = run_one([act], call("act"), policy=ASK, approving=approving)
            assert code(outcome) == "approval_denied"
        assert len(person.questions) == 1
    assert not done


def test_a_person_who_does_not_answer_again_leaves_the_no(
    book: ApprovalBook, act: Tool, done: list[str]
) -> None:
    run_one([act], call("act"), policy=ASK, approving=Approving(book, Person(NO)))
    outcome = run_one([act], call("act"), policy=ASK, approving=Approving(book, Person(None)))
    assert (code(outcome), done) == ("approval_denied", [])


def test_a_no_without_a_reason_ends_without_a_colon(book: ApprovalBook, act: Tool) -> None:
    approving = Approving(book, Person(Answer("deny")))
    outcome = run_one([act], call("act"), policy=ASK, approving=approving)
    assert words(outcome) == "act did not run: a person said no"


def test_a_person_who_goes_away_leaves_the_question_in_the_book(
    book: ApprovalBook, act: Tool, done: list[str]
) -> None:
    outcome = run_one([act], call("act"), policy=ASK, approving=Approving(book, Person(None)))
    (waiting,) = book.list("pending")
    assert code(outcome) == "approval_required"
    assert outcome.error
    assert outcome.error.details == {"approval": waiting.id}
    assert words(outcome) == (
        "act did not run: a person must approve it (no rule names this call); "
        f"it waits as {waiting.id}"
    )
    assert not done


def test_what_waits_runs_once_somebody_approved_it(
    book: ApprovalBook, act: Tool, done: list[str]
) -> None:
    nobody = Approving(book, place="/here")
    waits = run_one([act], call("act"), policy=ASK, approving=nobody)
    assert waits.error
    book.approve(waits.error.details["approval"])
    elsewhere = run_one([act], call("act"), policy=ASK, approving=Approving(book, place="/there"))
    other = run_one([act], call("act", what="more"), policy=ASK, approving=nobody)
    stricter = Policy((Rule(decide="ask", tool=("act",)),))
    judged_anew = run_one([act], call("act"), policy=stricter, approving=nobody)
    tainted = run_one(
        [act], call("act"), policy=ASK, approving=nobody, turn=Turn(tainted=("a page",))
    )
    assert {code(elsewhere), code(other), code(judged_anew)} == {"approval_required"}
    # Whoever approved it knew of no text of others.
    assert code(tainted) == "approval_required"
    assert run_one([act], call("act"), policy=ASK, approving=nobody).ok
    assert code(run_one([act], call("act"), policy=ASK, approving=nobody)) == "approval_required"
    assert done == ["it"]


def test_without_a_book_nobody_can_be_asked(act: Tool) -> None:
    person = Person(YES)
    outcome = run_one([act], call("act"), policy=ASK, approving=Approving(None, person))
    assert code(outcome) == "approval_required"
    assert words(outcome) == (
        "act did not run: a person must approve it (no rule names this call), "
        "and nobody can be asked here"
    )
    assert not person.questions


def test_arguments_that_change_after_the_question_are_not_approved(
    book: ApprovalBook, act: Tool, done: list[str]
) -> None:
    changing = call("act", what="a little")

    async def distracted(question: Question) -> Answer:
        changing.input["what"] = "a lot"
        return YES

    outcome = run_one([act], changing, policy=ASK, approving=Approving(book, distracted))
    assert (code(outcome), done) == ("approval_mismatch", [])


def test_an_answer_that_comes_too_late_is_none(act: Tool, done: list[str]) -> None:
    now = [1000.0]

    async def slow(question: Question) -> Answer:
        now[0] += 700
        return YES

    with ApprovalBook(":memory:", clock=lambda: now[0], steady=lambda: now[0]) as book:
        outcome = run_one([act], call("act"), policy=ASK, approving=Approving(book, slow))
    assert (code(outcome), done) == ("approval_expired", [])


@pytest.mark.parametrize(
    ("elsewhere", "here", "expected"),
    [
        ("revoke", YES, "approval_revoked"),
        ("approve", YES, ""),
        ("approve", NO, "approval_denied"),
        ("deny", YES, "approval_denied"),
    ],
)
def test_a_question_answered_elsewhere_takes_the_safer_answer(
    book: ApprovalBook, act: Tool, done: list[str], elsewhere: str, here: Answer, expected: str
) -> None:
    async def two(question: Question) -> Answer:
        getattr(book, elsewhere)(question.approval_id)
        return here

    outcome = run_one([act], call("act"), policy=ASK, approving=Approving(book, two))
    assert (code(outcome), len(done)) == (expected, int(not expected))


def test_a_book_that_breaks_approves_nothing(tmp_path: Path, act: Tool, done: list[str]) -> None:
    path = tmp_path / "approvals"

    async def break_it(question: Question) -> Answer:
        path.write_bytes(b"\xff" * path.stat().st_size)
        return YES

    with ApprovalBook(path) as book:
        outcome = run_one([act], call("act"), policy=ASK, approving=Approving(book, break_it))
    assert (code(outcome), done) == ("approval_required", [])
    assert "approvals cannot be kept" in words(outcome)


def test_a_book_that_cannot_be_written_approves_nothing(
    tmp_path: Path, act: Tool, done: list[str]
) -> None:
    person = Person(YES)
    with ApprovalBook(tmp_path / "approvals") as book:
        # A folder of root's cannot be made read-only for root; SQLite's own switch is as good.
        sqlite_of(book).execute("PRAGMA query_only = 1")
        outcome = run_one([act], call("act"), policy=ASK, approving=Approving(book, person))
    assert (code(outcome), done, person.questions) == ("approval_required", [], [])
    assert "attempt to write a readonly database" in words(outcome)


def test_calls_side_by_side_are_asked_one_at_a_time(book: ApprovalBook) -> None:
    asked: list[str] = []
    open_questions = 0

    async def one_by_one(question: Question) -> Answer:
        nonlocal open_questions
        open_questions += 1
        assert open_questions == 1
        await asyncio.sleep(0.01)
        asked.append(question.call.id)
        open_questions -= 1
        return YES

    @tool(read_only=True)
    async def look(where: str) -> str:
        """Look."""
        return where

    outcomes = run(
        [look],
        *(call("look", id, where=id) for id in "abc"),
        policy=ASK,
        approving=Approving(book, one_by_one),
    )
    assert [outcome.output for outcome in outcomes] == asked == ["a", "b", "c"]


def test_a_stopped_turn_ends_a_question_and_asks_no_more(book: ApprovalBook) -> None:
    ended: list[str] = []

    @tool(read_only=True)
    async def look(where: str) -> str:
        """Look."""
        return where

    async def collect() -> list[str]:
        turn = Turn()

        async def patient(question: Question) -> Answer:
            turn.stop()
            try:
                await asyncio.sleep(3600)
            finally:
                ended.append(question.call.id)
            return YES

        runtime = Runtime(Registry([look]), ASK, approving=Approving(book, patient))
        calls = [call("look", id, where=id) for id in "abc"]
        return [code(outcome) async for outcome in runtime.run(calls, turn)]

    assert asyncio.run(collect()) == ["cancelled"] * 3
    assert ended == ["a"]


def test_an_approval_is_not_used_up_by_a_turn_that_was_stopped(book: ApprovalBook) -> None:
    @tool(read_only=True)
    async def look(where: str) -> str:
        """Look."""
        return where

    nobody = Approving(book)
    waits = run_one([look], call("look", where="b"), policy=ASK, approving=nobody)
    assert waits.error
    book.approve(waits.error.details["approval"])

    async def collect() -> list[str]:
        turn = Turn()

        async def stop(question: Question) -> Answer | None:
            turn.stop()
            return None

        runtime = Runtime(Registry([look]), ASK, approving=Approving(book, stop))
        calls = [call("look", id, where=id) for id in "ab"]
        return [code(outcome) async for outcome in runtime.run(calls, turn)]

    assert asyncio.run(collect()) == ["cancelled"] * 2
    assert len(book.list("approved")) == 1


@pytest.mark.parametrize(("within", "expected"), [("one", ""), ("two", "approval_required")])
def test_an_approval_for_once_counts_within_what_it_was_asked_in(
    book: ApprovalBook, act: Tool, within: str, expected: str
) -> None:
    waits = run_one([act], call("act"), policy=ASK, approving=Approving(book, within="one"))
    assert waits.error
    book.approve(waits.error.details["approval"])
    again = run_one([act], call("act"), policy=ASK, approving=Approving(book, within=within))
    assert code(again) == expected


def test_a_grant_counts_in_all_of_the_workspace(book: ApprovalBook, act: Tool) -> None:
    granting = Approving(book, Person(Answer("while", minutes=5)), within="one")
    assert run_one([act], call("act"), policy=ASK, approving=granting).ok
    assert run_one([act], call("act"), policy=ASK, approving=Approving(book, within="two")).ok
    granting.withdraw()
    assert run_one([act], call("act"), policy=ASK, approving=Approving(book, within="two")).ok


def test_what_is_withdrawn_is_neither_open_nor_approved(book: ApprovalBook, act: Tool) -> None:
    approving = Approving(book, Person(YES, None, None, NO))
    calls = [call("act", id, what=id) for id in "abcd"]
    run([act], *calls, policy=ASK, approving=approving)
    book.approve(book.list("pending")[0].id)
    approving.withdraw()
    assert [one.state for one in book.list()] == ["used", "revoked", "revoked", "denied"]
    approving.withdraw()


def test_nothing_is_withdrawn_where_there_is_no_book(book: ApprovalBook, act: Tool) -> None:
    Approving().withdraw()
    approving = Approving(book)
    run_one([act], call("act"), policy=ASK, approving=approving)
    book.close()
    approving.withdraw()


def test_an_asker_that_raises_lets_nothing_through(
    book: ApprovalBook, act: Tool, done: list[str]
) -> None:
    async def broken(question: Question) -> Answer:
        raise LookupError("the asker is broken")

    with pytest.raises(LookupError, match="broken"):
        run_one([act], call("act"), policy=ASK, approving=Approving(book, broken))
    assert not done


class Unsayable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Leaving(Exception):
    def __str__(self) -> str:
        raise SystemExit


@pytest.mark.parametrize(
    ("raised", "shown"),
    [
        (ValueError("no such row"), "(what it would change is not known: no such row)"),
        (Unsayable(), "(what it would change is not known: Unsayable)"),
        (Leaving(), "(what it would change is not known: Leaving)"),
        (SystemExit(3), "(what it would change is not known: SystemExit: 3)"),
        (None, "12"),
    ],
)
def test_whatever_a_preview_does_the_person_is_asked(
    book: ApprovalBook, raised: BaseException | None, shown: str
) -> None:
    def preview(number: int) -> Any:
        if raised is not None:
            raise raised
        return number

    @tool(preview=preview)
    def write(number: int) -> None:
        """Write."""

    person = Person(YES)
    assert run_one(
        [write], call("write", number=12), policy=ASK, approving=Approving(book, person)
    ).ok
    assert person.questions[0].preview == shown


def refusing(code: Any, **traits: Any) -> Tool:
    """A tool whose preview fails with a code; that it runs fails the test."""

    def preview(number: int) -> str:
        raise ToolError(code, "token=hunter2 is no number", number="no number")

    @tool(preview=preview, **traits)
    def write(number: int) -> None:
        """Write."""
        raise AssertionError("it ran")

    return write


@pytest.mark.parametrize("code", ["invalid_input", "not_found", "unsafe_path"])
def test_nobody_is_asked_about_a_call_that_cannot_work(book: ApprovalBook, code: str) -> None:
    person, turn = Person(), Turn()
    for approving in (Approving(book, person), Approving(book), Approving()):
        outcome = run_one(
            [refusing(code)], call("write", number=1), policy=ASK, approving=approving, turn=turn
        )
        assert outcome.error is not None
        assert (outcome.error.code, outcome.error.where) == (code, "write")
        assert outcome.error.message == "write did not run: token=•••••••• is no number"
        assert outcome.error.details == {"number": "no number"}
    assert (person.questions, book.list(), turn.tainted) == ([], (), ())


@pytest.mark.parametrize("code", ["service_unavailable", "sign_in_needed", "of_its_own", ["x"]])
def test_a_preview_that_fails_for_another_reason_does_not_keep_from_asking(
    book: ApprovalBook, code: Any
) -> None:
    person = Person(NO)
    outcome = run_one(
        [refusing(code)],
        call("write", number=1),
        policy=ASK,
        approving=Approving(book, person),
    )
    assert outcome.error is not None
    assert outcome.error.code == "approval_denied"
    (question,) = person.questions
    assert question.preview == ("(what it would change is not known: token=•••••••• is no number)")


def test_the_words_of_a_preview_that_fails_taint_as_an_outcome_would(book: ApprovalBook) -> None:
    turn = Turn()
    tools = [refusing("not_found", open_world=True)]
    run_one(tools, call("write", number=1), policy=ASK, approving=Approving(book), turn=turn)
    assert turn.tainted == ("write",)


def test_a_preview_that_hangs_is_given_up_and_holds_nothing_up(
    book: ApprovalBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(showing, "_SECONDS", 0.05)
    threads: list[int] = []
    ended = threading.Event()

    def hang() -> str:
        threads.append(threading.get_ident())
        try:
            while True:
                time.sleep(0.005)
        finally:
            ended.set()

    @tool(preview=hang)
    def write() -> None:
        """Write."""

    person = Person(YES)
    assert run_one([write], call("write"), policy=ASK, approving=Approving(book, person)).ok
    assert person.questions[0].preview == (
        "(what it would change is not known: that takes too long)"
    )
    assert ended.wait(120)
    assert threads != [threading.get_ident()]


def test_whoever_answers_later_sees_every_argument_and_what_would_change(
    book: ApprovalBook,
) -> None:
    @tool(preview=lambda path, text: f"--- {path}\n+{text}")
    def write(path: str, text: str) -> None:
        """Write."""

    run_one([write], call("write", path="a", text="x\n  y"), policy=ASK, approving=Approving(book))
    (waiting,) = book.list()
    assert waiting.shown == (
        'write\n  "path": a\n  "text": x\n        y\n  | --- a\n  | +x\n  |   y'
    )


def test_a_question_has_the_exact_arguments_and_why_it_is_asked(
    book: ApprovalBook, act: Tool
) -> None:
    person = Person(YES)
    turn = Turn(tainted=("a letter",))
    policy = Policy((Rule(decide="allow", tool=("act",)),))
    run_one(
        [act], call("act", what=["x"]), policy=policy, turn=turn, approving=Approving(book, person)
    )
    (question,) = person.questions
    assert question.call.input == {"what": ["x"]}
    assert question.preview == ""
    assert question.tainted == ("a letter",)
    assert "a letter" in question.reason
    assert book.get(question.approval_id) is not None


def test_a_deeply_nested_input_cannot_be_approved(book: ApprovalBook, done: list[str]) -> None:
    from callblocks.core.specs import ToolSpec
    from callblocks.tools.tool import Checked

    deep: list[Any] = []
    for _ in range(50_000):
        deep = [deep]
    swallow = Tool(
        spec=ToolSpec("swallow"), check=Checked, function=lambda **_: done.append("swallowed")
    )
    person = Person(YES)
    outcome = run_one(
        [swallow], call("swallow", deep=deep), policy=ASK, approving=Approving(book, person)
    )
    assert (code(outcome), done, person.questions) == ("invalid_input", [], [])
