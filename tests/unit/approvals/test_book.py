from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from callblocks.approvals.approval import Approval, BadApproval, Taken
from callblocks.approvals.book import TTL, ApprovalBook, boot_id, steady_time
from support.policies import sqlite_of

START = 1_000_000.0


class Clocks:
    """A wall clock and a steady one, which a test moves."""

    def __init__(self) -> None:
        self.wall = START
        self.steady = 50.0
        self.boot = "this start"

    def pass_by(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


@pytest.fixture
def book(clocks: Clocks) -> Iterator[ApprovalBook]:
    with ApprovalBook(
        ":memory:",
        ttl=100,
        clock=lambda: clocks.wall,
        steady=lambda: clocks.steady,
        boot=lambda: clocks.boot,
    ) as opened:
        yield opened


def ask(book: ApprovalBook, fingerprint: str = "f", grant_key: str = "g", **more: Any) -> Approval:
    return book.request(
        **{"tool": "act", "shown": "act now", **more}, fingerprint=fingerprint, grant_key=grant_key
    )


def status(book: ApprovalBook, fingerprint: str = "f", grant_key: str = "g") -> str:
    return book.take(fingerprint, grant_key).status


def test_a_question_is_written_down(book: ApprovalBook) -> None:
    asked = ask(book, tainted=True)
    assert asked == Approval(
        id=asked.id,
        state="pending",
        fingerprint="f",
        grant_key="g",
        tool="act",
        shown="act now",
        asked_at=START,
        answered_at=0.0,
        expires_at=START + 100,
        reason="",
        minutes=0,
        tainted=True,
    )
    assert len(asked.id) == 16
    assert book.get(asked.id) == asked
    assert book.list() == (asked,)
    assert ask(book, "other").tainted is False


def test_ids_are_never_the_same(book: ApprovalBook) -> None:
    assert len({ask(book, str(number)).id for number in range(50)}) == 50


def test_an_open_question_is_asked_once(book: ApprovalBook, clocks: Clocks) -> None:
    asked = ask(book)
    clocks.pass_by(99)
    assert ask(book) == asked
    clocks.pass_by(1)
    again = ask(book)
    assert (again.id != asked.id, again.state) == (True, "pending")
    assert [one.state for one in book.list()] == ["expired", "pending"]


def test_a_question_from_a_turn_of_the_other_kind_closes_the_first(book: ApprovalBook) -> None:
    asked = ask(book, grant_key="clean")
    again = ask(book, grant_key="tainted", tainted=True)
    assert again.id != asked.id
    assert [one.state for one in book.list()] == ["expired", "pending"]
    with pytest.raises(BadApproval, match=f"^approval {asked.id} is expired: "):
        book.approve_for(asked.id, 30)


def test_an_answered_question_may_be_asked_again(book: ApprovalBook) -> None:
    asked = ask(book)
    book.approve(asked.id)
    assert ask(book).id != asked.id


def test_no_secret_is_kept(book: ApprovalBook) -> None:
    asked = ask(book, shown="login password=hunter22", tool="x password=hunter22")
    assert "hunter22" not in asked.shown + asked.tool
    assert "hunter22" not in book.deny(asked.id, "password=hunter22 is wrong").reason


def test_half_characters_are_kept_as_they_look(book: ApprovalBook) -> None:
    asked = ask(book, shown="a\ud800b", tool="\udfff")
    assert (asked.shown, asked.tool) == ("a\\ud800b", "\\udfff")
    assert book.deny(asked.id, "\ud800").reason == "\\ud800"
    assert book.get("\udcff") is None


def test_an_approval_counts_once(book: ApprovalBook, clocks: Clocks) -> None:
    asked = ask(book)
    clocks.pass_by(10)
    approved = book.approve(asked.id)
    assert (approved.state, approved.minutes, approved.reason) == ("approved", 0, "")
    assert (approved.asked_at, approved.answered_at) == (START, START + 10)
    assert approved.expires_at == START + 110
    taken = book.take("f", "g")
    assert taken.ok
    used = book.get(asked.id)
    assert taken == Taken(status="used", approval=used)
    assert used is not None
    assert used.state == "used"
    again = book.take("f", "g")
    assert (again.status, again.approval) == ("none", used)


def test_two_approvals_of_one_call_count_twice_oldest_first(book: ApprovalBook) -> None:
    first = ask(book)
    book.approve(first.id)
    second = ask(book)
    book.approve(second.id)
    taken = [book.take("f", "g").approval for _ in range(2)]
    assert [one.id for one in taken if one] == [first.id, second.id]
    assert status(book) == "none"


def test_an_approval_is_for_its_call_only(book: ApprovalBook) -> None:
    book.approve(ask(book).id)
    assert status(book, "other") == "none"
    assert book.take("other", "g").approval is None
    assert status(book, "f", "other") == "used"


def test_nothing_asked_is_nothing_approved(book: ApprovalBook) -> None:
    assert book.take("f", "g") == Taken(status="none")
    assert book.list() == ()
    assert book.get("no such id") is None


def test_an_open_question_approves_nothing(book: ApprovalBook) -> None:
    asked = ask(book)
    assert book.take("f", "g") == Taken(status="pending", approval=asked)


@pytest.mark.parametrize(("waited", "found"), [(99.5, "used"), (100, "expired"), (101, "expired")])
def test_an_approval_is_used_in_time(
    book: ApprovalBook, clocks: Clocks, waited: float, found: str
) -> None:
    book.approve(ask(book).id)
    clocks.pass_by(waited)
    assert status(book) == found


@pytest.mark.parametrize(("waited", "late"), [(99.5, False), (100, True)])
def test_an_answer_comes_in_time(
    book: ApprovalBook, clocks: Clocks, waited: float, late: bool
) -> None:
    asked = ask(book)
    clocks.pass_by(waited)
    if not late:
        assert book.approve(asked.id).expires_at == START + waited + 100
        return
    for answer in (book.approve, book.deny, book.revoke, lambda id: book.approve_for(id, 5)):
        with pytest.raises(BadApproval, match=f"^approval {asked.id} is expired: it cannot be "):
            answer(asked.id)
    assert status(book) == "expired"


def test_the_clock_that_expired_an_approval_cannot_bring_it_back(
    book: ApprovalBook, clocks: Clocks
) -> None:
    approved = book.approve(ask(book).id)
    clocks.pass_by(100)
    assert book.list("expired") != ()
    clocks.pass_by(-100)
    assert status(book) == "expired"
    with pytest.raises(BadApproval):
        book.revoke(approved.id)


def test_an_answer_that_comes_too_late_expires_the_question_for_good(
    book: ApprovalBook, clocks: Clocks
) -> None:
    asked = ask(book)
    clocks.pass_by(100)
    with pytest.raises(BadApproval):
        book.approve(asked.id)
    clocks.pass_by(-100)
    with pytest.raises(BadApproval, match="is expired"):
        book.approve(asked.id)


@pytest.mark.parametrize(("steady", "found"), [(99.5, "used"), (100, "expired")])
def test_a_wall_clock_that_goes_back_wins_no_time(
    book: ApprovalBook, clocks: Clocks, steady: float, found: str
) -> None:
    book.approve(ask(book).id)
    clocks.wall -= 5000
    clocks.steady += steady
    assert status(book) == found


def test_a_wall_clock_that_goes_ahead_expires(book: ApprovalBook, clocks: Clocks) -> None:
    book.approve(ask(book).id)
    clocks.wall += 100
    assert status(book) == "expired"


@pytest.mark.parametrize(
    ("wall", "found"), [(0, "used"), (99.5, "used"), (100, "expired"), (-0.5, "expired")]
)
@pytest.mark.parametrize("boot", ["next start", ""])
def test_after_a_restart_the_wall_clock_decides_and_must_not_be_behind(
    book: ApprovalBook, clocks: Clocks, wall: float, found: str, boot: str
) -> None:
    book.approve(ask(book).id)
    clocks.boot = boot
    clocks.steady = 99_999.0
    clocks.wall += wall
    assert status(book) == found


@pytest.mark.parametrize(("wall", "found"), [(1, "used"), (-1, "expired")])
def test_where_no_start_has_a_name_the_wall_clock_decides(
    book: ApprovalBook, clocks: Clocks, wall: float, found: str
) -> None:
    clocks.boot = ""
    book.approve(ask(book).id)
    clocks.steady = 99_999.0
    clocks.wall += wall
    assert status(book) == found


def test_time_counts_from_the_answer_and_not_from_the_question(
    book: ApprovalBook, clocks: Clocks
) -> None:
    asked = ask(book)
    clocks.pass_by(60)
    clocks.boot = "next start"
    book.approve(asked.id)
    clocks.pass_by(60)
    assert status(book) == "used"


def test_an_answer_counts_by_the_start_in_which_it_was_given(
    book: ApprovalBook, clocks: Clocks
) -> None:
    asked = ask(book)
    clocks.boot = "next start"
    book.approve(asked.id)
    clocks.wall -= 10
    assert status(book) == "used"


def test_after_a_restart_a_clock_behind_the_answer_expires_it(
    book: ApprovalBook, clocks: Clocks
) -> None:
    asked = ask(book)
    clocks.pass_by(60)
    book.approve(asked.id)
    clocks.boot = "next start"
    clocks.pass_by(-30)
    assert status(book) == "expired"


@pytest.mark.parametrize("minutes", [5, 10, 30])
def test_a_grant_counts_for_every_call_of_the_tool_until_it_expires(
    book: ApprovalBook, clocks: Clocks, minutes: int
) -> None:
    granted = book.approve_for(ask(book).id, minutes)
    assert (granted.state, granted.minutes) == ("approved", minutes)
    assert granted.expires_at == START + minutes * 60
    for fingerprint in ("f", "other", "f"):
        assert book.take(fingerprint, "g") == Taken(status="used", approval=granted)
    clocks.pass_by(minutes * 60 - 0.5)
    assert status(book) == "used"
    clocks.pass_by(0.5)
    assert status(book) == "expired"
    assert status(book, "other") == "expired"


def test_a_grant_is_for_its_key_only(book: ApprovalBook) -> None:
    book.approve_for(ask(book, grant_key="clean").id, 5)
    assert book.take("other", "tainted") == Taken(status="none")
    assert status(book, "f", "tainted") == "none"


def test_an_approval_for_once_is_used_before_a_grant(book: ApprovalBook) -> None:
    once = book.approve(ask(book).id)
    granted = book.approve_for(ask(book, "other").id, 5)
    taken = [book.take("f", "g").approval for _ in range(2)]
    assert [one.id for one in taken if one] == [once.id, granted.id]


def test_an_approval_for_once_is_no_grant(book: ApprovalBook) -> None:
    book.approve(ask(book).id)
    assert book.take("other", "g") == Taken(status="none")


def test_the_newest_grant_is_used(book: ApprovalBook) -> None:
    book.approve_for(ask(book).id, 5)
    newer = book.approve_for(ask(book, "other").id, 10)
    taken = book.take("third", "g").approval
    assert taken is not None
    assert taken.id == newer.id


@pytest.mark.parametrize("minutes", [0, 1, -5, 15, 60, math.inf, None, "5"])
def test_a_grant_is_for_no_other_time(book: ApprovalBook, minutes: Any) -> None:
    asked = ask(book)
    with pytest.raises(BadApproval, match=r"^a grant is for 5, 10 or 30 minutes, not "):
        book.approve_for(asked.id, minutes)
    assert status(book) == "pending"


def test_a_no_is_told_with_its_reason(book: ApprovalBook, clocks: Clocks) -> None:
    asked = ask(book)
    clocks.pass_by(10)
    denied = book.deny(asked.id, "not today")
    assert (denied.state, denied.reason, denied.minutes) == ("denied", "not today", 0)
    assert (denied.answered_at, denied.expires_at) == (START + 10, START + 110)
    taken = book.take("f", "g")
    assert taken == Taken(status="denied", approval=denied)
    assert taken.reason == "not today"
    assert status(book, "other") == "none"


def test_a_no_needs_no_reason(book: ApprovalBook) -> None:
    assert book.deny(ask(book).id).reason == ""


@pytest.mark.parametrize(("waited", "found"), [(99.5, "denied"), (100, "none")])
def test_a_no_stands_for_a_while(
    book: ApprovalBook, clocks: Clocks, waited: float, found: str
) -> None:
    denied = book.deny(ask(book).id)
    clocks.pass_by(waited)
    assert status(book) == found
    assert book.get(denied.id) == denied


def test_a_no_stands_against_a_grant(book: ApprovalBook, clocks: Clocks) -> None:
    book.deny(ask(book).id)
    book.approve_for(ask(book, "other").id, 10)
    assert status(book) == "denied"
    assert status(book, "third") == "used"
    clocks.pass_by(100)
    assert status(book) == "used"


def test_a_no_stands_against_an_older_yes(book: ApprovalBook) -> None:
    approved = book.approve(ask(book).id)
    book.deny(ask(book).id)
    assert status(book) == "denied"
    assert book.redeem(approved.id, "f").status == "denied"


def test_a_no_stands_while_it_is_asked_again(book: ApprovalBook) -> None:
    book.deny(ask(book).id)
    again = ask(book)
    assert status(book) == "denied"
    book.approve(again.id)
    assert status(book) == "used"
    assert status(book) == "none"


def test_a_yes_that_was_taken_back_does_not_lift_a_no(book: ApprovalBook) -> None:
    book.deny(ask(book).id)
    book.revoke(book.approve(ask(book).id).id)
    assert status(book) == "denied"


def test_what_was_taken_back_does_not_count(book: ApprovalBook) -> None:
    revoked = book.revoke(book.approve(ask(book).id).id)
    assert revoked.state == "revoked"
    assert book.take("f", "g") == Taken(status="revoked", approval=revoked)
    assert status(book, "other") == "none"


def test_a_grant_can_be_taken_back(book: ApprovalBook) -> None:
    granted = book.approve_for(ask(book).id, 30)
    assert status(book, "other") == "used"
    book.revoke(granted.id)
    assert status(book) == "revoked"
    assert status(book, "other") == "revoked"


def test_the_last_that_happened_is_told(book: ApprovalBook) -> None:
    book.revoke(ask(book).id)
    used = book.approve(ask(book).id)
    assert [status(book), status(book)] == ["used", "none"]
    assert used.id == book.list()[-1].id


def test_a_question_can_be_taken_back(book: ApprovalBook) -> None:
    book.revoke(ask(book).id)
    assert status(book) == "revoked"
    assert ask(book).state == "pending"


def reach(book: ApprovalBook, state: str) -> str:
    id = ask(book).id
    match state:
        case "approved":
            book.approve(id)
        case "granted":
            book.approve_for(id, 5)
        case "denied":
            book.deny(id)
        case "used":
            book.approve(id)
            book.take("f", "g")
        case _:
            book.revoke(id)
    return id


@pytest.mark.parametrize("state", ["approved", "granted", "denied", "used", "revoked"])
def test_a_question_is_answered_once(book: ApprovalBook, state: str) -> None:
    id = reach(book, state)
    before = book.get(id)
    word = "approved" if state == "granted" else state
    for answer in (book.approve, book.deny, lambda id: book.approve_for(id, 5)):
        with pytest.raises(
            BadApproval, match=f"^approval {id} is {word}: it cannot be answered any more$"
        ):
            answer(id)
    assert book.get(id) == before


@pytest.mark.parametrize("state", ["denied", "used", "revoked"])
def test_what_is_over_cannot_be_taken_back(book: ApprovalBook, state: str) -> None:
    id = reach(book, state)
    with pytest.raises(
        BadApproval, match=f"^approval {id} is {state}: it cannot be taken back any more$"
    ):
        book.revoke(id)


def test_an_id_that_is_none_is_the_callers_mistake(book: ApprovalBook) -> None:
    for answer in (book.approve, book.deny, book.revoke, lambda id: book.approve_for(id, 5)):
        with pytest.raises(BadApproval, match=r"^no approval 'nobody'; list them to see the ids$"):
            answer("nobody")


def test_an_approval_is_redeemed_once_for_its_call(book: ApprovalBook) -> None:
    approved = book.approve(ask(book).id)
    assert book.redeem(approved.id, "changed", "g") == Taken(status="mismatch", approval=approved)
    assert book.redeem(approved.id, "f").status == "used"
    again = book.redeem(approved.id, "f")
    assert (again.status, again.code) == ("none", "approval_required")
    assert again.approval is not None
    assert again.approval.state == "used"


def test_redeeming_uses_the_approval_that_is_named(book: ApprovalBook) -> None:
    first = book.approve(ask(book).id)
    second = book.approve(ask(book).id)
    assert book.redeem(second.id, "f").ok
    states = [one.state for one in book.list()]
    assert (first.state, states) == ("approved", ["approved", "used"])


def test_a_grant_is_redeemed_for_its_key(book: ApprovalBook) -> None:
    granted = book.approve_for(ask(book).id, 5)
    for _ in range(2):
        assert book.redeem(granted.id, "other", "g") == Taken(status="used", approval=granted)
    assert book.redeem(granted.id, "f", "tainted").status == "mismatch"
    assert book.redeem(granted.id, "f").status == "mismatch"


def test_a_no_stands_against_redeeming_a_grant(book: ApprovalBook) -> None:
    granted = book.approve_for(ask(book, "other").id, 5)
    denied = book.deny(ask(book).id, "no")
    assert book.redeem(granted.id, "f", "g") == Taken(status="denied", approval=denied)


def test_what_does_not_count_is_not_redeemed(book: ApprovalBook, clocks: Clocks) -> None:
    assert book.redeem("nobody", "f") == Taken(status="none")
    pending = ask(book, "pending")
    assert book.redeem(pending.id, "pending") == Taken(status="pending", approval=pending)
    revoked = book.revoke(ask(book, "revoked").id)
    assert book.redeem(revoked.id, "revoked") == Taken(status="revoked", approval=revoked)
    denied = book.deny(ask(book, "denied").id)
    assert book.redeem(denied.id, "denied") == Taken(status="denied", approval=denied)
    approved = book.approve(ask(book, "late").id)
    clocks.pass_by(100)
    assert book.redeem(approved.id, "late").status == "expired"
    assert book.redeem(denied.id, "denied").status == "denied"


def test_the_list_can_be_of_one_state(book: ApprovalBook) -> None:
    first, second, third = (ask(book, name) for name in "abc")
    denied = book.deny(second.id)
    assert book.list() == (first, denied, third)
    assert book.list("denied") == (denied,)
    assert book.list("pending") == (first, third)
    assert book.list("used") == ()


@pytest.mark.parametrize("ttl", [0, -1, math.inf, math.nan])
def test_an_approval_lives_for_some_time(ttl: float) -> None:
    with pytest.raises(BadApproval, match=r"^an approval lives for some seconds, not "):
        ApprovalBook(":memory:", ttl=ttl)


def test_an_approval_may_live_for_less_than_a_second() -> None:
    with ApprovalBook(":memory:", ttl=0.5) as book:
        asked = ask(book)
        assert asked.expires_at == asked.asked_at + 0.5


def test_by_default_ten_minutes_by_the_clocks_of_the_machine() -> None:
    assert TTL == 600
    with ApprovalBook(":memory:") as book:
        before = steady_time()
        asked = ask(book)
        assert asked.expires_at == asked.asked_at + 600
        rows = sqlite_of(book).execute("SELECT boot, steady_expires FROM approvals")
        boot, steady = rows.fetchone()
        assert boot == boot_id()
        assert before + 600 <= steady <= steady_time() + 600
