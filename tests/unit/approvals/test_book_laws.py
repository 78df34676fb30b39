"""The book against a plain model of it, through two openings of one file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from callblocks.approvals.approval import BadApproval
from callblocks.approvals.book import ApprovalBook

TTL = 100.0
CALLS = st.sampled_from(("f1", "f2", "f3"))
KINDS = st.sampled_from(("clean", "tainted"))
BOOKS = st.integers(0, 1)


class Books(RuleBasedStateMachine):
    """What was approved is used at most once, in time, and by its own call."""

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "book.db"
        self.now = 1000.0
        self.books = [
            ApprovalBook(path, ttl=TTL, clock=self.clock, steady=self.clock, boot=lambda: "b")
            for _ in range(2)
        ]
        self.model: dict[str, dict[str, Any]] = {}
        self.uses: dict[str, int] = {}

    def clock(self) -> float:
        return self.now

    def teardown(self) -> None:
        for book in getattr(self, "books", ()):
            book.close()
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def expire(self) -> None:
        for one in self.model.values():
            if one["state"] in ("pending", "approved") and one["until"] <= self.now:
                one["state"] = "expired"

    @rule(book=BOOKS, call=CALLS, kind=KINDS)
    def ask(self, book: int, call: str, kind: str) -> None:
        self.expire()
        asked = self.books[book].request(fingerprint=call, grant_key=kind, tool="t", shown="s")
        known = self.model.get(asked.id)
        if known is not None:
            assert (known["state"], known["call"], known["kind"]) == ("pending", call, kind)
            return
        for one in self.model.values():
            if one["call"] == call and one["state"] == "pending":
                assert one["kind"] != kind
                one["state"] = "expired"
        self.model[asked.id] = {
            "call": call,
            "kind": kind,
            "state": "pending",
            "minutes": 0,
            "until": self.now + TTL,
        }

    @precondition(lambda self: self.model)
    @rule(book=BOOKS, data=st.data(), how=st.sampled_from(("approve", "deny", "revoke", "grant")))
    def answer(self, book: int, data: st.DataObject, how: str) -> None:
        self.expire()
        id = data.draw(st.sampled_from(sorted(self.model)))
        one = self.model[id]
        fine = one["state"] == "pending" or (how == "revoke" and one["state"] == "approved")
        try:
            if how == "grant":
                self.books[book].approve_for(id, 5)
            else:
                getattr(self.books[book], how)(id)
        except BadApproval:
            assert not fine
            return
        assert fine
        if how == "revoke":
            one["state"] = "revoked"
            return
        minutes = 5 if how == "grant" else 0
        one["state"] = "denied" if how == "deny" else "approved"
        one["minutes"] = minutes
        one["until"] = self.now + (minutes * 60 or TTL)

    @rule(seconds=st.sampled_from((1.0, 50.0, 100.0, 300.0)))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(book=BOOKS, call=CALLS, kind=KINDS)
    def take(self, book: int, call: str, kind: str) -> None:
        self.expire()
        taken = self.books[book].take(call, kind)
        ready = [id for id, one in self.model.items() if self.allows(one, call, kind)]
        if self.is_denied(call):
            assert taken.status == "denied"
        elif ready:
            assert taken.approval is not None
            assert taken.ok
            self.use(taken.approval.id, ready)
        else:
            assert not taken.ok

    @precondition(lambda self: self.model)
    @rule(book=BOOKS, data=st.data(), call=CALLS, kind=KINDS)
    def redeem(self, book: int, data: st.DataObject, call: str, kind: str) -> None:
        self.expire()
        id = data.draw(st.sampled_from(sorted(self.model)))
        taken = self.books[book].redeem(id, call, kind)
        fine = self.allows(self.model[id], call, kind) and not self.is_denied(call)
        assert taken.ok == fine
        if fine:
            self.use(id, [id])

    def allows(self, one: dict[str, Any], call: str, kind: str) -> bool:
        mine = one["kind"] == kind if one["minutes"] else one["call"] == call
        return one["state"] == "approved" and mine

    def is_denied(self, call: str) -> bool:
        answered = ("approved", "used", "denied")
        same = [one for one in self.model.values() if one["call"] == call]
        last = [one for one in same if one["state"] in answered][-1:]
        return any(one["state"] == "denied" and self.now < one["until"] for one in last)

    def use(self, id: str, ready: list[str]) -> None:
        assert id in ready
        if not self.model[id]["minutes"]:
            self.model[id]["state"] = "used"
            self.uses[id] = self.uses.get(id, 0) + 1

    @invariant()
    def nothing_is_used_twice(self) -> None:
        assert all(count == 1 for count in getattr(self, "uses", {}).values())

    @invariant()
    def the_file_says_what_the_model_says(self) -> None:
        if hasattr(self, "books"):
            self.expire()
            states = {one.id: one.state for one in self.books[0].list()}
            assert states == {id: one["state"] for id, one in self.model.items()}


TestBooks = Books.TestCase
TestBooks.settings = settings(max_examples=15, stateful_step_count=40, deadline=None)
