from __future__ import annotations

from typing import Any

import msgspec
import pytest

from callblocks.core.outcomes import Outcome
from callblocks.policy.facts import ContainedTaint, add_taint, counting_taints, taint_by
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.runtime.turn_scope import Turn
from callblocks.tools.context import Context
from callblocks.tools.declare import tool
from callblocks.tools.tool import Tool
from support.tool_runtime import call, run

ALLOWED = Policy((Rule(decide="allow", tool=("command", "send", "post", "put", "own", "mail")),))
WHY = "a command that could read files of others"


@tool(kind="exec", needs_approval=True, reaches_any_host=lambda given: given["net"] is not False)
def command(context: Context, net: bool = False) -> str:
    """Run a command."""
    context.taint(WHY)
    return "ran"


@tool(open_world=True)
def send() -> str:
    """Send a mail."""
    return "sent"


@tool(kind="writer")
def put() -> str:
    """Put a file into the workspace."""
    return "put"


@tool(read_only=True, kind="source")
def mail() -> str:
    """Read mail."""
    return "mail"


@tool
def own() -> str:
    """Do something of the caller's."""
    return "done"


def builtin(one: Tool) -> Tool:
    return msgspec.structs.replace(one, origin="builtin")


TOOLS = (*map(builtin, (command, send, put, mail)), own)


def outcomes(*names: str, **given: Any) -> list[str]:
    calls = [call(name, f"c{at}", **given) for at, name in enumerate(names)]
    return [_code(one) for one in run(TOOLS, *calls, policy=ALLOWED)]


def _code(outcome: Outcome) -> str:
    return outcome.error.code if outcome.error else "ok"


def test_one_sandboxed_command_after_another_runs() -> None:
    assert outcomes("command", "command", "put", "command") == ["ok"] * 4


@pytest.mark.parametrize("name", ["send", "own"])
def test_what_may_leave_is_asked_after_a_command(name: str) -> None:
    assert outcomes(name) == ["ok"]
    assert outcomes("command", name) == ["ok", "approval_required"]


@pytest.mark.parametrize("name", ["command", "put", "send", "own"])
def test_text_of_others_is_asked_about_whatever_ran_before(name: str) -> None:
    assert outcomes("mail", name) == ["ok", "approval_required"]
    assert outcomes("command", "mail", name) == ["ok", "ok", "approval_required"]


def test_a_command_with_a_network_is_asked_and_taints_like_any_text_of_others() -> None:
    rule = Rule(decide="allow", tool=("command",), host=("*",))
    policy = Policy((rule, *ALLOWED.rules))
    far = call("command", "c1", net=True)
    after = run(TOOLS, far, call("command", "c2"), policy=policy)
    assert list(map(_code, after)) == ["ok", "approval_required"]
    before = run(TOOLS, call("command", "c1"), msgspec.structs.replace(far, id="c2"), policy=policy)
    assert list(map(_code, before)) == ["ok", "approval_required"]


def test_commands_of_the_callers_are_in_no_sandbox() -> None:
    calls = [call("command", f"c{at}") for at in range(2)]
    after = run((command,), *calls, policy=ALLOWED)
    assert list(map(_code, after)) == ["ok", "approval_required"]


def test_a_refusal_by_taint_says_how_to_allow_the_call() -> None:
    refused = run(TOOLS, call("mail", "c1"), call("send", "c2"), policy=ALLOWED)[1]
    assert refused.error is not None
    assert refused.error.message == (
        "send did not run: a person must approve it (rule 1 of the policy allows, but text of "
        "others is in this turn (mail)), and nobody can be asked here; a rule with "
        "`tainted = true` in a policy file allows it all the same"
    )
    allowed = Policy((Rule(decide="allow", tool=("mail", "send"), tainted=True), *ALLOWED.rules))
    assert outcomes_by(allowed, "mail", "send") == ["ok", "ok"]


def outcomes_by(policy: Policy, *names: str) -> list[str]:
    calls = [call(name, f"c{at}") for at, name in enumerate(names)]
    return [_code(one) for one in run(TOOLS, *calls, policy=policy)]


def test_other_refusals_name_no_rule_about_taint() -> None:
    nobody = Policy((Rule(decide="ask", tool=("send",)),))
    refused = run(TOOLS, call("send"), policy=nobody)[0]
    assert refused.error is not None
    assert "tainted" not in refused.error.message


def test_a_reason_counts_for_all_once_it_came_uncontained() -> None:
    known: dict[str, str] = {}
    add_taint(known, ContainedTaint("a"))
    add_taint(known, ContainedTaint("b"))
    add_taint(known, "b")
    add_taint(known, ContainedTaint("b"))
    tool = TOOLS[0]
    assert counting_taints(tool, tool.traits, known.values()) == ("b",)
    assert Turn(tainted=(ContainedTaint("a"), "a")).tainted == ("a",)


def test_reasons_that_count_are_plain_text() -> None:
    why = taint_by(TOOLS[0], TOOLS[0].traits, WHY)
    assert isinstance(why, ContainedTaint)
    (counting,) = counting_taints(TOOLS[1], TOOLS[1].traits, (why,))
    assert type(counting) is str
