from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from callblocks.policy.lint import FINDINGS, Finding, findings
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.tools.tool import Traits
from support.policies import a_tool, exec_traits, policies

READ = a_tool(
    "file_read", traits=Traits(read_only=True, destructive=False), path={"format": "path"}
)
RUN = a_tool("terminal_execute", traits=exec_traits, command={"type": "string"})
SEND = a_tool("mail_send", needs_approval=True, mail={"type": "object"})
CALL = a_tool("api_call", url={"anyOf": [{"format": "uri"}, {"type": "null"}]})
TOOLS = (READ, RUN, SEND, CALL)


def found(*rules: Rule, tools: Any = ()) -> list[tuple[int, str, str, str]]:
    told = findings(Policy(rules), tools)
    return [(one.rule, one.severity, one.code, one.message) for one in told]


def rule(decide: Any, **conditions: Any) -> Rule:
    return Rule(decide=decide, **conditions)


def test_a_tool_that_may_reach_any_host_has_hosts_and_the_trait_for_it() -> None:
    code = a_tool("code", traits=exec_traits, reaches_any_host=lambda _: True)
    rules = (
        rule("ask", tool=("code",), trait=("open_world",)),
        rule("ask", tool=("code",), trait=("!open_world",)),
        rule("deny", tool=("code",), host=("a.org",)),
    )
    assert found(*rules, tools=(code,)) == []
    assert [code for _, _, code, _ in found(*rules, tools=(RUN,))] == ["unknown_tool"] * 3


def test_a_rule_behind_an_allow_still_decides_on_calls_that_may_reach_any_host() -> None:
    code = a_tool("code", reaches_any_host=lambda _: True)
    allow = rule("allow", tool=("code", "mail_send"))
    behind = (rule("allow", tool=("code",), host=("*",)), rule("deny", tool=("code",)))
    assert found(allow, *behind, tools=(code, SEND))[1:] == []
    never = [number for number, _, code, _ in found(allow, *behind) if code == "never_reached"]
    assert never == [2, 3]
    told = found(allow, rule("deny", tool=("mail_send",)), tools=(code, SEND))
    assert (2, "never_reached") in [(number, code) for number, _, code, _ in told]


def test_a_policy_that_is_off_or_empty_is_noted() -> None:
    assert findings(Policy()) == (
        Finding(
            code="policy_off", severity="note", rule=0, message="the policy is off: nothing runs"
        ),
    )
    assert findings(Policy.ask_all()) == (
        Finding(code="no_rules", severity="note", rule=0, message="no rule: every call is asked"),
    )
    assert [one.code for one in findings(Policy((rule("ask"),), autoexec=False))] == ["policy_off"]


def test_a_good_policy_has_no_findings() -> None:
    good = (
        rule("allow", tool=("file_read",), path=("notes/**",)),
        rule("allow", tool=("terminal_execute",), argument={"command": ("git log*",)}),
        rule("deny", host=("*.evil.net",)),
        rule("ask", tool=("mail_*",), argument={"mail.to": ("*",)}),
    )
    assert found(*good, tools=TOOLS) == []
    assert found(*good) == []


def test_a_rule_behind_a_wider_one_is_never_reached() -> None:
    told = found(rule("ask", tool=("x",)), rule("ask", tool=("a*",)), rule("deny", tool=("ab",)))
    words = "an earlier rule takes every call that this one could: rule 2"
    assert told == [(3, "error", "never_reached", words)]
    told = found(rule("ask", tool=("ab",)), rule("deny", tool=("ab",)), rule("deny", tool=("ab",)))
    assert [(number, words[-1]) for number, _, _, words in told] == [(2, "1"), (3, "1")]


@pytest.mark.parametrize(
    "trait", [("exec", "writer"), ("exec", "!exec"), ("!idempotent", "idempotent")]
)
def test_traits_that_no_tool_has_together_are_an_error(trait: tuple[str, ...]) -> None:
    words = f"no tool has all these traits: {', '.join(trait)}"
    assert found(rule("deny", trait=trait)) == [(1, "error", "contradiction", words)]


def test_the_same_kind_twice_is_no_contradiction() -> None:
    assert found(rule("deny", trait=("exec", "exec", "!plain", "!writer"))) == []


def test_names_that_no_tool_has_are_told_with_the_close_one() -> None:
    told = found(rule("ask", tool=("file_raed", "zzz*", "mail_*")), tools=TOOLS)
    assert told == [
        (
            1,
            "warning",
            "unknown_tool",
            'no tool has such a name: "file_raed"; did you mean "file_read"?',
        ),
        (1, "warning", "unknown_tool", 'no tool has such a name: "zzz*"'),
    ]
    assert found(rule("ask", tool=("file_raed",))) == []


def test_a_rule_for_no_tool_says_nothing_else() -> None:
    unknown = rule("ask", tool=("zzz",), argument={"x": ("1",)}, path=("a",), host=("a",))
    assert [code for _, _, code, _ in found(unknown, tools=TOOLS)] == ["unknown_tool"]
    wrong = rule("ask", tool=("file_read",), trait=("exec",), path=("a",))
    words = "no tool has such a name and such traits"
    assert found(wrong, tools=TOOLS) == [(1, "warning", "no_tool", words)]


def test_conditions_that_no_tool_can_fulfil_are_told() -> None:
    told = found(
        rule("ask", tool=("terminal_*",), argument={"cmd": ("x",), "command": ("y",)}),
        rule("ask", tool=("mail_*",), path=("a", "b"), host=("c", "d")),
        tools=TOOLS,
    )
    assert told == [
        (1, "warning", "unknown_argument", "no tool that the rule is for has this argument: cmd"),
        (2, "warning", "no_path", "no tool that the rule is for takes a path: a, b"),
        (2, "warning", "no_host", "no tool that the rule is for takes a URL: c, d"),
    ]


def test_an_argument_with_a_dot_in_its_name_is_known() -> None:
    dotted = a_tool("x", **{"a.b": {"type": "string"}})
    assert found(rule("ask", argument={"a.b": ("1",)}), tools=(dotted,)) == []


def test_one_tool_that_can_is_enough() -> None:
    rules = (
        rule("ask", argument={"command": ("x",)}),
        rule("ask", tool=("*_read", "mail_*"), path=("a",)),
        rule("ask", host=("a",)),
    )
    assert found(*rules, tools=TOOLS) == []


def test_allowing_everything_is_a_warning() -> None:
    words = "every call is allowed that no earlier rule takes"
    assert found(rule("allow", tool=("*",))) == [(1, "warning", "allows_everything", words)]
    assert found(rule("ask", tool=("*",))) == []


def test_allowing_any_command_is_a_warning() -> None:
    words = "any command may run"
    by_name = rule("allow", tool=("terminal_*", "file_*"))
    assert found(by_name, tools=TOOLS) == [
        (1, "warning", "free_commands", f"{words}: terminal_execute")
    ]
    by_trait = rule("allow", trait=("exec",))
    assert found(by_trait) == [(1, "warning", "free_commands", words)]
    assert found(by_trait, tools=TOOLS) == [(1, "warning", "free_commands", words)]
    any_value = rule("allow", trait=("exec",), argument={"command": ("x", "*")})
    assert found(any_value) == [(1, "warning", "free_commands", words)]
    assert found(rule("allow", trait=("exec",), argument={"command": ("x*",)})) == []
    assert found(rule("ask", trait=("exec",)), rule("ask", tool=("terminal_*",)), tools=TOOLS) == []


def test_allowing_what_text_of_others_asks_for_is_a_warning() -> None:
    told = found(rule("allow", tool=("a",), tainted=True))
    words = "text of others may make the model do this"
    assert told == [(1, "warning", "allows_tainted", words)]
    assert found(rule("allow", tool=("a",), tainted=False)) == []
    assert found(rule("deny", tool=("a",), tainted=True)) == []


def test_a_deny_by_argument_is_noted() -> None:
    told = found(rule("deny", argument={"a": ("x",), "b": ("y",)}))
    words = "the same can be written in many ways: a, b"
    assert told == [(1, "note", "deny_by_argument", words)]
    assert found(rule("allow", argument={"a": ("x",)})) == []


@pytest.mark.parametrize("decide", ["ask", "deny"])
def test_a_path_that_commands_are_not_held_to_is_noted(decide: str) -> None:
    words = "commands are not held to it: they see the whole workspace: keys/**, .env"
    told = found(rule(decide, path=("keys/**", ".env")))
    assert told == [(1, "note", "commands_see_all", words)]
    assert found(rule(decide, path=("keys/**",), tool=("file_*",))) == []
    assert found(rule(decide, host=("a",))) == []
    assert found(rule("allow", path=("keys/**",))) == []


def test_allowing_a_tool_that_needs_approval_by_name_is_noted() -> None:
    words = "the tool needs approval, and the rule allows it by name: mail_send"
    named = rule("allow", tool=("mail_send", "file_read"))
    assert found(named, tools=TOOLS) == [(1, "note", "allow_without_asking", words)]
    assert found(rule("allow", tool=("mail_*",)), tools=TOOLS) == []
    assert found(rule("deny", tool=("mail_send",)), tools=TOOLS) == []


def test_all_the_tools_that_are_meant_are_named() -> None:
    two = (RUN, a_tool("terminal_open", traits=exec_traits, needs_approval=True))
    told = found(rule("allow", tool=("terminal_execute", "terminal_open")), tools=two)
    assert [words.partition(": ")[2] for *_, words in told] == [
        "terminal_execute, terminal_open",
        "terminal_open",
    ]
    asking = (a_tool("a", needs_approval=True), a_tool("b", needs_approval=True))
    told = found(rule("allow", tool=("a", "b")), tools=asking)
    assert [words.partition(": ")[2] for *_, words in told] == ["a, b"]


def test_tools_may_come_one_by_one() -> None:
    two = (rule("ask", tool=("mail_send",)), rule("ask", tool=("api_call",)))
    assert found(*two, tools=iter(TOOLS)) == []


@given(policies)
def test_every_policy_can_be_checked(policy: Policy) -> None:
    for one in findings(policy, TOOLS):
        severity, meaning = FINDINGS[one.code]
        assert one.severity == severity
        assert one.message.startswith(meaning)
        assert 0 <= one.rule <= len(policy.rules)
