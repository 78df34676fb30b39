from __future__ import annotations

import asyncio
from typing import Any

import pytest

from callblocks.core.errors import ToolError
from callblocks.core.outcomes import Artifact
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.toolkits.http_tools import http_tools
from callblocks.tools.context import Context
from callblocks.tools.tool import Tool
from support.sites import PUBLIC, SECOND, Asked, Net, Site, ok, redirect
from support.tool_runtime import call, run_one

NAMES = {"public.test": [[PUBLIC]], "second.test": [[SECOND]]}
KEPT: list[tuple[str, bytes, str]] = []


def keep(name: str, content: bytes, mime: str) -> Artifact:
    KEPT.append((name, content, mime))
    return Artifact(path=f"kept/{name}", size=len(content), digest="", mime=mime)


def api_call() -> Tool:
    return http_tools(Net().client())[0]


class Call:
    """One call of `api_call` to a site that answers so."""

    def __init__(self, answer: Any, context: Context | None = None, **given: Any) -> None:
        self.context = context or Context("c1", "key-1", keep=keep)
        self.asked: list[Asked] = []
        self.output: Any = asyncio.run(self._run(answer, {"url": "http://public.test/", **given}))

    async def _run(self, answer: Any, given: dict[str, Any]) -> Any:
        async with Site(answer) as site:
            self.asked = site.asked
            net = Net(NAMES, {PUBLIC: site.port, SECOND: site.port})
            (tool,) = http_tools(net.client())
            checked = tool.check(given)
            assert checked.faults == ()
            assert tool.function is not None
            return await tool.function(**checked.values, context=self.context)


def test_a_policy_knows_what_the_tool_is() -> None:
    tool = api_call()
    assert tool.traits.names() == ("destructive", "open_world", "source")
    assert tool.parameters_of_format("uri") == ("url",)
    assert (tool.name, tool.origin, tool.spec.required) == ("api_call", "builtin", ("url",))


def test_the_client_stops_before_the_runtime_does() -> None:
    tool = http_tools(Net().client(deadline=7))[0]
    assert tool.timeout is not None
    assert tool.timeout > 7


def test_an_answer_is_the_output_and_taints_the_turn() -> None:
    call = Call(lambda asked: ok(b"hello", content_type="text/plain", set_cookie="a=b", etag="e"))
    assert call.output == {
        "status": 200,
        "reason": "OK",
        "url": "http://public.test/",
        "headers": {"content-length": "5", "content-type": "text/plain", "etag": "e"},
        "body": "hello",
    }
    assert call.context.taints == ["the answer of public.test"]


@pytest.mark.parametrize(("status", "reason"), [(404, "Not Found"), (503, "Service Unavailable")])
def test_a_refusal_of_the_server_is_an_output_with_its_words(status: int, reason: str) -> None:
    call = Call(lambda asked: ok(b"why", status, content_type="text/plain"))
    assert (call.output["status"], call.output["reason"]) == (status, reason)
    assert call.output["body"] == "why"


def test_a_status_of_no_name_has_no_reason() -> None:
    assert "reason" not in Call(lambda asked: ok(status=299)).output


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "application/problem+json"])
def test_json_is_given_as_values(kind: str) -> None:
    call = Call(lambda asked: ok(b'{"a": [1, null]}', content_type=kind))
    assert call.output["body"] == {"a": [1, None]}
    assert Call(lambda asked: ok(b"null", content_type=kind)).output["body"] is None


@pytest.mark.parametrize("body", ["{broken", "[" * 100_000, "NaN"])
def test_json_that_is_none_is_given_as_text(body: str) -> None:
    call = Call(lambda asked: ok(body.encode(), content_type="application/json"))
    assert call.output["body"] == body


def test_an_empty_answer_has_no_body() -> None:
    assert "body" not in Call(lambda asked: ok(status=204)).output


@pytest.mark.parametrize(
    ("path", "name"), [("a/b.png?c", "b.png"), ("", "response.bin"), ("%2e%2e%2fx", "response.bin")]
)
def test_what_is_no_text_is_kept_as_a_file(path: str, name: str) -> None:
    KEPT.clear()
    url = f"http://public.test/{path}"
    call = Call(lambda asked: ok(b"\x89PNG", content_type="image/png"), url=url)
    assert call.output["body"] == f"[4 bytes of image/png, kept as kept/{name}]"
    assert [(name, b"\x89PNG", "image/png")] == KEPT


def test_what_cannot_be_kept_is_described() -> None:
    call = Call(lambda asked: ok(b"\x00\xff"), Context("c1"))
    assert call.output["body"] == "[2 bytes of no known type, not kept]"


@pytest.mark.parametrize(
    ("body", "sent", "kind"),
    [
        ({"a": "ä"}, '{"a":"ä"}', "application/json"),
        ([1], "[1]", "application/json"),
        ({}, "{}", "application/json"),
        ('{"a": 1}', '{"a": 1}', "application/json"),
        ("{a}", "{a}", "text/plain; charset=utf-8"),
        ("ä", "ä", "text/plain; charset=utf-8"),
        ("3", "3", "text/plain; charset=utf-8"),
    ],
)
def test_a_body_says_what_it_is(body: Any, sent: str, kind: str) -> None:
    (asked,) = Call(lambda asked: ok(), method="POST", body=body).asked
    assert (asked.body.decode(), asked.headers["content-type"]) == (sent, kind)


def test_the_caller_says_it_better() -> None:
    headers = {"content-TYPE": "application/xml", "idempotency-key": "mine"}
    (asked,) = Call(lambda asked: ok(), method="POST", body="<a/>", headers=headers).asked
    assert asked.headers["content-type"] == "application/xml"
    assert asked.headers["idempotency-key"] == "mine"


@pytest.mark.parametrize(
    ("method", "key"), [("POST", "key-1"), ("PATCH", "key-1"), ("GET", None), ("DELETE", None)]
)
def test_what_must_not_happen_twice_has_the_key_of_the_call(method: str, key: str | None) -> None:
    (asked,) = Call(lambda asked: ok(), method=method).asked
    assert asked.headers.get("idempotency-key") == key


@pytest.mark.parametrize("method", ["fetch", "CONNECT", "TRACE", "", " GET"])
def test_a_method_is_one_of_a_list(method: str) -> None:
    url = "http://public.test/"
    outcome = run_one(http_tools(Net().client()), call("api_call", url=url, method=method))
    assert outcome.error
    assert outcome.error.code == "invalid_input"
    methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    assert api_call().spec.properties["method"]["enum"] == methods


@pytest.mark.parametrize("method", ["get", "Get", "GET"])
def test_a_method_is_sent_in_capitals_and_a_rule_says_so(method: str) -> None:
    given = call("api_call", url="http://public.test/", method=method)
    checked = api_call().check(given.input)
    assert checked.values["method"] == "GET"
    denied = Policy((Rule(decide="deny", argument={"method": ("GET",)}),), autoexec=True)
    outcome = run_one(http_tools(Net().client()), given, policy=denied)
    assert outcome.error
    assert outcome.error.code == "policy_denied"


def test_without_a_key_none_is_sent() -> None:
    (asked,) = Call(lambda asked: ok(), Context("c1"), method="POST").asked
    assert "idempotency-key" not in asked.headers


def test_a_redirect_that_is_left_to_the_model_is_told_to_it() -> None:
    call = Call(lambda asked: redirect("http://second.test/x", 307), method="POST", body="a")
    (notice,) = call.context.notices
    assert (notice.code, notice.details) == (
        "redirect_not_followed",
        {"location": "http://second.test/x"},
    )
    assert (call.output["status"], len(call.asked)) == (307, 1)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"url": "http://127.0.0.1/"}, "address_refused"),
        ({"url": "file:///etc/passwd"}, "invalid_url"),
        ({"url": "http://nowhere.test/"}, "host_not_found"),
        ({"headers": {"Host": "localhost"}}, "invalid_input"),
        ({"method": "CONNECT"}, "invalid_input"),
        ({"body": "\ud800"}, "invalid_input"),
    ],
)
def test_what_cannot_be_asked_is_a_failure_with_a_code(given: dict[str, Any], code: str) -> None:
    async def run() -> None:
        function = api_call().function
        assert function is not None
        await function(**{"url": "http://public.test/", "context": Context(), **given})

    with pytest.raises(ToolError) as caught:
        asyncio.run(run())
    assert caught.value.code == code
