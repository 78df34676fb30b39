from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from callblocks.policy.lint import covers, takes_all
from callblocks.policy.rules import ANY_HOST, Facts, Rule
from support.policies import facts, rules


def rule(decide: Any, **conditions: Any) -> Rule:
    return Rule(decide=decide, **conditions)


@pytest.mark.parametrize(
    ("early", "late"),
    [
        (rule("deny"), rule("allow", tool=("a",))),
        (rule("allow", tool=("*",)), rule("deny")),
        (rule("allow", tool=("x", "*")), rule("deny", trait=("exec",))),
        (rule("ask", tool=("a", "b*")), rule("deny", tool=("bc", "a"))),
        (rule("ask", tool=("a*",)), rule("deny", tool=("ab*",))),
        (rule("ask", tool=("a[bc]",)), rule("deny", tool=("a[bc]",))),
        (rule("ask", tool=("a[bc]",)), rule("deny", tool=("ab",))),
        (rule("ask", tool=("a",)), rule("deny", tool=("a",), path=("p",))),
        (rule("ask", trait=("exec",)), rule("allow", trait=("exec", "!open_world"))),
        (rule("ask", trait=("exec",)), rule("deny", trait=("exec",))),
        (rule("allow", argument={"a": ("x*",)}), rule("allow", argument={"a": ("x*",)})),
        (rule("ask", host=("*.b.org",)), rule("deny", host=("*.b.org",))),
        (rule("ask", argument={"a": ("x*",)}), rule("allow", argument={"a": ("xy",)})),
        (rule("allow", argument={"a": ("x", "y*")}), rule("allow", argument={"a": ("y*",)})),
        (rule("ask", path=("notes/**",)), rule("allow", path=("notes/*.md", "notes/a"))),
        (rule("ask", path=("**",)), rule("deny", path=("*",))),
        (rule("allow", path=("notes/**",)), rule("allow", path=("notes",))),
        (rule("ask", host=("*",)), rule("deny", host=("a.org", "*.b.org"))),
        (rule("ask", host=("*.org",)), rule("allow", host=("*.b.org", "c.org"))),
        (rule("allow", host=("a.org",)), rule("allow", host=("a.org",))),
        (rule("ask", tainted=True), rule("deny", tainted=True)),
        (rule("ask"), rule("deny", tainted=False)),
    ],
)
def test_a_wider_rule_covers_a_narrower_one(early: Rule, late: Rule) -> None:
    assert covers(early, late)


@pytest.mark.parametrize(
    ("early", "late"),
    [
        (rule("ask", tool=("a",)), rule("deny")),
        (rule("ask", tool=("a",)), rule("deny", tool=("a", "b"))),
        (rule("ask", tool=("ab*",)), rule("deny", tool=("a*",))),
        (rule("ask", tool=("?b*",)), rule("deny", tool=("?*",))),
        (rule("ask", tool=("[ab]*",)), rule("deny", tool=("[ab]c]*",))),
        (rule("ask", tool=("a*b",)), rule("deny", tool=("a*bc",))),
        (rule("ask", tool=("a",)), rule("deny", tool=("a*",))),
        (rule("ask", trait=("exec",)), rule("allow", tool=("a",))),
        (rule("ask", argument={"a": ("x",)}), rule("deny", argument={"b": ("x",)})),
        (rule("ask", argument={"a": ("x",)}), rule("deny")),
        (rule("allow", argument={"a": ("x*",)}), rule("allow", argument={"a": ("xy",)})),
        (rule("allow", argument={"a": ("x",)}), rule("deny", argument={"a": ("x",)})),
        (rule("allow", argument={"a": ("x",)}), rule("allow", tool=("a",))),
        (rule("allow", path=("a",)), rule("deny", path=("a",))),
        (rule("allow", host=("a",)), rule("deny", host=("a",))),
        (rule("ask", path=("a",)), rule("deny", path=("b",))),
        (rule("ask", path=("a/**",)), rule("deny", path=("*/b",))),
        (rule("ask", path=("b/*",)), rule("deny", path=("b/**",))),
        (rule("ask", path=("[a]/**",)), rule("deny", path=("[a]/*]/b",))),
        (rule("ask", path=("a",), host=("a",)), rule("deny", path=("a",))),
        (rule("ask", host=("a.org",)), rule("deny", host=("*.a.org",))),
        (rule("ask", host=("*.a.org",)), rule("deny", host=("*",))),
        (rule("ask", host=("*.a.org",)), rule("deny", host=("a.org",))),
        (rule("ask", tainted=True), rule("deny")),
        (rule("ask", tainted=True), rule("deny", tainted=False)),
    ],
)
def test_a_rule_that_may_miss_a_call_covers_nothing(early: Rule, late: Rule) -> None:
    assert not covers(early, late)


def test_a_rule_takes_all_only_without_a_real_condition() -> None:
    assert takes_all(rule("deny"))
    assert takes_all(rule("allow", tool=("*",)))
    assert not takes_all(rule("allow", tool=("*",), path=("**",)))
    assert not takes_all(rule("allow", tool=("a*",)))
    assert not takes_all(rule("ask", tainted=False))
    assert not takes_all(rule("ask", trait=("!exec",)))


def test_calls_that_may_reach_any_host_pass_by_what_does_not_allow_it() -> None:
    plain, granted = rule("allow", tool=("a",)), rule("allow", tool=("a",), host=("*",))
    for late in (granted, rule("ask", tool=("a",)), rule("deny", tool=("a",))):
        assert covers(plain, late)
        assert not covers(plain, late, reaching=True)
    assert covers(plain, rule("allow", tool=("a",), host=("a.org",)), reaching=True)
    assert covers(granted, granted, reaching=True)
    assert covers(rule("deny", tool=("a",)), granted, reaching=True)


@settings(max_examples=150)
@given(rules, rules, facts)
@pytest.mark.no_cover  # other tests walk the same ways
def test_what_is_covered_is_never_reached(early: Rule, late: Rule, known: Facts) -> None:
    if covers(early, late, reaching=ANY_HOST in known.hosts) and late.matches(known):
        assert early.matches(known)
