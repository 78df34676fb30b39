from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from callblocks.approvals.book import ApprovalBook
from callblocks.core.calls import Call
from callblocks.core.errors import ToolError
from callblocks.core.outcomes import Failure, Outcome
from callblocks.core.specs import ToolSpec
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.runtime.gate import Approving
from callblocks.runtime.journal import Journal
from callblocks.runtime.judgement import Judged, Judgement, Turn
from callblocks.runtime.runtime import Runtime
from callblocks.session.taint import taint_of
from callblocks.toolkits.custom_tools import custom_tools
from callblocks.toolkits.file_tools import PathText
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Checked, Tool
from support.approvers import NO, YES, Person
from support.tool_runtime import ALLOW_ALL, call, run, run_one

removed: list[str] = []


@tool(preview=lambda path: f"- {path}", idempotent=True)
def remove(path: PathText) -> str:
    """Remove a file."""
    removed.append(path)
    return f"removed {path}"


@tool(read_only=True)
def look(path: PathText = ".") -> str:
    """Look."""
    return f"saw {path}"


@tool(read_only=True, kind="source")
def fetch() -> str:
    """Bring text of others."""
    return "text"


@tool(needs_approval=True)
def send(to: str) -> str:
    """Send."""
    return f"sent to {to}"


TOOLS: tuple[Tool, ...] = (*custom_tools(), remove, look, fetch, send)
ALL = Rule(decide="allow", tool=("*",))
READ_ALL = Rule(decide="allow", trait=("read_only",))


@pytest.fixture(autouse=True)
def nothing_removed() -> None:
    removed.clear()


def custom(**given: Any) -> Call:
    return Call(id="c1", name="custom", input=given)


def through(name: object, /, **parameters: Any) -> Call:
    return custom(name=name, parameters=parameters)


def outcome_of(name: object, policy: Policy = ALLOW_ALL, /, **parameters: Any) -> Outcome:
    return run_one(TOOLS, through(name, **parameters), policy=policy, resolve=lambda path: path)


def code(outcome: Outcome) -> str:
    return outcome.error.code if outcome.error else ""


def test_a_call_through_it_is_the_call_that_it_names() -> None:
    outcome = outcome_of("remove", path="a.md")
    assert outcome.output == "removed a.md"
    assert removed == ["a.md"]
    assert (outcome.id, outcome.name) == ("c1", "custom")


def test_parameters_may_be_left_out() -> None:
    assert run_one(TOOLS, custom(name="look")).output == "saw ."


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (
            (Rule(decide="deny", tool=("remove",)), Rule(decide="allow", tool=("*",))),
            "policy_denied",
        ),
        ((Rule(decide="deny", trait=("destructive",)), ALL), "policy_denied"),
        ((Rule(decide="deny", path=("keys/**",)), ALL), "policy_denied"),
        ((Rule(decide="deny", argument={"path": ("keys/*",)}), ALL), "policy_denied"),
        ((Rule(decide="ask", tool=("remove",)), ALL), "approval_required"),
        ((Rule(decide="allow", tool=("look",)),), "approval_required"),
        ((READ_ALL,), "approval_required"),
        # An allow of it allows nothing that is called through it.
        ((Rule(decide="allow", tool=("custom",)),), "approval_required"),
        ((Rule(decide="allow", tool=("custom",)), Rule(decide="deny")), "policy_denied"),
        # It may be forbidden, or asked about, by its own name.
        ((Rule(decide="deny", tool=("custom",)), ALL), "policy_denied"),
        ((Rule(decide="ask", tool=("cust*",)), ALL), "approval_required"),
        # The first rule that fits decides, as ever.
        ((Rule(decide="allow", tool=("remove",)), Rule(decide="deny", tool=("custom",))), ""),
        ((Rule(decide="allow", tool=("remove",), path=("keys/**",)), Rule(decide="deny")), ""),
        ((), "policy_off"),
    ],
)
def test_the_policy_judges_the_tool_that_is_named(rules: tuple[Rule, ...], expected: str) -> None:
    assert code(outcome_of("remove", Policy(rules), path="keys/k")) == expected
    assert bool(removed) == (expected == "")


def test_denying_it_denies_no_other_call() -> None:
    policy = Policy((Rule(decide="deny", tool=("custom",)), ALL))
    assert run_one(TOOLS, call("look"), policy=policy).ok


def test_a_tool_that_needs_approval_needs_it_here_too() -> None:
    assert code(outcome_of("send", to="a")) == "approval_required"
    named = Policy((Rule(decide="allow", tool=("send",)),))
    assert outcome_of("send", named, to="a").output == "sent to a"
    wrong = Policy((Rule(decide="allow", tool=("custom", "*")),))
    assert code(outcome_of("send", wrong, to="a")) == "approval_required"


def test_a_path_is_judged_by_where_it_leads() -> None:
    policy = Policy((Rule(decide="allow", path=("notes/**",)),))
    one = through("remove", path="notes/link")
    outcome = run_one(TOOLS, one, policy=policy, resolve=lambda _: "keys/k")
    assert code(outcome) == "approval_required"


def test_the_person_sees_and_approves_the_call_that_is_meant() -> None:
    person = Person(YES)
    with ApprovalBook(":memory:") as book:
        outcome = run_one(
            TOOLS,
            through("remove", path="a.md"),
            policy=Policy.ask_all(),
            approving=Approving(book, person),
            resolve=lambda path: path,
        )
        (kept,) = book.list()
    assert outcome.output == "removed a.md"
    (question,) = person.questions
    assert (question.call.id, question.call.name) == ("c1", "remove")
    assert question.call.input == {"path": "a.md"}
    assert question.tool.name == "remove"
    assert question.preview == "- a.md"
    assert kept.tool == "remove"
    assert kept.shown.startswith("remove\n")


def test_a_no_to_a_call_stands_however_it_is_written() -> None:
    person = Person(NO)
    with ApprovalBook(":memory:") as book:
        outcomes = run(
            TOOLS,
            through("remove", path="a.md"),
            call("remove", "c2", path="a.md"),
            policy=Policy.ask_all(),
            approving=Approving(book, person),
            resolve=lambda path: path,
        )
    assert [code(outcome) for outcome in outcomes] == ["approval_denied"] * 2
    assert removed == []


def test_the_journal_records_the_tool_that_runs(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.sqlite")
    turn = Turn("t1")
    try:
        first = run_one(TOOLS, through("remove", path="a.md"), turn=turn, journal=journal)
        again = run_one(TOOLS, through("remove", path="a.md"), turn=turn, journal=journal)
        (entry,) = journal.of_turn("t1")
    finally:
        journal.close()
    assert (entry.intent.tool, entry.intent.input) == ("remove", {"path": "a.md"})
    # The same call of the same turn happens once.
    assert removed == ["a.md"]
    assert again == first


def test_text_of_others_taints_through_it_too() -> None:
    turn = Turn()
    run(TOOLS, through("fetch"), turn=turn)
    assert turn.tainted == ("fetch",)
    assert code(run_one(TOOLS, through("remove", path="a"), turn=turn)) == "approval_required"


def test_a_result_of_an_earlier_turn_taints_as_that_of_the_tool_meant() -> None:
    known = Registry(TOOLS)
    assert taint_of(through("fetch"), known) == "the result of fetch"
    assert taint_of(through("look"), known) is None
    assert taint_of(through("look", path="downloads/a"), known) == "file of others: downloads/a"
    assert taint_of(through("sing"), known) == "the result of sing, which nobody here knows"
    assert taint_of(custom(), known) == "the result of another tool, which nobody here knows"


def test_an_unknown_name_is_told_with_one_like_it() -> None:
    outcome = outcome_of("remov")
    assert code(outcome) == "unknown_tool"
    assert outcome.error is not None
    assert "did you mean remove?" in outcome.error.message


@pytest.mark.parametrize(
    "parameters", [{"name": "remove", "parameters": {"path": "a"}}, {"name": "custom"}]
)
def test_it_calls_nothing_through_itself(parameters: dict[str, Any]) -> None:
    outcome = outcome_of("custom", **{"parameters": {}} | parameters)
    assert code(outcome) == "invalid_input"
    assert removed == []


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (custom(), "name: required, missing"),
        (custom(name=""), "name: "),
        (custom(name="look", parameters="x"), "parameters: must be"),
        (through("remove"), "remove: path: required, missing"),
        (through("remove", path="a", more=1), "more: not a field"),
    ],
)
def test_an_input_that_does_not_fit_says_where(one: Call, words: str) -> None:
    outcome = run_one(TOOLS, one)
    assert outcome.error is not None
    assert outcome.error.code == "invalid_input"
    assert words in outcome.error.message


def test_a_tool_that_is_only_known_does_not_run() -> None:
    known = Tool(spec=ToolSpec("elsewhere"), check=Checked)
    outcome = run_one((*TOOLS, known), through("elsewhere"))
    assert code(outcome) == "not_runnable"


def test_a_call_whose_text_broke_off_does_not_run() -> None:
    outcome = run_one(TOOLS, replace(through("remove", path="a"), ended=False))
    assert code(outcome) == "unended_call"
    assert removed == []


def test_a_plan_names_the_tool_that_would_run() -> None:
    runtime = Runtime(TOOLS, ALLOW_ALL)
    (judged,) = runtime.plan([through("look")])
    assert judged.call.name == "custom"
    assert isinstance(judged.verdict, Judgement)
    assert (judged.verdict.tool.name, judged.verdict.facts.through) == ("look", "custom")


def test_who_listens_hears_of_the_call_as_it_was_written() -> None:
    said: list[Judged] = []
    run_one(TOOLS, through("look"), judged=said.append)
    assert said[0].call.name == "custom"


def test_an_approved_call_whose_meaning_changed_is_refused() -> None:
    links = {"a.md": "notes/a.md"}

    class Turning(Person):
        async def __call__(self, question: Any) -> Any:
            links["a.md"] = "keys/k"
            return await super().__call__(question)

    async def act(book: ApprovalBook) -> Failure | None:
        runtime = Runtime(
            TOOLS,
            Policy.ask_all(),
            approving=Approving(book, Turning(YES)),
            resolve=links.get,
        )
        (outcome,) = [one async for one in runtime.run([through("remove", path="a.md")])]
        return outcome.error

    with ApprovalBook(":memory:") as book:
        failure = asyncio.run(act(book))
    assert failure is not None
    assert failure.code == "approval_mismatch"
    assert removed == []


def test_without_a_runtime_it_cannot_run() -> None:
    (alone,) = custom_tools()
    with pytest.raises(ToolError, match="only a runtime"):
        alone(name="remove")
