from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import BadPolicy
from callblocks.core.outcomes import FAILURES
from callblocks.policy.policy import Decision, Policy
from callblocks.policy.rules import Facts, Rule
from callblocks.tools.tool import Traits
from support.policies import facts, policies, rules

HARMLESS = Traits(read_only=True, destructive=False)
PAGE = ("a page", "a mail")
ALLOW = Rule(decide="allow", tool=("act",), because="it is mine")
ALLOW_ALL = Rule(decide="allow", tool=("*",))
ASK = Rule(decide="ask", tool=("act",), because="it costs")
DENY = Rule(decide="deny", tool=("act",))


def decide(*given: Rule, **known: Any) -> Decision:
    return Policy(given).decide(Facts(**{"tool": "act", "person": True, **known}))


@pytest.mark.parametrize("policy", [Policy(), Policy.off(), Policy((ALLOW,), autoexec=False)])
@pytest.mark.parametrize("person", [True, False])
def test_off_means_that_nothing_runs_and_nobody_is_asked(policy: Policy, person: bool) -> None:
    assert not policy.enabled
    assert policy.decide(Facts(tool="act", person=person)) == Decision(
        verdict="deny", code="policy_off", reason="the policy is off"
    )


def test_a_policy_is_on_if_it_has_rules_or_says_so() -> None:
    assert Policy((ALLOW,)).enabled
    assert Policy(autoexec=True).enabled
    assert Policy.ask_all() == Policy(autoexec=True)
    assert Policy((ALLOW,)).autoexec is True
    assert Policy().autoexec is False
    assert Policy().name == ""


def test_a_policy_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('[[rule]]\ndecide = "deny"\ntool = ["act"]\n')
    assert Policy.from_file(file).rules == Policy.from_file(str(file)).rules == (DENY,)
    for text in ("[[rule", '[[rule]]\ndecide = "maybe"\n'):
        file.write_text(text)
        with pytest.raises(BadPolicy):
            Policy.from_file(file)
    with pytest.raises(BadPolicy):
        Policy.from_file(tmp_path / "none.toml")


def test_what_a_decision_does_not_say_is_nothing() -> None:
    decision = Decision(verdict="allow")
    assert (decision.code, decision.reason, decision.rule) == ("", "", None)
    assert (decision.number, decision.asked) == (0, False)


def test_what_no_rule_names_is_asked_of_a_person() -> None:
    known: dict[str, Any] = {
        "code": "approval_required",
        "reason": "no rule names this call",
        "asked": True,
    }
    assert decide(ALLOW, tool="other") == Decision(verdict="ask", **known)
    assert decide(ALLOW, tool="other", person=False) == Decision(verdict="deny", **known)
    assert Policy.ask_all().decide(Facts(tool="act", person=True)).verdict == "ask"


def test_an_allow_lets_the_call_run() -> None:
    assert decide(ALLOW, person=False) == Decision(
        verdict="allow", rule=ALLOW, number=1, reason="rule 1 of the policy allows: it is mine"
    )
    assert decide(ALLOW_ALL).reason == "rule 1 of the policy allows"
    assert decide(ALLOW_ALL).code == ""
    assert decide(ALLOW_ALL).asked is False


def test_a_deny_is_final() -> None:
    for person in (True, False):
        assert decide(ASK, DENY, tool="act", person=person).verdict != "allow"
        assert decide(DENY, ALLOW, person=person) == Decision(
            verdict="deny",
            code="policy_denied",
            rule=DENY,
            number=1,
            reason="rule 1 of the policy denies",
        )


def test_an_ask_without_a_person_is_a_deny_that_an_approval_may_lift() -> None:
    known: dict[str, Any] = {
        "code": "approval_required",
        "rule": ASK,
        "number": 1,
        "reason": "rule 1 of the policy asks: it costs",
        "asked": True,
    }
    assert decide(ASK) == Decision(verdict="ask", **known)
    assert decide(ASK, person=False) == Decision(verdict="deny", **known)


def test_the_first_rule_that_matches_decides() -> None:
    other = Rule(decide="deny", tool=("other",))
    decision = decide(other, ALLOW, DENY)
    assert (decision.verdict, decision.rule, decision.number) == ("allow", ALLOW, 2)


def test_a_tool_that_needs_approval_is_asked_unless_the_rule_names_it() -> None:
    assert decide(ALLOW, needs_approval=True).verdict == "allow"
    decision = decide(ALLOW_ALL, needs_approval=True)
    assert (decision.verdict, decision.code, decision.asked) == ("ask", "approval_required", True)
    assert (decision.rule, decision.number) == (ALLOW_ALL, 1)
    assert decision.reason == (
        "rule 1 of the policy allows, but act needs approval, and the rule does not name it"
    )
    assert decide(ALLOW_ALL, needs_approval=True, person=False).verdict == "deny"


@pytest.mark.parametrize(
    "traits",
    [
        Traits(destructive=True),
        Traits(destructive=False, open_world=True),
        Traits(read_only=True, destructive=False, kind="exec"),
    ],
)
def test_a_tainted_turn_asks_before_what_can_harm(traits: Traits) -> None:
    assert decide(ALLOW, traits=traits).verdict == "allow"
    decision = decide(ALLOW, traits=traits, tainted=PAGE)
    assert (decision.verdict, decision.code, decision.asked) == ("ask", "approval_required", True)
    assert decision.reason == (
        "rule 1 of the policy allows, but text of others is in this turn (a page, a mail)"
    )
    assert decide(ALLOW, traits=traits, tainted=PAGE, person=False).verdict == "deny"


@pytest.mark.parametrize("kind", ["plain", "writer", "source"])
def test_a_tainted_turn_allows_what_cannot_harm(kind: Any) -> None:
    traits = Traits(read_only=True, destructive=False, kind=kind)
    assert decide(ALLOW, traits=traits, tainted=PAGE).verdict == "allow"


def test_only_a_rule_for_tainted_turns_allows_harm_in_one() -> None:
    for_tainted = Rule(decide="allow", tool=("*",), tainted=True)
    assert decide(for_tainted, tainted=PAGE).verdict == "allow"
    assert decide(for_tainted).rule is None
    for_clean = Rule(decide="allow", tool=("*",), tainted=False)
    assert decide(for_clean, tainted=PAGE).rule is None


def test_a_rule_for_tainted_turns_does_not_lift_the_need_for_approval() -> None:
    for_tainted = Rule(decide="allow", tool=("*",), tainted=True)
    assert decide(for_tainted, tainted=PAGE, needs_approval=True).verdict == "ask"
    named = Rule(decide="allow", tool=("act",), tainted=True)
    assert decide(named, tainted=PAGE, needs_approval=True).verdict == "allow"


def test_what_is_no_rule_is_refused_by_number() -> None:
    with pytest.raises(BadPolicy, match=r"^rule 2: 'allow' is no Rule$"):
        Policy((ALLOW, "allow"))  # pyright: ignore[reportArgumentType] the mistake


def test_rules_in_a_list_are_kept_as_they_were() -> None:
    given = [ALLOW]
    policy = Policy(given)  # pyright: ignore[reportArgumentType] callers do
    given.clear()
    assert policy.rules == (ALLOW,)


def test_a_digest_is_the_same_for_all_that_decides_the_same() -> None:
    policy = Policy((ALLOW,), "a.toml")
    assert re.fullmatch("[0-9a-f]{64}", policy.digest)
    said_otherwise = msgspec.structs.replace(ALLOW, because="other words")
    assert Policy((said_otherwise,), "b.toml", True).digest == policy.digest
    one, other = (
        Rule(decide="allow", argument=dict(pairs))
        for pairs in ([("a", ("1",)), ("b", ("2",))], [("b", ("2",)), ("a", ("1",))])
    )
    assert Policy((one,)).digest == Policy((other,)).digest


def test_a_digest_stays_what_it_is() -> None:
    assert Policy().digest == "46787ae49b4a3e2c29e01663128c6468fa03b90d484b6b48ce7ee4b77d190d5f"
    assert (
        Policy((ALLOW,)).digest
        == "857c7b88b23bf13a4d896aeacc9f0d90ca55a85c27f64760c1f21ba4248d521d"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"decide": "ask"},
        {"tool": ("act*",)},
        {"trait": ("exec",)},
        {"argument": {"a": ("1",)}},
        {"path": ("a",)},
        {"host": ("a",)},
        {"tainted": False},
        {"tainted": True},
    ],
)
def test_a_digest_changes_with_all_that_decides(change: dict[str, Any]) -> None:
    changed = msgspec.structs.replace(ALLOW, **change)
    assert Policy((changed,)).digest != Policy((ALLOW,)).digest


def test_a_digest_changes_with_the_order_and_the_switch() -> None:
    digests = {
        Policy((ALLOW, DENY)).digest,
        Policy((DENY, ALLOW)).digest,
        Policy((ALLOW,)).digest,
        Policy((ALLOW,), autoexec=False).digest,
        Policy().digest,
        Policy.ask_all().digest,
    }
    assert len(digests) == 6


@given(policies, facts)
def test_a_decision_is_made_for_every_call(policy: Policy, known: Facts) -> None:
    decision = policy.decide(known)
    assert decision.code in ("", *FAILURES)
    assert (decision.code == "") == (decision.verdict == "allow")
    assert decision.asked == (decision.code == "approval_required")
    assert decision.verdict != "ask" or known.person
    assert decision.reason
    if decision.verdict == "allow":
        assert policy.enabled
        assert decision.rule is not None
        assert decision.rule.decide == "allow"
        assert policy.rules[decision.number - 1] is decision.rule


@given(policies, st.lists(rules, max_size=2), facts)
def test_a_deny_at_the_top_never_turns_a_deny_into_an_allow(
    policy: Policy, more: list[Rule], known: Facts
) -> None:
    denies = tuple(msgspec.structs.replace(rule, decide="deny") for rule in more)
    stricter = Policy((*denies, *policy.rules), autoexec=policy.autoexec)
    if policy.decide(known).verdict != "allow":
        assert stricter.decide(known).verdict != "allow"
    if stricter.decide(known).verdict == "allow":
        assert policy.decide(known).verdict == "allow"


@given(rules, facts, st.data())
def test_one_more_unsafe_path_or_host_never_helps_a_call(
    rule: Rule, known: Facts, data: st.DataObject
) -> None:
    field = data.draw(st.sampled_from(("paths", "hosts")))
    worse = msgspec.structs.replace(known, **{field: (*getattr(known, field), None)})
    if rule.decide == "allow":
        assert rule.matches(known) or not rule.matches(worse)
    else:
        assert rule.matches(worse) or not rule.matches(known)


@given(policies, facts)
def test_a_taint_and_a_need_for_approval_never_help_a_call(policy: Policy, known: Facts) -> None:
    unconditional = all(rule.tainted is None for rule in policy.rules)
    worse = msgspec.structs.replace(known, tainted=("a page",), needs_approval=True)
    if unconditional and policy.decide(worse).verdict == "allow":
        assert policy.decide(known).verdict == "allow"


def test_a_rule_that_fits_because_a_path_or_url_is_unsafe_says_so() -> None:
    no_keys = Policy((Rule(decide="deny", path=("keys/**",), because="keys stay"),))
    decision = no_keys.decide(Facts(tool="read", paths=(None,)))
    assert decision.reason == "rule 1 of the policy denies: keys stay (a path leaves the workspace)"
    assert no_keys.decide(Facts(tool="read", paths=("keys/a",))).reason == (
        "rule 1 of the policy denies: keys stay"
    )
    no_host = Policy((Rule(decide="ask", host=("example.org",)),))
    asked = no_host.decide(Facts(tool="get", hosts=(None,)))
    assert asked.reason == "rule 1 of the policy asks (a URL has no host that can be asked)"
    assert (
        no_host.decide(Facts(tool="get", hosts=("example.org",))).reason
        == "rule 1 of the policy asks"
    )
    both = Policy((Rule(decide="deny", tool=("*",)),))
    assert (
        both.decide(Facts(tool="x", paths=(None,), hosts=(None,))).reason
        == "rule 1 of the policy denies"
    )


REACHES: dict[str, Any] = {
    "hosts": ("*",),
    "traits": Traits(open_world=True, kind="exec"),
    "needs_approval": True,
}
GRANT = Rule(decide="allow", tool=("act",), host=("a.org", "*"))


def test_an_allow_grants_any_host_only_where_it_says_so() -> None:
    for rule in (ALLOW, ALLOW_ALL, Rule(decide="allow", tool=("act",), host=("a.org", "*.org"))):
        decision = decide(rule, **REACHES)
        assert (decision.verdict, decision.asked, decision.number) == ("ask", True, 0)
        assert decision.reason == "no rule names this call (the call may reach any host)"
        assert decide(rule, **REACHES, person=False).verdict == "deny"
        assert decide(rule, GRANT, **REACHES).verdict == "allow"
    decision = decide(GRANT, **REACHES)
    assert decision.reason == "rule 1 of the policy allows (the call may reach any host)"
    assert decide(GRANT).verdict == "ask"


def test_a_grant_of_any_host_still_has_to_name_a_tool_and_to_trust_the_turn() -> None:
    by_pattern = Rule(decide="allow", tool=("*",), host=("*",))
    decision = decide(by_pattern, **REACHES)
    assert decision.verdict == "ask"
    assert decision.reason.endswith("does not name it (the call may reach any host)")
    assert decide(GRANT, **REACHES, tainted=PAGE).verdict == "ask"
    trusts = Rule(decide="allow", tool=("act",), host=("*",), tainted=True)
    assert decide(trusts, **REACHES, tainted=PAGE).verdict == "allow"


@pytest.mark.parametrize("word", ["ask", "deny"])
@pytest.mark.parametrize("conditions", [{"trait": ("open_world",)}, {"host": ("a.org",)}])
def test_what_is_asked_or_denied_of_one_host_is_of_a_call_that_may_reach_any(
    word: Any, conditions: Any
) -> None:
    rule = Rule(decide=word, **conditions, because="not out")
    decision = decide(rule, GRANT, **REACHES)
    assert (decision.verdict, decision.number) == (word, 1)
    assert decision.reason.endswith("not out (the call may reach any host)")
    assert decide(rule, ALLOW, needs_approval=True).verdict == "allow"


@given(policies, facts)
def test_nothing_that_may_reach_any_host_is_allowed_without_a_rule_that_says_so(
    policy: Policy, known: Facts
) -> None:
    decision = policy.decide(msgspec.structs.replace(known, hosts=(*known.hosts, "*")))
    if decision.verdict == "allow":
        assert decision.rule is not None
        assert "*" in decision.rule.host
