from __future__ import annotations

import asyncio

import pytest

from callblocks.model.calls import Call
from callblocks.model.outcomes import Failure
from callblocks.runtime.approvals.book import ApprovalBook
from callblocks.runtime.approving import Approving
from callblocks.runtime.gate import Gate
from callblocks.runtime.policy.policy import Policy
from callblocks.runtime.policy.rules import Rule
from callblocks.runtime.turn import Turn
from callblocks.runtime.weighed import Weighed
from callblocks.toolkits.files import PathText
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from support.people import YES, Person
from support.running import ALLOW_ALL, call


@tool(read_only=True)
def read(path: PathText) -> str:
    """Read."""
    return path


def gate(policy: Policy, approving: Approving | None = None, **more: object) -> Gate:
    return Gate(Registry([read]), policy, approving or Approving(), **more)  # pyright: ignore[reportArgumentType] only `resolve`


def weighed(gate: Gate, one: Call, turn: Turn | None = None) -> Weighed:
    found = gate.weigh(one, turn or Turn())
    assert isinstance(found, Weighed)
    return found


def refused(gate: Gate, one: Call) -> Failure | None:
    return asyncio.run(gate.refusal(weighed(gate, one), Turn()))


def test_a_path_is_judged_by_where_it_really_leads() -> None:
    notes = Policy((Rule(decide="allow", path=("notes/**",)),))
    links = {"notes/a": "notes/a", "notes/link": "keys/k", "../up": None}
    door = gate(notes, resolve=links.get)
    assert refused(door, call("read", path="notes/a")) is None
    for path in ("notes/link", "../up"):
        failure = refused(door, call("read", path=path))
        assert failure
        assert failure.code == "approval_required"


def test_without_a_resolver_no_path_is_allowed_by_its_name() -> None:
    failure = refused(
        gate(Policy((Rule(decide="allow", path=("**",)),))), call("read", path="notes/a")
    )
    assert failure
    assert failure.code == "approval_required"


def test_weighing_uses_nothing_up_and_asks_nobody() -> None:
    person = Person(YES)
    with ApprovalBook(":memory:") as book:
        door = gate(Policy.ask_all(), Approving(book, person))
        assert weighed(door, call("read", path="a")).decision.verdict == "ask"
        assert not person.questions
        assert book.list() == ()
        assert refused(door, call("read", path="a")) is None
        assert len(person.questions) == 1


def test_the_turn_counts() -> None:
    found = weighed(gate(ALLOW_ALL), call("read", path="a"), Turn(tainted=("a page",)))
    assert found.facts.tainted == ("a page",)
    assert found.decision.verdict == "allow"


@pytest.mark.parametrize(
    ("one", "code"),
    [
        (call("red", path="a"), "unknown_tool"),
        (Call(id="c", name="read", input={"path": "a"}, ended=False), "unended_call"),
        (call("read", path=5), "invalid_input"),
        (call("read"), "invalid_input"),
        (call("", path="a"), "unknown_tool"),
    ],
)
@pytest.mark.parametrize("policy", [ALLOW_ALL, Policy()])
def test_what_cannot_run_is_refused_whatever_the_policy(
    one: Call, code: str, policy: Policy
) -> None:
    failure = gate(policy).weigh(one, Turn())
    assert isinstance(failure, Failure)
    assert failure.code == code


@pytest.mark.parametrize(
    ("policy", "code", "words"),
    [
        (Policy(), "policy_off", "nothing runs without a policy"),
        (Policy((Rule(decide="deny"),)), "policy_denied", "rule 1 says deny"),
    ],
)
def test_a_refusal_says_who_decided(policy: Policy, code: str, words: str) -> None:
    failure = refused(gate(policy), call("read", path="a"))
    assert failure
    assert failure.code == code
    assert words in failure.message
