from __future__ import annotations

import msgspec
import pytest

from callblocks.policy.policy import Policy, redirect_refusal
from callblocks.policy.rules import Facts, Rule
from callblocks.tools.tool import Traits

OURS = Rule(decide="allow", tool=("api_call",), host=("example.org", "*.example.org"))
FACTS = Facts(
    tool="api_call",
    traits=Traits(open_world=True),
    input={"url": "https://example.org/", "method": "GET", "body": None},
    hosts=("example.org",),
    person=True,
)
DOCS = "https://docs.example.org/a"


def test_a_redirect_goes_where_the_policy_allows() -> None:
    assert redirect_refusal(Policy((OURS,)), FACTS, DOCS) is None


def test_a_redirect_elsewhere_is_refused_and_nobody_is_asked() -> None:
    refusal = redirect_refusal(Policy((OURS,)), FACTS, "https://evil.example/")
    assert refusal == "https://evil.example/ was not followed: no rule names this call"


def test_under_a_policy_that_is_off_no_redirect_is_followed() -> None:
    assert redirect_refusal(Policy(), FACTS, DOCS) is not None


def test_in_a_tainted_turn_no_redirect_goes_elsewhere() -> None:
    tainted = Facts(tool="api_call", traits=FACTS.traits, hosts=FACTS.hosts, tainted=("a page",))
    assert redirect_refusal(Policy((OURS,)), tainted, DOCS) is not None


def test_the_other_arguments_count_as_they_were_and_the_url_as_it_is_now() -> None:
    get = Rule(decide="allow", tool=("api_call",), argument={"method": ("GET",)})
    assert redirect_refusal(Policy((get,)), FACTS, DOCS) is None
    only = Rule(decide="allow", tool=("api_call",), argument={"url": ("https://example.org/*",)})
    assert redirect_refusal(Policy((only,)), FACTS, DOCS) is not None


def test_each_url_of_a_list_is_the_one_that_is_led_to() -> None:
    urls = ["https://example.org/", "https://example.org/b"]
    facts = msgspec.structs.replace(FACTS, input={"urls": urls, "tags": ["a"]})
    within = Rule(decide="allow", tool=("*",), argument={"urls": ('*"https://example.org/*',)})
    assert redirect_refusal(Policy((within,)), facts, "https://example.org/c") is None
    assert redirect_refusal(Policy((within,)), facts, DOCS) is not None
    tagged = Rule(decide="allow", tool=("*",), argument={"tags": ('[[]"a"]',)})
    assert redirect_refusal(Policy((tagged,)), facts, DOCS) is None


SAME = "https://example.org/next"


@pytest.mark.parametrize("policy", [Policy.ask_all(), Policy((Rule(decide="ask", tool=("*",)),))])
def test_a_call_that_a_person_approved_goes_on_within_the_host(policy: Policy) -> None:
    for person in (True, False):
        facts = msgspec.structs.replace(FACTS, person=person)
        assert redirect_refusal(policy, facts, SAME) is None
        for elsewhere in (DOCS, "https://evil.example/", "file:///etc/passwd"):
            assert redirect_refusal(policy, facts, elsewhere) is not None


def test_a_call_that_was_allowed_is_judged_anew_within_the_host_too() -> None:
    page = Rule(decide="allow", tool=("api_call",), argument={"url": ("https://example.org/",)})
    refusal = redirect_refusal(Policy((page,)), FACTS, SAME)
    assert refusal == f"{SAME} was not followed: no rule names this call"
    assert redirect_refusal(Policy((OURS,)), FACTS, SAME) is None


def test_what_is_denied_stays_so_whatever_a_person_approved() -> None:
    deny = Rule(decide="deny", argument={"url": ("*/next",)})
    refusal = redirect_refusal(Policy((deny,), autoexec=True), FACTS, SAME)
    assert refusal == f"{SAME} was not followed: rule 1 of the policy denies"


def test_a_person_who_was_asked_about_no_host_was_asked_about_none() -> None:
    unsafe = msgspec.structs.replace(FACTS, hosts=(None,))
    assert redirect_refusal(Policy.ask_all(), unsafe, "file:///etc/passwd") is not None


def test_a_url_that_cannot_be_asked_is_not_followed() -> None:
    assert redirect_refusal(Policy((OURS,)), FACTS, "file:///etc/passwd") is not None


def test_an_argument_without_a_host_is_no_url() -> None:
    unsafe = Facts(tool="api_call", input={"note": "x"}, hosts=(None,))
    rule = Rule(decide="allow", tool=("api_call",), argument={"note": ("x",)})
    assert redirect_refusal(Policy((rule,)), unsafe, DOCS) is None
