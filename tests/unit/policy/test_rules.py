from __future__ import annotations

from typing import Any

import pytest

from callblocks.core.errors import BadPolicy
from callblocks.policy.rules import Facts, Rule
from callblocks.tools.tool import Traits
from support.policies import exec_traits

HARD = ("ask", "deny")
ALL = ("allow", *HARD)


def fits(decide: Any, conditions: dict[str, Any], **facts: Any) -> bool:
    return Rule(decide=decide, **conditions).matches(Facts(**{"tool": "act", **facts}))


@pytest.mark.parametrize("decide", ALL)
def test_a_tool_is_named_by_any_of_the_patterns(decide: str) -> None:
    assert fits(decide, {"tool": ("x", "a*")})
    assert not fits(decide, {"tool": ("x", "b*")})
    assert not fits(decide, {"tool": ("ACT",)})


def test_patterns_may_be_given_as_lists() -> None:
    lists: dict[str, Any] = {"tool": ["a"], "trait": ["exec"], "path": ["b/**"], "host": ["c"]}
    tuples: dict[str, Any] = {key: tuple(value) for key, value in lists.items()}
    made = Rule(decide="deny", **lists)
    assert made == Rule(decide="deny", **tuples)
    assert made.tool == ("a",)
    lists["tool"].append("z")
    assert made.tool == ("a",)


def test_a_list_of_what_is_no_pattern_is_refused() -> None:
    with pytest.raises(BadPolicy, match=r"^tool: "):
        Rule(decide="deny", tool=[7])  # pyright: ignore[reportArgumentType] a caller errs


@pytest.mark.parametrize("decide", HARD)
def test_a_rule_without_conditions_is_for_every_call(decide: str) -> None:
    assert fits(decide, {})


@pytest.mark.parametrize("decide", ALL)
@pytest.mark.parametrize(
    ("trait", "holds"),
    [
        (("read_only",), True),
        (("destructive",), False),
        (("!destructive",), True),
        (("!read_only",), False),
        (("read_only", "!open_world"), True),
        (("read_only", "open_world"), False),
        (("exec",), True),
        (("!exec",), False),
        (("plain",), False),
        (("!plain",), True),
    ],
)
def test_every_trait_must_hold(decide: str, trait: tuple[str, ...], holds: bool) -> None:
    traits = Traits(read_only=True, destructive=False, kind="exec")
    assert fits(decide, {"trait": trait}, traits=traits) is holds


def test_a_plain_tool_has_the_kind_plain() -> None:
    assert fits("deny", {"trait": ("plain",)}, traits=Traits())


@pytest.mark.parametrize("decide", ALL)
def test_an_argument_fits_as_a_whole(decide: str) -> None:
    rule = {"argument": {"a": ("x", "y*")}}
    assert fits(decide, rule, input={"a": "yes"})
    assert not fits(decide, rule, input={"a": "no y"})
    assert not fits(decide, rule, input={"b": "yes"})
    assert not fits(decide, rule, input={})


@pytest.mark.parametrize("decide", ALL)
def test_every_named_argument_must_fit(decide: str) -> None:
    rule = {"argument": {"a": ("1",), "b.c": ("true",)}}
    assert fits(decide, rule, input={"a": 1, "b": {"c": True}})
    assert not fits(decide, rule, input={"a": 1, "b": {"c": False}})
    assert not fits(decide, rule, input={"a": 1})


def test_a_name_that_means_two_values_needs_both_to_allow_and_one_to_deny() -> None:
    rule = {"argument": {"a.b": ("x",)}}
    both = {"a.b": "x", "a": {"b": "y"}}
    assert not fits("allow", rule, input=both)
    assert fits("ask", rule, input=both)
    assert fits("deny", rule, input=both)


def test_a_value_that_cannot_be_read_is_denied_and_not_allowed() -> None:
    rule = {"argument": {"a": ("x",)}}
    assert not fits("allow", {"argument": {"a": ("*",)}}, input={"a": b"x"})
    assert fits("ask", rule, input={"a": b"x"})
    assert fits("deny", rule, input={"a": b"x"})


def test_an_allow_reads_a_command_strictly() -> None:
    rule = {"argument": {"command": ("git log*",)}}
    good = {"command": "git log --oneline"}
    bad = {"command": "git log; reboot"}
    assert fits("allow", rule, traits=exec_traits, input=good)
    assert not fits("allow", rule, traits=exec_traits, input=bad)
    assert fits("allow", rule, traits=Traits(kind="plain"), input=bad)


@pytest.mark.parametrize("decide", HARD)
def test_ask_and_deny_take_a_command_as_it_is(decide: str) -> None:
    rule = {"argument": {"command": ("rm *",)}}
    assert fits(decide, rule, traits=exec_traits, input={"command": "rm -rf / ; echo"})


@pytest.mark.parametrize(
    ("paths", "allowed", "denied"),
    [
        ((), False, False),
        (("notes/a",), True, True),
        (("notes/a", "notes/b"), True, True),
        (("notes/a", "keys/k"), False, True),
        (("keys/k", "notes/a"), False, True),
        (("keys/k",), False, False),
        ((None,), False, True),
        (("notes/a", None), False, True),
        (("keys/k", None), False, True),
    ],
)
def test_an_allow_needs_all_paths_and_a_deny_any(
    paths: tuple[str | None, ...], allowed: bool, denied: bool
) -> None:
    rule = {"path": ("notes/**", "other")}
    assert fits("allow", rule, paths=paths) is allowed
    assert fits("ask", rule, paths=paths) is denied
    assert fits("deny", rule, paths=paths) is denied


@pytest.mark.parametrize(
    ("hosts", "allowed", "denied"),
    [
        ((), False, False),
        (("a.example.org",), True, True),
        (("a.example.org", "evil.net"), False, True),
        (("evil.net",), False, False),
        ((None,), False, True),
        (("a.example.org", None), False, True),
    ],
)
def test_an_allow_needs_all_hosts_and_a_deny_any(
    hosts: tuple[str | None, ...], allowed: bool, denied: bool
) -> None:
    rule = {"host": ("*.example.org", "other.org")}
    assert fits("allow", rule, hosts=hosts) is allowed
    assert fits("ask", rule, hosts=hosts) is denied
    assert fits("deny", rule, hosts=hosts) is denied


@pytest.mark.parametrize("decide", ALL)
def test_a_rule_may_be_for_tainted_turns_or_for_others(decide: str) -> None:
    tainted, clean = {"tainted": ("a page",)}, {"tainted": ()}
    for_tainted, for_clean, for_all = (
        {"tool": ("*",), "tainted": said} for said in (True, False, None)
    )
    assert fits(decide, for_tainted, **tainted)
    assert not fits(decide, for_tainted, **clean)
    assert not fits(decide, for_clean, **tainted)
    assert fits(decide, for_clean, **clean)
    assert fits(decide, for_all, **tainted)
    assert fits(decide, for_all, **clean)


def test_the_first_condition_that_does_not_hold_is_told() -> None:
    rule = Rule(
        decide="allow",
        tool=("act",),
        trait=("exec",),
        argument={"a": ("1",)},
        path=("p",),
        host=("h",),
        tainted=False,
    )
    good: dict[str, Any] = {
        "tool": "act",
        "traits": exec_traits,
        "input": {"a": 1},
        "paths": ("p",),
        "hosts": ("h",),
    }
    assert rule.failing(Facts(**good)) is None
    assert rule.failing(Facts(tool="x")) == "tool"
    assert rule.failing(Facts(**{**good, "traits": Traits(), "input": {}})) == "trait"
    assert rule.failing(Facts(**{**good, "input": {}, "paths": ()})) == "argument"
    assert rule.failing(Facts(**{**good, "paths": (), "hosts": ()})) == "path"
    assert rule.failing(Facts(**{**good, "hosts": (), "tainted": ("x",)})) == "host"
    assert rule.failing(Facts(**good, tainted=("x",))) == "tainted"


def test_a_rule_names_a_tool_only_without_a_wildcard() -> None:
    assert Rule(decide="allow", tool=("x", "act")).names("act")
    assert not Rule(decide="allow", tool=("a*",)).names("act")
    assert not Rule(decide="allow", tool=("a*",)).names("a*")
    assert not Rule(decide="allow", trait=("exec",)).names("act")


def test_what_is_done_to_the_callers_dict_changes_no_rule() -> None:
    argument = {"a": ("1",)}
    rule = Rule(decide="allow", argument=argument)
    argument.clear()
    assert rule.argument == {"a": ("1",)}


def test_what_a_rule_does_not_say_is_no_condition() -> None:
    rule = Rule(decide="ask")
    assert (rule.tool, rule.trait, rule.argument, rule.path, rule.host) == ((), (), {}, (), ())
    assert (rule.tainted, rule.because) == (None, "")


def test_what_is_no_rule_is_refused_by_key() -> None:
    with pytest.raises(BadPolicy, match=r'^tool: "x" is no list of patterns; write \("x",\)$'):
        Rule(decide="allow", tool="x")  # pyright: ignore[reportArgumentType] the mistake
