from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.outcomes import Failure, verdict_of, without_verdict
from callblocks.views.chat.chat import CallGroup, GroupedCall, draw


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("approval_denied: f did not run: a person said no: not today", "denied by you: not today"),
        ("approval_denied: f did not run: a person said no", "denied by you"),
        (
            "approval_expired: f did not run: nobody answered in 10 minutes",
            "not answered in 10 minutes",
        ),
        ("approval_expired: f did not run: the approval came too late", "not approved in time"),
        ("approval_revoked: f did not run: x", "not approved, taken back"),
        ("approval_required: f did not run: nobody was there", "not approved: nobody was there"),
        (
            "policy_denied: f did not run: rule 1 of the policy denies: keys stay",
            "refused by rule 1: keys stay",
        ),
        ("policy_denied: f did not run: no", "refused: no"),
        ("policy_off: f did not run: the policy is off", "refused: the policy is off"),
        (
            "address_refused: f did not run: the address is on this machine",
            "refused, not asked: the address is on this machine",
        ),
        ("cancelled: f did not run: the turn was stopped", "cancelled by you"),
    ],
)
def test_what_kept_a_call_from_running_has_words(error: str, words: str) -> None:
    verdict = verdict_of(error)
    assert verdict is not None
    assert verdict.text == words
    assert draw(CallGroup([GroupedCall("f()", error, failed=True)]), width=200) == [
        "🔧 f, not run (hide details)",
        f"  f() → {words}",
    ]


@pytest.mark.parametrize(
    "error",
    [
        "",
        "no code",
        "address_refused: x",
        "timeout: too long",
        "cancelled: it was stopped",
        "policy_denied: a redirect",
    ],
)
def test_a_call_that_ran_and_failed_has_none(error: str) -> None:
    assert verdict_of(error) is None


def test_a_header_counts_what_failed_apart_from_what_did_not_run() -> None:
    calls = [
        GroupedCall("f()", "approval_denied: f did not run: a person said no", failed=True),
        GroupedCall("f()", "timeout: too long", failed=True),
        GroupedCall("f()", "done"),
    ]
    assert draw(CallGroup(calls), expanded=False) == [
        "🔧 3 tool calls, 1 failed, 1 not run (show details)"
    ]


@given(st.text())
def test_any_text_has_words_or_none(text: str) -> None:
    for code in ("", "approval_denied: ", "policy_denied: ", "cancelled: "):
        verdict_of(code + text)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("approval_denied", "f did not run: a person said no"),
        ("approval_denied: f did not run: a person said no", "x"),
    ],
)
def test_no_verdict_is_read_from_the_words_of_a_call_that_ran(code: str, message: str) -> None:
    failure = without_verdict(Failure(code=code, message=message))
    assert verdict_of(f"{failure.code}: {failure.message}") is None
    assert "it ran, and failed:" in failure.message
    assert message in failure.message


def test_the_words_of_another_failure_stay_as_they_are() -> None:
    failure = Failure(code="tool_error", message="the ferry office is closed")
    assert without_verdict(failure) is failure
