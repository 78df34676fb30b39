"""Code that asks for the network: judged as what reaches out, and given it only then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callblocks.approvals.book import ApprovalBook
from callblocks.core.outcomes import Outcome
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.runtime.approval_gate import Approving
from callblocks.runtime.turn_scope import Turn
from support.approvers import NO, YES, Person
from support.exec_runs import ALLOW_CODE, PYTHON, SHELL, code_tools, contract
from support.recorded_sessions import Session, a_session
from support.sandboxes import greeter
from support.tool_runtime import call, run_one

GRANT = Rule(decide="allow", tool=(PYTHON, SHELL), host=("*",))
GRANTED = Policy((*ALLOW_CODE.rules, GRANT))
NOT_OUT = Rule(decide="deny", trait=("open_world",), because="nothing leaves")
FETCH = """
import socket
try:
    with socket.create_connection(("127.0.0.1", {port}), timeout=5) as one:
        said = one.recv(99)
except OSError:
    said = b"nobody"
open("files/said", "wb").write(said)
"""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with a_session(tmp_path) as session:
        yield session


def run(session: Session, policy: Policy, code: str = "", **more: Any) -> tuple[Outcome, Turn]:
    given = {"code": code or "1", "contract": contract("said"), **more.pop("input", {})}
    turn = Turn("turn_1")
    one = call(PYTHON, **given)
    return run_one(code_tools(session), one, policy=policy, turn=turn, **more), turn


def code_of(outcome: Outcome) -> str:
    return outcome.error.code if outcome.error else ""


def test_a_granted_call_reaches_a_server_and_another_does_not(session: Session) -> None:
    with greeter() as port:
        code = FETCH.format(port=port)
        without, untouched = run(session, GRANTED, code)
        said_without = (session.folder / "turn_1/files/said").read_text()
        granted, tainted = run(session, GRANTED, code, input={"network": True})
    assert without.ok
    assert granted.ok, granted.error
    assert said_without == "nobody"
    assert (session.folder / "turn_1/files/said").read_text() == "hello"
    assert untouched.tainted == ()
    assert tainted.tainted == ("code that could reach the network",)


@pytest.mark.parametrize(
    ("rules", "code", "words"),
    [
        (ALLOW_CODE.rules, "approval_required", "no rule names this call"),
        ((NOT_OUT, GRANT), "policy_denied", "rule 1 of the policy denies: nothing leaves"),
        ((*ALLOW_CODE.rules, NOT_OUT), "policy_denied", "rule 2 of the policy denies"),
        ((Rule(decide="deny", host=("a.org",)), GRANT), "policy_denied", "rule 1"),
        ((Rule(decide="ask", trait=("open_world",)), GRANT), "approval_required", "rule 1"),
    ],
)
def test_what_is_not_granted_does_not_run(
    session: Session, rules: tuple[Rule, ...], code: str, words: str
) -> None:
    for network in (True, "true"):
        outcome, turn = run(session, Policy(rules), input={"network": network})
        assert code_of(outcome) == code
        assert outcome.error is not None
        assert words in outcome.error.message
        assert "(the call may reach any host)" in outcome.error.message
        assert turn.tainted == ()


def test_a_person_is_told_that_it_reaches_out_and_a_yes_to_other_code_does_not_count(
    session: Session,
) -> None:
    person = Person(YES, NO)
    with ApprovalBook(":memory:") as book:
        approving = Approving(book, person)
        near, _ = run(session, Policy.ask_all(), approving=approving)
        far, _ = run(session, Policy.ask_all(), input={"network": True}, approving=approving)
    assert (code_of(near), code_of(far)) == ("", "approval_denied")
    plain, outward = person.questions
    assert "network" not in plain.preview
    assert "open_world" not in plain.tool.traits.names()
    assert outward.preview.startswith("reaches the network: any server")
    assert outward.preview.endswith("\n  turn_1/files/said")
    assert "open_world" in outward.tool.traits.names()
    assert outward.reason == "no rule names this call (the call may reach any host)"
