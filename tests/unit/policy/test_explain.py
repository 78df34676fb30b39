from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from callblocks.policy.lint import explain
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Facts, Rule
from callblocks.tools.tool import Traits
from support.policies import exec_traits, facts, policies

READING = Traits(read_only=True, destructive=False)


def lines(*rules: Rule, **known: Any) -> list[str]:
    return explain(Policy(rules), Facts(**{"tool": "act", "person": True, **known}))


def test_each_rule_looked_at_has_a_line_and_the_decision_the_last() -> None:
    told = lines(
        Rule(decide="allow", path=("notes/**", "a")),
        Rule(decide="deny", tool=("act",), because="keys stay where they are"),
        Rule(decide="allow", tool=("*",)),
        paths=("secrets/key",),
    )
    assert told == [
        'rule 1 (allow) does not match: path "secrets/key" does not fit "notes/**" or "a"',
        "rule 2 (deny: keys stay where they are) matches: tool act",
        "deny (policy_denied): rule 2 of the policy denies: keys stay where they are",
    ]


def test_a_policy_that_is_off_looks_at_no_rule() -> None:
    off = Policy((Rule(decide="ask"),), autoexec=False)
    assert explain(off, Facts(tool="act")) == ["deny (policy_off): the policy is off"]


def test_where_no_rule_matches_all_were_looked_at() -> None:
    told = lines(Rule(decide="ask", tool=("x",)), Rule(decide="allow", tool=("y", "z")))
    assert told == [
        'rule 1 (ask) does not match: tool "act" does not fit "x"',
        'rule 2 (allow) does not match: tool "act" does not fit "y" or "z"',
        "ask (approval_required): no rule names this call",
    ]


def test_a_rule_is_known_by_its_first_line_and_one_that_matches_by_its_conditions() -> None:
    because = "it is mine\nand has been for long"
    rule = Rule(decide="allow", tool=("act",), path=("a", "b"), tainted=False, because=because)
    assert lines(rule, paths=("a",))[0] == (
        "rule 1 (allow: it is mine) matches: tool act; path a, b; not tainted"
    )
    assert lines(Rule(decide="ask"))[0] == "rule 1 (ask) matches: every call"
    long = Rule(decide="ask", tool=("act", "x" * 100), because="y" * 100)
    assert lines(long)[0] == f"rule 1 (ask: {'y' * 58}…) matches: tool act, {'x' * 50}…"


def test_an_allow_has_no_code() -> None:
    assert lines(Rule(decide="allow", tool=("*",)))[-1] == "allow: rule 1 of the policy allows"


@pytest.mark.parametrize(
    ("rule", "known", "words"),
    [
        (
            Rule(decide="ask", trait=("exec", "!read_only")),
            {"traits": READING},
            "the traits of act are read_only, and not exec, !read_only",
        ),
        (
            Rule(decide="ask", trait=("exec",)),
            {"traits": Traits(idempotent=True)},
            "the traits of act are destructive, idempotent, and not exec",
        ),
        (
            Rule(decide="ask", trait=("exec",)),
            {"traits": Traits(destructive=False)},
            "the traits of act are none, and not exec",
        ),
        (
            Rule(decide="ask", argument={"a": ("1",), "b": ("x",), "c": ("y",)}),
            {"input": {"a": 1, "b": "z"}},
            'argument b "z" does not fit "x"',
        ),
        (
            Rule(decide="allow", argument={"a": ("1",)}),
            {"traits": exec_traits},
            "argument a is not given",
        ),
        (
            Rule(decide="allow", argument={"a": ("ls*",)}),
            {"input": {"a": "ls; ls"}, "traits": exec_traits},
            'argument a "ls; ls" does not fit "ls*"; '
            "in a command a wildcard stands for plain text only",
        ),
        (
            Rule(decide="deny", argument={"a": ("x*",)}),
            {"input": {"a": "ls"}, "traits": exec_traits},
            'argument a "ls" does not fit "x*"',
        ),
        (
            Rule(decide="allow", argument={"a": ("x*",)}),
            {"input": {"a": "ls"}},
            'argument a "ls" does not fit "x*"',
        ),
        (
            Rule(decide="allow", argument={"a": ("*",)}),
            {"input": {"a": b"x"}},
            'argument a that is unsafe or unreadable does not fit "*"',
        ),
        (Rule(decide="allow", path=("a",)), {}, "path is not given"),
        (
            Rule(decide="allow", path=("a",)),
            {"paths": ("a", None)},
            'path "a", that is unsafe or unreadable does not fit "a"',
        ),
        (Rule(decide="allow", host=("a.org",)), {}, "host is not given"),
        (
            Rule(decide="deny", host=("a.org",)),
            {"hosts": ("b.org", "c.org")},
            'host "b.org", "c.org" does not fit "a.org"',
        ),
        (
            Rule(decide="allow", tool=("act",)),
            {"hosts": ("*",)},
            'the call may reach any host, and only host = "*" allows that',
        ),
        (
            Rule(decide="allow", host=("a.org",)),
            {"hosts": ("a.org", "*")},
            'the call may reach any host, and only host = "*" allows that',
        ),
        (Rule(decide="ask", tainted=True), {}, "the turn is not tainted"),
        (Rule(decide="ask", tainted=False), {"tainted": ("a page",)}, "the turn is tainted"),
    ],
)
def test_the_condition_that_does_not_hold_is_said(
    rule: Rule, known: dict[str, Any], words: str
) -> None:
    assert lines(rule, **known)[0] == f"rule 1 ({rule.decide}) does not match: {words}"


def test_a_strict_reading_fails_in_the_argument_that_is_read_strictly() -> None:
    rule = Rule(decide="allow", argument={"a": ("*",), "b": ("x",)})
    told = lines(rule, input={"a": ";", "b": "x"}, traits=exec_traits)[0]
    assert 'argument a ";" does not fit "*"' in told


def test_long_values_are_cut_and_secrets_left_out() -> None:
    rule = Rule(decide="ask", argument={"a": ("x",)})
    assert f'"{"y" * 60}"' in lines(rule, input={"a": "y" * 60})[0]
    assert f'"{"y" * 60}…"' in lines(rule, input={"a": "y" * 61})[0]
    assert "hunter22" not in lines(rule, input={"a": "password=hunter22"})[0]
    known = Rule(decide="ask", argument={"a": ("password=hunter22",)})
    assert "hunter22" not in lines(known, input={"a": "password=hunter22"})[0]


@given(policies, facts)
def test_every_decision_can_be_explained(policy: Policy, known: Facts) -> None:
    told = explain(policy, known)
    decision = policy.decide(known)
    assert told[-1].endswith(decision.reason)
    assert told[-1].startswith(decision.verdict)
    matching = [line for line in told[:-1] if " does not match: " not in line]
    assert len(matching) == (decision.number > 0)
    if decision.number:
        assert len(told) == decision.number + 1
