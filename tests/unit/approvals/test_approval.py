from __future__ import annotations

import typing

import msgspec
import pytest

from callblocks.approvals.approval import MINUTES, Approval, Status, Taken
from callblocks.core.outcomes import FAILURES

APPROVAL = Approval(
    id="i",
    state="denied",
    fingerprint="f",
    grant_key="g",
    tool="act",
    shown="act now",
    asked_at=1.0,
    expires_at=2.0,
)


def test_what_is_unsaid_of_an_approval_is_nothing() -> None:
    assert (APPROVAL.answered_at, APPROVAL.reason, APPROVAL.minutes) == (0.0, "", 0)
    assert APPROVAL.tainted is False


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("used", ""),
        ("none", "approval_required"),
        ("pending", "approval_required"),
        ("denied", "approval_denied"),
        ("expired", "approval_expired"),
        ("revoked", "approval_revoked"),
        ("mismatch", "approval_mismatch"),
    ],
)
def test_each_status_has_its_code(status: Status, code: str) -> None:
    taken = Taken(status=status)
    assert taken.code == code
    assert taken.ok == (status == "used")
    assert code in ("", *FAILURES)


def test_no_status_is_left_out() -> None:
    for status in typing.get_args(Status):
        assert isinstance(Taken(status=status).code, str)


def test_the_reason_is_what_the_person_said() -> None:
    said = msgspec.structs.replace(APPROVAL, reason="not today")
    assert Taken(status="denied", approval=said).reason == "not today"
    assert Taken(status="none").reason == ""
    assert Taken(status="none").approval is None


def test_a_grant_is_for_5_10_or_30_minutes() -> None:
    assert MINUTES == (5, 10, 30)
