"""What is over is not kept for ever; what still counts is."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from callblocks.approvals.book import ApprovalBook
from callblocks.core.outcomes import Outcome
from callblocks.runtime.journal import Intent, Journal
from callblocks.timeline.timeline import APPROVALS, JOURNAL
from support.scripted_sessions import Replies, some_host

LONG_AGO = 1_000_000_000.0


def _fill(state: Path) -> None:
    """Write an approval and two entries of the journal, long ago and now."""
    state.mkdir(mode=0o700)
    for name, now in (("old", LONG_AGO), ("new", time.time())):
        with ApprovalBook(state / APPROVALS, clock=lambda now=now: now) as book:
            book.request(fingerprint=name, grant_key=name, tool=name, shown=name)
        journal = Journal(state / JOURNAL, clock=lambda now=now: now)
        for key in (f"{name}-ended", f"{name}-open"):
            journal.begin(Intent(key=key, turn="t", call="c", tool=name, input={}))
        journal.end(f"{name}-ended", Outcome(id="c", name=name))
        journal.close()


@pytest.mark.parametrize(
    ("days", "approvals", "intents"),
    [
        (90.0, {"new"}, {"new-ended", "new-open", "old-open"}),
        (None, {"new", "old"}, {"new-ended", "new-open", "old-ended", "old-open"}),
    ],
)
def test_old_approvals_and_ended_intents_are_deleted(
    tmp_path: Path, days: float | None, approvals: set[str], intents: set[str]
) -> None:
    _fill(tmp_path / "state")
    with some_host(tmp_path, Replies(), retention_days=days) as host:
        assert {one.tool for one in host.book.list()} == approvals
        assert {one.intent.key for one in host.journal.entries()} == intents
        # What was answered stays as long as it lets something run.
        (asked,) = [one for one in host.book.list("pending") if one.tool == "new"]
        host.book.approve(asked.id)
        assert host.book.forget_old(0.0) == len(approvals) - 1
        assert [one.tool for one in host.book.list()] == ["new"]
