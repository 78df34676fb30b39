from __future__ import annotations

import asyncio
from typing import Literal

import pytest

from callblocks.approvals.book import ApprovalBook
from callblocks.approvals.question import Answer, Question
from callblocks.core.calls import Call
from callblocks.core.outcomes import Failure
from callblocks.core.specs import ToolSpec
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.runtime.gate import Approving, Gate
from callblocks.runtime.judgement import Judgement, Turn
from callblocks.toolkits.file_tools import PathText
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Checked, FieldFault, Tool
from support.approvers import YES, Person
from support.tool_runtime import ALLOW_ALL, call


@tool(read_only=True)
def read(path: PathText) -> str:
    """Read."""
    return path


def gate(policy: Policy, approving: Approving | None = None, **more: object) -> Gate:
    return Gate(Registry([read]), policy, approving or Approving(), **more)  # pyright: ignore[reportArgumentType] only `resolve`


def weighed(gate: Gate, one: Call, turn: Turn | None = None) -> Judgement:
    found = gate.weigh(one, turn or Turn())
    assert isinstance(found, Judgement)
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


def test_a_deny_by_argument_hits_a_default_that_is_left_out() -> None:
    @tool
    def push(branch: str, force: bool = True) -> None:
        """Push."""

    denied = Policy(
        (Rule(decide="deny", argument={"force": ("true",)}), Rule(decide="allow", tool=("push",)))
    )
    door = Gate(Registry([push]), denied, Approving())
    for denied_call in (call("push", branch="main"), call("push", branch="main", force=True)):
        failure = refused(door, denied_call)
        assert failure
        assert failure.code == "policy_denied"
    assert refused(door, call("push", branch="main", force=False)) is None


def turning(links: dict[str, str | None], target: str | None) -> Person:
    """Somebody who says yes, while a link is turned."""

    class Turning(Person):
        async def __call__(self, question: Question) -> Answer | None:
            links["link"] = target
            return await super().__call__(question)

    return Turning(YES)


@pytest.mark.parametrize("target", ["keys/k", None])
def test_a_link_that_is_turned_while_the_person_is_asked_is_not_approved(
    target: str | None,
) -> None:
    links: dict[str, str | None] = {"link": "notes/a"}
    with ApprovalBook(":memory:") as book:
        door = gate(Policy.ask_all(), Approving(book, turning(links, target)), resolve=links.get)
        failure = refused(door, call("read", path="link"))
    assert failure
    assert failure.code == "approval_mismatch"
    assert failure.message == "read did not run: what it means changed after it was approved"


def test_an_approval_counts_for_the_file_that_was_meant() -> None:
    links: dict[str, str | None] = {"link": "notes/a"}
    with ApprovalBook(":memory:") as book:
        door = gate(Policy.ask_all(), Approving(book), resolve=links.get)
        waits = refused(door, call("read", path="link"))
        assert waits
        book.approve(waits.details["approval"])
        links["link"] = "keys/k"
        other = refused(door, call("read", path="link"))
        assert other
        assert other.code == "approval_required"
        links["link"] = "notes/a"
        assert refused(door, call("read", path="link")) is None


def test_what_is_no_call_any_more_once_it_was_approved_is_refused() -> None:
    checks = iter([(), (FieldFault("x", "gone"),)])
    odd = Tool(
        spec=ToolSpec("odd"),
        check=lambda given: Checked(given, next(checks)),
        function=lambda: None,
    )
    with ApprovalBook(":memory:") as book:
        door = Gate(Registry([odd]), Policy.ask_all(), Approving(book, Person(YES)))
        failure = refused(door, call("odd"))
    assert failure
    assert failure.code == "invalid_input"


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
        (call("read", path=True), "invalid_input"),
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
        (Policy((Rule(decide="deny"),)), "policy_denied", "rule 1 of the policy denies"),
    ],
)
def test_a_refusal_says_who_decided(policy: Policy, code: str, words: str) -> None:
    failure = refused(gate(policy), call("read", path="a"))
    assert failure
    assert failure.code == code
    assert words in failure.message


def test_text_of_others_that_comes_while_the_person_is_asked_voids_the_yes() -> None:
    async def act() -> Failure | None:
        turn = Turn()

        async def ask(question: Question) -> Answer:
            turn.taint("a page")
            return Answer("once")

        with ApprovalBook(":memory:") as book:
            door = gate(Policy.ask_all(), Approving(book, ask), resolve=str)
            return await door.refusal(weighed(door, call("read", path="a"), turn), turn)

    failure = asyncio.run(act())
    assert failure is not None
    assert failure.code == "approval_mismatch"


@tool
def ask(method: Literal["GET", "POST"], labels: list[PathText] = [], title: str = "") -> str:  # noqa: B006 nothing changes it
    """Ask."""
    return f"{method} {labels} {title}"


def test_what_is_judged_and_shown_is_the_input_as_it_is_taken() -> None:
    person = Person(YES)
    policy = Policy((Rule(decide="deny", path=("secret",)), Rule(decide="ask")))
    taken = {"method": "GET", "labels": ["a"], "title": "2026"}
    with ApprovalBook(":memory:") as book:
        door = Gate(Registry([ask]), policy, Approving(book, person), resolve=lambda path: path)
        found = weighed(door, call("ask", method="get", labels="a", title=2026))
        assert asyncio.run(door.refusal(found, Turn())) is None
        asked = book.list()[0].shown
    assert (found.values, found.facts.input, found.facts.paths) == (taken, taken, ("a",))
    assert (person.questions[0].call.input, person.questions[0].read) == (taken, True)
    assert asked == 'ask\n  "method": GET\n  "labels": ["a"]\n  "title": 2026'


def test_a_path_that_was_no_list_is_denied_like_one_that_was() -> None:
    policy = Policy((Rule(decide="deny", path=("secret",)), Rule(decide="allow", tool=("ask",))))
    door = Gate(Registry([ask]), policy, Approving(), resolve=lambda path: path)
    for labels in ("secret", ["secret"], '["secret"]'):
        failure = refused(door, call("ask", method="GET", labels=labels))
        assert failure
        assert failure.code == "policy_denied"


def test_a_call_that_was_checked_to_be_recorded_is_judged_as_it_was_checked() -> None:
    inputs: list[dict[str, object]] = []

    def check(given: dict[str, object]) -> Checked:
        inputs.append(given)
        return Checked(input=given, values=given)

    counted = Tool(spec=ToolSpec("act"), check=check, function=lambda **_: None)
    door = Gate(Registry([counted]), ALLOW_ALL, Approving())
    one, other = Call(id="1", name="act", input={"n": 1}), Call(id="1", name="act", input={"n": 2})
    recorded = door.check(one)
    assert recorded is not None
    assert weighed(door, one).checked == recorded
    assert inputs == [{"n": 1}]
    # Judged a second time, and another call with that id: both are checked anew.
    assert weighed(door, one).checked == recorded
    door.check(one)
    assert weighed(door, other).checked.input == {"n": 2}
    assert inputs == [{"n": 1}, {"n": 1}, {"n": 1}, {"n": 2}]


def test_a_call_that_cannot_run_is_recorded_unchecked() -> None:
    door = gate(ALLOW_ALL)
    one = Call(id="1", name="unknown")
    assert door.check(one) is None
    assert isinstance(door.weigh(one, Turn()), Failure)
