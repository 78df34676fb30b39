from __future__ import annotations

import pytest

from callblocks.approvals.book import ApprovalBook
from callblocks.core.calls import Call
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.runtime.gate import Approving
from callblocks.runtime.judgement import Judged
from callblocks.runtime.runtime import Runtime
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from callblocks.views.terminal.tables import explained_rows, how_to_allow, plan_rows
from support.approvers import Person
from support.terminal_rows import EVIL, harmless, lines
from support.tool_runtime import call


@tool(read_only=True)
def look(path: str) -> str:
    """Look."""
    return path


@tool
def act(what: str = "") -> str:
    """Act."""
    return what


@tool(destructive=False)
def sing() -> None:
    """Sing."""


RULES = Policy(
    (
        Rule(decide="allow", tool=("look",), because="looking is free"),
        Rule(decide="deny", tool=("sing",)),
    )
)


def judged(policy: Policy, *calls: Call, person: bool = False) -> list[Judged]:
    registry = Registry([look, act, sing])
    if not person:
        return Runtime(registry, policy).plan(calls)
    with ApprovalBook(":memory:") as book:
        return Runtime(registry, policy, approving=Approving(book, Person())).plan(calls)


@pytest.mark.parametrize("person", [True, False])
def test_each_call_has_its_verdict_and_why(person: bool) -> None:
    calls = [call("look", "a", path="x"), call("act", "b"), call("sing", "c"), call("zz", "d")]
    assert lines(plan_rows(judged(RULES, *calls, person=person), 90)) == [
        "   1  look(path=x)  allow   rule 1 of the policy allows: looking is free",
        "   2  act()         ask     no rule names this call",
        "   3  sing()        deny    rule 2 of the policy denies",
        "   4  zz()          cannot  unknown_tool: no tool is called 'zz'; there are: look, act,",
        "                            sing",
    ]


def test_without_a_policy_the_traits_are_said() -> None:
    planned = judged(Policy(), call("look", "a", path="x"), call("act", "b"), call("sing", "c"))
    assert lines(plan_rows(planned, 100)) == [
        "   1  look(path=x)  off     read_only, idempotent",
        "   2  act()         off     destructive",
        "   3  sing()        off     plain",
    ]


def test_a_long_call_is_shortened_and_a_long_reason_is_broken() -> None:
    policy = Policy((Rule(decide="deny", tool=("act",), because="so it is " * 20),))
    rows = lines(plan_rows(judged(policy, call("act", what="x" * 100)), 80))
    assert rows[0].startswith("   1  act(what=xxx")
    assert "…  deny" in rows[0]
    assert len(rows) > 2
    assert all(len(row) <= 80 for row in rows)


def test_where_there_is_little_room_the_reason_is_below() -> None:
    policy = Policy((Rule(decide="deny", tool=("act",), because="so it is and stays"),))
    assert lines(plan_rows(judged(policy, call("act", what="x" * 30)), 60)) == [
        f"   1  act(what={'x' * 30})  deny",
        "        rule 1 of the policy denies: so it is and stays",
    ]


def test_explained_each_call_has_the_rules_that_were_looked_at() -> None:
    planned = judged(RULES, call("sing", "a"), call("zzz", "b"))
    rows = lines(explained_rows(planned, RULES, 100))
    assert rows[0] == "   1  sing()  deny    rule 2 of the policy denies"
    assert rows[-1].startswith("   2  zzz()")
    assert all(row.startswith("        ") for row in rows[1:-1])
    assert any("rule 1" in row for row in rows[1:-1])


def test_the_ways_to_allow_name_a_tool_that_is_called() -> None:
    rows = lines(how_to_allow(judged(Policy(), call("zzz", "a"), call("act", "b"))))
    assert [row.split()[0] for row in rows] == [
        *("Add", "--ask", "--allow", "--allow-trait", "--policy")
    ]
    assert rows[2].split()[1] == "act"


def test_where_nothing_could_run_there_is_nothing_to_allow() -> None:
    assert how_to_allow(judged(Policy(), call("zzz"))) == []
    assert plan_rows([], 80) == []


def test_nothing_in_a_call_steers_the_terminal() -> None:
    planned = judged(RULES, call("act", what=EVIL), call(EVIL, "b"))
    assert harmless(plan_rows(planned, 60))
    assert harmless(explained_rows(planned, RULES, 60))
    assert harmless(how_to_allow(planned))
