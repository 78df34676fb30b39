"""A person answers elsewhere: what the book of approvals says then counts."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callblocks.model.calls import Call
from callblocks.model.turn_events import CallAnswered, CallAsked, CallBegan, CallEnded, TurnEvent
from callblocks.runtime.approvals.book import ApprovalBook
from callblocks.session import asking
from callblocks.session.asking import BookAsker
from callblocks.session.host import Host
from callblocks.timeline.layout import APPROVALS
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from support.speaking import ASK_ALL, Replies, check_grammar, of_type, some_host, texts, write

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
            "import sys; from callblocks.runtime.approvals.book import ApprovalBook\n"
            "with ApprovalBook(sys.argv[1]) as book: book.approve_for(sys.argv[2], 5)"
        )
        subprocess.run([sys.executable, "-c", program, path, id], check=True, timeout=30)

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
    assert (asked.code, asked.answer, DONE) == ("approval_expired", (False, ""), [])


def test_a_question_that_the_book_does_not_know_is_over(tmp_path: Path) -> None:
    class Unknown:
        approval_id = "gone"

    with ApprovalBook(tmp_path / "book") as book:
        question: Any = Unknown()
        assert asyncio.run(BookAsker(book)(question)) is None


def test_two_who_wait_for_the_same_answer_both_hear_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "_LOOK", 1000)
    model = Replies(CALLING, CALLING, "Yes.", "Yes.")

    async def main(host: Host) -> None:
        asker = BookAsker(host.book)
        asked: list[str] = []

        def tell(event: TurnEvent) -> None:
            if isinstance(event, CallAsked):
                asked.append(event.approval)

        both = [
            asyncio.ensure_future(host.session(name, asker).run("Go.", tell=tell))
            for name in ("one", "two")
        ]
        while len(asked) < 2:
            await asyncio.sleep(0.001)
        assert len(set(asked)) == 1
        host.book.approve_for(asked[0], 5)
        asker.wake(asked[0])
        async with asyncio.timeout(10):
            assert [one.status for one in await asyncio.gather(*both)] == ["answered", "answered"]

    with some_host(tmp_path, model, tools=ACTING, policy=ASK_ALL) as host:
        asyncio.run(main(host))
    assert DONE == ["x", "x"]


def test_without_anybody_to_ask_the_question_stays_in_the_book(tmp_path: Path) -> None:
    model = Replies(CALLING, "Yes.")
    with some_host(tmp_path, model, tools=ACTING, policy=ASK_ALL) as host:
        asyncio.run(host.session("talk").run("Go.", tell=lambda event: None))
        (waiting,) = host.book.list("pending")
        assert f"it waits as {waiting.id}" in texts(model.requests[1].messages)[-1][1]
    assert DONE == []
