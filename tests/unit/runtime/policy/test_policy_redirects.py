from __future__ import annotations

from callblocks.runtime.net.client import Client
from callblocks.runtime.policy.policy import Policy
from callblocks.runtime.policy.redirects import redirect_refusal
from callblocks.runtime.policy.rules import Rule
from callblocks.toolkits.http import http_tools

(API_CALL,) = http_tools(Client())
OURS = Rule(decide="allow", tool=("api_call",), host=("example.org", "*.example.org"))


def test_a_redirect_goes_where_the_policy_allows() -> None:
    assert redirect_refusal(Policy((OURS,)), API_CALL, "https://docs.example.org/a") is None


def test_a_redirect_elsewhere_is_refused_and_nobody_is_asked() -> None:
    refusal = redirect_refusal(Policy((OURS,)), API_CALL, "https://evil.example/")
    assert refusal == "https://evil.example/ was not followed: no rule names this call"


def test_under_a_policy_that_is_off_no_redirect_is_followed() -> None:
    assert redirect_refusal(Policy(), API_CALL, "https://example.org/") is not None
