"""A person answers elsewhere: what the book of approvals says then counts."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from callblocks.approvals import question as asking
from callblocks.approvals.approval import ApprovalsUnavailable
from callblocks.approvals.book import ApprovalBook
from callblocks.approvals.question import BookAsker
from callblocks.core.calls import Call
from callblocks.core.events import CallAnswered, CallAsked, CallBegan, CallEnded, TurnEvent
from callblocks.session.host import Host
from callblocks.timeline.timeline import APPROVALS
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from support.scripted_sessions import (
    ASK_ALL,
    Replies,
    check_grammar,
    of_type,
    some_host,
    texts,
    write,
)

DONE: list[str] = []


@tool
def act(what: str) -> str:
    """Act."""
    DONE.append(what)
    return f"did {what}"


ACTING = Registry([act])
ACT = Call(id="c1", name="act", input={"what": "x"})
CALLING = write("tool-fence", ACT, tools=ACTING.tools)


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    DONE.clear()


class Asked:
    """A turn whose call is asked about; `answer` is called with the question, once it is asked."""

    def __init__(self, folder: Path, answer: Callable[[Host, BookAsker, str], Any]) -> None:
        self.model = Replies(CALLING, "Yes.")
        self.events: list[TurnEvent] = []
        with some_host(folder, self.model, tools=ACTING, policy=ASK_ALL) as host:
            self._host, self._answer = host, answer
            asyncio.run(self._run())

    async def _run(self) -> None:
        self._asker = BookAsker(self._host.book)
        session = self._host.session("talk", self._asker)
        async with asyncio.timeout(10):
            ended = await session.run("Go.", tell=self._tell)
        assert ended.status == "answered"
        check_grammar(self.events)

    def _tell(self, event: TurnEvent) -> None:
        self.events.append(event)
        if isinstance(event, CallAsked):
            loop = asyncio.get_running_loop()
            loop.call_soon(self._answer, self._host, self._asker, event.approval)

    @property
    def code(self) -> str:
        (ended,) = of_type(self.events, CallEnded)
        return ended.outcome.error.code if ended.outcome.error else ""

    @property
    def answer(self) -> tuple[bool, str]:
        (asked,) = of_type(self.events, CallAsked)
        (answered,) = of_type(self.events, CallAnswered)
        assert (asked.id, asked.approval) == (answered.id, answered.approval)
        return answered.approved, answered.reason

    @property
    def told(self) -> str:
        return texts(self.model.requests[1].messages)[-1][1]


def test_an_answer_here_is_heard_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "_LOOK", 1000)

    def approve(host: Host, asker: BookAsker, id: str) -> None:
        asker.wake("another")
        host.book.approve(id)
        asker.wake(id)

    asked = Asked(tmp_path, approve)
    assert (asked.code, asked.answer, DONE) == ("", (True, ""), ["x"])
    order = [type(one) for one in of_type(asked.events, CallAsked, CallAnswered, CallBegan)]
    assert order == [CallAsked, CallAnswered, CallBegan]


def test_an_answer_of_another_process_is_heard(tmp_path: Path) -> None:
    def approve(host: Host, asker: BookAsker, id: str) -> None:
        path = host.settings.state / APPROVALS
        program = (
            "import sys; from callblocks.approvals.book import ApprovalBook\n"
            "with ApprovalBook(sys.argv[1]) as book: book.approve_for(sys.argv[2], 5)"
        )
        subprocess.run([sys.executable, "-c", program, path, id], check=True, timeout=120)

    asked = Asked(tmp_path, approve)
    assert (asked.code, asked.answer, DONE) == ("", (True, ""), ["x"])


def test_a_no_is_told_with_its_reason(tmp_path: Path) -> None:
    def deny(host: Host, asker: BookAsker, id: str) -> None:
        host.book.deny(id, "not on Sundays")
        asker.wake(id)

    asked = Asked(tmp_path, deny)
    assert (asked.code, asked.answer, DONE) == ("approval_denied", (False, "not on Sundays"), [])
    assert "approval_denied: act did not run: a person said no: not on Sundays" in asked.told


def test_a_question_that_is_taken_back_is_over(tmp_path: Path) -> None:
    def revoke(host: Host, asker: BookAsker, id: str) -> None:
        host.book.revoke(id)
        asker.wake(id)

    asked = Asked(tmp_path, revoke)
    assert (asked.code, asked.answer, DONE) == ("approval_revoked", (False, ""), [])


def test_a_question_that_nobody_answers_is_over_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "_LOOK", 0.02)
    monkeypatch.setitem(ApprovalBook.__init__.__kwdefaults__ or {}, "ttl", 0.1)
    asked = Asked(tmp_path, lambda host, asker, id: None)
    answer = (False, "nobody answered in 0 seconds")
    assert (asked.code, asked.answer, DONE) == ("approval_expired", answer, [])


def test_a_question_that_the_book_does_not_know_is_over(tmp_path: Path) -> None:
    class Unknown:
        approval_id = "gone"

    with ApprovalBook(tmp_path / "book") as book:
        question: Any = Unknown()
        assert asyncio.run(BookAsker(book)(question)) is None


@pytest.mark.parametrize("verdict", ["yes", "no", "stop"])
def test_an_answer_in_one_chat_is_none_in_another(tmp_path: Path, verdict: str) -> None:
    model = Replies(CALLING, CALLING, "Yes.", "Yes.")

    async def main(host: Host) -> None:
        asker = BookAsker(host.book)
        asked: list[str] = []

        def tell(event: TurnEvent) -> None:
            if isinstance(event, CallAsked):
                asked.append(event.approval)

        one, two = (host.session(name, asker) for name in ("one", "two"))
        first = asyncio.ensure_future(one.run("Go.", tell=tell))
        while len(asked) < 1:
            await asyncio.sleep(0.001)
        other = asyncio.ensure_future(two.run("Go.", tell=tell))
        while len(asked) < 2:
            await asyncio.sleep(0.001)
        assert len(set(asked)) == 2
        match verdict:
            case "yes":
                host.book.approve(asked[0])
            case "no":
                host.book.deny(asked[0])
            case _:
                one.stop()
        asker.wake(asked[0])
        await first
        assert len(DONE) == (verdict == "yes")
        assert [approval.id for approval in host.book.list("pending")] == asked[1:]
        host.book.approve(asked[1])
        asker.wake(asked[1])
        assert (await other).status == "answered"
        assert len(DONE) == 1 + (verdict == "yes")

    with some_host(tmp_path, model, tools=ACTING, policy=ASK_ALL) as host:
        asyncio.run(asyncio.wait_for(main(host), 120))


def test_all_open_questions_have_one_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "_LOOK", 0.01)
    looks: list[str] = []

    async def main(book: ApprovalBook) -> None:
        questions: list[Any] = []
        for at in range(20):
            asked = book.request(fingerprint=str(at), grant_key="", tool="act", shown="act")
            questions.append(SimpleNamespace(approval_id=asked.id))
        asker, get, list_all = BookAsker(book), book.get, book.list
        monkeypatch.setattr(book, "get", lambda id: looks.append("one") or get(id))
        monkeypatch.setattr(book, "list", lambda state: looks.append("all") or list_all(state))
        waiting = [asyncio.ensure_future(asker(one)) for one in questions]
        while looks.count("all") < 3:
            await asyncio.sleep(0.005)
        assert looks.count("one") == 20
        book.approve(questions[3].approval_id)
        answer = await waiting[3]
        assert answer
        assert answer.verdict == "once"
        assert looks.count("one") == 21
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        count = len(looks)
        await asyncio.sleep(0.03)
        assert len(looks) == count

    with ApprovalBook(tmp_path / "book") as book:
        asyncio.run(asyncio.wait_for(main(book), 120))


def test_whoever_waits_is_told_that_the_book_broke(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "_LOOK", 0.01)

    def broken(*_: object) -> None:
        raise ApprovalsUnavailable("approvals: disk I/O error")

    async def main(book: ApprovalBook) -> None:
        asked = book.request(fingerprint="f", grant_key="", tool="act", shown="act")
        question: Any = SimpleNamespace(approval_id=asked.id)
        waiting = asyncio.ensure_future(BookAsker(book)(question))
        await asyncio.sleep(0)
        for name in ("get", "list"):
            monkeypatch.setattr(book, name, broken)
        with pytest.raises(ApprovalsUnavailable):
            await waiting

    with ApprovalBook(tmp_path / "book") as book:
        asyncio.run(asyncio.wait_for(main(book), 120))


class Turns:
    """Turns of one chat, as far as their question."""

    def __init__(self, host: Host) -> None:
        self.session = host.session("talk", BookAsker(host.book))
        self.asked: list[str] = []

    async def ask(self) -> asyncio.Future[Any]:
        task = asyncio.ensure_future(self.session.run("Go.", tell=self.tell))
        await self.until(len(self.asked) + 1)
        return task

    async def until(self, count: int) -> None:
        while len(self.asked) < count:
            await asyncio.sleep(0.001)

    def tell(self, event: TurnEvent) -> None:
        if isinstance(event, CallAsked):
            self.asked.append(event.approval)


@pytest.mark.parametrize("minutes", [None, 0, 5])
def test_a_turn_that_is_stopped_takes_its_question_back(
    tmp_path: Path, minutes: int | None
) -> None:
    async def main(host: Host) -> None:
        turns = Turns(host)
        task = await turns.ask()
        (id,) = turns.asked
        if minutes:
            host.book.approve_for(id, minutes)
        elif minutes == 0:
            host.book.approve(id)
        turns.session.stop()
        assert (await task).status == "stopped"
        now = host.book.get(id)
        assert now
        # A grant is for more than this turn.
        assert now.state == ("approved" if minutes else "revoked")

    model = Replies(CALLING)
    with some_host(tmp_path, model, tools=ACTING, policy=ASK_ALL) as host:
        asyncio.run(asyncio.wait_for(main(host), 120))
    assert DONE == []


def test_a_yes_while_the_turn_is_interrupted_counts_when_it_goes_on(tmp_path: Path) -> None:
    async def interrupt(host: Host) -> str:
        turns = Turns(host)
        task = await turns.ask()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return turns.asked[0]

    async def go_on(host: Host) -> None:
        turns = Turns(host)
        ended = await turns.session.resume(tell=turns.tell)
        assert ended
        assert (ended.status, turns.asked, DONE) == ("answered", [], ["x"])

    model = Replies(CALLING)
    with some_host(tmp_path, model, tools=ACTING, policy=ASK_ALL) as host:
        id = asyncio.run(asyncio.wait_for(interrupt(host), 120))
        assert [one.id for one in host.book.list("pending")] == [id]
        host.book.approve(id)
    model.begin("Yes.")
    with some_host(tmp_path, model, tools=ACTING, policy=ASK_ALL) as host:
        asyncio.run(asyncio.wait_for(go_on(host), 120))


def test_a_no_in_one_turn_is_none_in_the_next(tmp_path: Path) -> None:
    async def main(host: Host) -> None:
        turns = Turns(host)
        for verdict in (host.book.deny, host.book.approve):
            task = await turns.ask()
            verdict(turns.asked[-1])
            assert (await task).status == "answered"

    model = Replies(CALLING, "No.", CALLING, "Yes.")
    with some_host(tmp_path, model, tools=ACTING, policy=ASK_ALL) as host:
        asyncio.run(asyncio.wait_for(main(host), 120))
    assert DONE == ["x"]


def test_where_nobody_is_asked_a_later_yes_is_for_the_next_turn_of_the_chat(
    tmp_path: Path,
) -> None:
    model = Replies(CALLING, "No.", CALLING, "No.", CALLING, "Yes.")
    with some_host(tmp_path, model, tools=ACTING, policy=ASK_ALL) as host:
        for name, done in (("talk", []), ("other", []), ("talk", ["x"])):
            asyncio.run(host.session(name).run("Go.", tell=lambda event: None))
            assert done == DONE
            if name == "talk" and not done:
                host.book.approve(host.book.list("pending")[0].id)


def test_without_anybody_to_ask_the_question_stays_in_the_book(tmp_path: Path) -> None:
    model = Replies(CALLING, "Yes.")
    with some_host(tmp_path, model, tools=ACTING, policy=ASK_ALL) as host:
        asyncio.run(host.session("talk").run("Go.", tell=lambda event: None))
        (waiting,) = host.book.list("pending")
        assert f"it waits as {waiting.id}" in texts(model.requests[1].messages)[-1][1]
    assert DONE == []


def test_a_yes_for_a_turn_that_was_given_up_is_none_for_the_next(tmp_path: Path) -> None:
    async def main(host: Host) -> None:
        turns = Turns(host)
        task = await turns.ask()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        host.book.approve(turns.asked[0])
        task = await turns.ask()
        turns.session.stop()
        await task

    model = Replies(CALLING, CALLING)
    with some_host(tmp_path, model, tools=ACTING, policy=ASK_ALL) as host:
        asyncio.run(asyncio.wait_for(main(host), 120))
    assert DONE == []


def test_one_of_two_who_wait_for_an_answer_may_leave(tmp_path: Path) -> None:
    async def wait(book: ApprovalBook, id: str) -> object:
        asker = BookAsker(book)
        question: Any = SimpleNamespace(approval_id=id)
        leaving, staying = (asyncio.create_task(asker(question)) for _ in range(2))
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.sleep(0)
        book.approve(id)
        asker.wake(id)
        async with asyncio.timeout(10):
            return await staying

    with ApprovalBook(tmp_path / "book") as book:
        asked = book.request(fingerprint="1", grant_key="", tool="act", shown="act")
        answer: Any = asyncio.run(wait(book, asked.id))
    assert answer.verdict == "once"
