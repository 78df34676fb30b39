from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from callblocks.approvals.approval import ApprovalsUnavailable, BadApproval, HiddenCall
from callblocks.cluster.cluster_database import Database, prepare_cluster
from callblocks.cluster.shared_state import (
    SharedBook,
    SharedJournal,
    SharedParts,
    shared_limits,
    shared_token,
)
from callblocks.cluster.turns import ClusterLimits
from callblocks.cluster.wakeups import Wakeups
from callblocks.core.errors import CallerError
from callblocks.core.outcomes import Outcome
from callblocks.runtime.journal import Intent, JournalUnavailable
from callblocks.timeline.log.postgres_store import PostgresStore
from callblocks.timeline.timeline import turns_folder
from support.postgres import connect, fresh_database
from support.stores import block


@pytest.fixture
def address() -> Iterator[str]:
    with fresh_database() as address:
        PostgresStore(address).close()
        prepare_cluster(address)
        yield address


@pytest.fixture
def databases(address: str) -> Iterator[tuple[Database, Database]]:
    both = Database(address), Database(address)
    yield both
    for one in both:
        one.close()


def intent(call: str = "c1") -> Intent:
    return Intent(key=f"k-{call}", turn="trip.turn_1.ab", call=call, tool="note", input={"a": "\0"})


def test_a_question_of_one_machine_is_answered_and_used_on_others_once(
    databases: tuple[Database, Database],
) -> None:
    here, there = map(SharedBook, databases)
    asked = here.request(fingerprint="f", grant_key="g", tool="rm", shown="rm build/: 100 %s")
    assert there.request(fingerprint="f", grant_key="g", tool="rm", shown="rm").id == asked.id
    assert [one.id for one in there.list("pending")] == [asked.id]
    assert there.approve(asked.id).state == "approved"
    with ThreadPoolExecutor(8) as threads:
        taken = list(threads.map(lambda book: book.take("f", "g").ok, [here, there] * 8))
    assert taken.count(True) == 1
    with pytest.raises(BadApproval):
        here.approve(asked.id)


def test_a_grant_a_denial_and_a_hidden_call_are_as_in_a_file(
    databases: tuple[Database, Database],
) -> None:
    here, there = map(SharedBook, databases)
    granted = here.request(fingerprint="f", grant_key="g", tool="rm", shown="rm a")
    there.approve_for(granted.id, 5)
    assert here.take("other", "g").ok
    assert there.revoke(granted.id).state == "revoked"
    assert not here.take("other", "g").ok
    denied = here.request(fingerprint="d", grant_key="h", tool="rm", shown="rm b", tainted=True)
    there.deny(denied.id, "not today")
    taken = here.redeem(denied.id, "d", "h")
    assert taken.approval is not None
    assert (taken.status, taken.approval.reason) == ("denied", "not today")
    hidden = here.request(fingerprint="x", grant_key="y", tool="rm", shown="rm", is_whole=False)
    with pytest.raises(HiddenCall):
        there.approve(hidden.id)


def test_a_question_expires_by_the_clock_of_the_server(
    address: str, databases: tuple[Database, Database]
) -> None:
    book = SharedBook(databases[0])
    asked = book.request(fingerprint="f", grant_key="g", tool="rm", shown="rm a")
    with connect(address) as connection:
        connection.execute("update callblocks_approvals set expires_at = expires_at - 600")
    found = book.get(asked.id)
    assert found is not None
    assert found.state == "expired"
    with connect(address) as connection:
        connection.execute("update callblocks_approvals set asked_at = 0, expires_at = 0")
    assert book.forget_old(60) == 1
    assert book.get(asked.id) is None


def test_a_book_without_its_server_is_unavailable(databases: tuple[Database, Database]) -> None:
    databases[0].close()
    with pytest.raises(ApprovalsUnavailable):
        SharedBook(databases[0]).list()


def test_an_effect_begins_once_and_its_outcome_is_kept(
    address: str, databases: tuple[Database, Database]
) -> None:
    with PostgresStore(address) as store:
        store.append("trip", [block("a")], fence=3)
    here, there = (SharedJournal(one).claimed("trip", 3) for one in databases)
    assert here.begin(intent()) is None
    past = there.begin(intent())
    assert past is not None
    assert past.intent == intent()
    # No turn of that fence runs any more.
    assert [one.intent.call for one in there.indeterminate()] == ["c1"]
    outcome = Outcome(id="c1", name="note", output="noted")
    here.end("k-c1", outcome)
    assert [one.outcome for one in there.of_turn("trip.turn_1.ab")] == [outcome]
    assert there.indeterminate() == []
    assert [one.state for one in there.entries()] == ["ended"]
    assert there.forget_old(60) == 0
    assert there.forget_old(-60) == 1


def test_whoever_lost_the_turn_begins_no_effect(
    address: str, databases: tuple[Database, Database]
) -> None:
    old, new = (SharedJournal(one).claimed("trip", at) for at, one in enumerate(databases, 3))
    with PostgresStore(address) as store:
        store.append("trip", [block("a")], fence=3)
        assert old.begin(intent("c1")) is None
        store.append("trip", [block("b")], fence=4)
    with pytest.raises(JournalUnavailable):
        old.begin(intent("c2"))
    with pytest.raises(JournalUnavailable):
        old.again("k-c1")
    new.again("k-c1")
    assert new.begin(intent("c2")) is None
    assert not new.forget("k-")
    assert new.forget("k-c2")
    assert new.find("k-c2") is None


def test_all_replicas_know_the_same_token(address: str) -> None:
    assert shared_token(address) == shared_token(address) != ""


def test_limits_are_those_of_the_cluster_and_wrong_ones_are_refused(address: str) -> None:
    assert shared_limits(address) == ClusterLimits()
    assert shared_limits(address, ["running=7", "poll=0.5"]).running == 7
    limits = shared_limits(address)
    assert (limits.running, limits.poll, limits.turns) == (7, 0.5, ClusterLimits().turns)
    for given, words in (
        ("walking=7", "no limit has the name"),
        ("running=many", "is no number"),
        ("running", "is no number"),
        ("running=0", "above 0"),
        ("rate=-1", "below 0"),
        ("silence=0.1", "at least 2"),
        ("poll=nan", "above 0"),
    ):
        with pytest.raises(CallerError, match=words):
            shared_limits(address, [given])
    assert shared_limits(address) == limits


def test_a_working_copy_is_kept_only_by_who_had_the_last_claim(
    address: str, tmp_path: Path
) -> None:
    wakeups = Wakeups(address)
    here, there = (
        SharedParts(Database(address), wakeups, tmp_path / name) for name in ("here", "there")
    )
    folder = turns_folder(tmp_path / "here", "trip", address)
    here.renew_copy("trip", 0, 5)
    folder.mkdir()
    here.renew_copy("trip", 5, 7)
    assert folder.exists()
    there.renew_copy("trip", 7, 9)
    here.renew_copy("trip", 9, 11)
    assert not folder.exists()
    wakeups.close()
