from __future__ import annotations

from typing import Any

import pytest

from callblocks.core.errors import ToolError
from callblocks.guard.net.addresses import port_refusal
from callblocks.guard.net.client import METHODS, HttpRequest, NetLimits, read_request

URL = "http://example.com/"


def read(url: str = URL, method: str = "GET", body: bytes = b"", **headers: str) -> HttpRequest:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return read_request(url, method, named, body, NetLimits(sent=10))


def test_a_request_says_who_asks_and_what_it_can_unpack() -> None:
    assert dict(read().headers) == {
        "user-agent": "callblocks",
        "accept": "*/*",
        "accept-encoding": "gzip, deflate",
    }


def test_headers_of_the_caller_win_whatever_their_case() -> None:
    headers = dict(read(ACCEPT="text/html", User_Agent="me", X_A=" \t b c ").headers)
    assert (headers["accept"], headers["user-agent"], headers["x-a"]) == ("text/html", "me", "b c")


@pytest.mark.parametrize("method", METHODS)
def test_a_method_is_read_in_any_case(method: str) -> None:
    assert read(method=method.lower()).method == method


def test_a_body_has_a_limit() -> None:
    assert read(method="POST", body=b"x" * 10).body == b"x" * 10
    with pytest.raises(ToolError) as caught:
        read(method="POST", body=b"x" * 11)
    assert (caught.value.code, list(caught.value.details)) == ("invalid_input", ["body"])


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        ({"method": "BREW"}, "method", "GET, HEAD"),
        ({"method": ""}, "method", "GET, HEAD"),
        ({"Host": "localhost"}, "headers", "leave it out"),
        ({"Proxy_Anything": "x"}, "headers", "leave it out"),
        ({"X_A": "b\nc"}, "headers", "line break"),
        ({"X_A": "ä"}, "headers", "not ASCII"),
        ({"X A": "b"}, "headers", "no name of a header"),
    ],
)
def test_a_refusal_names_the_field_and_the_way_out(
    given: dict[str, Any], field: str, words: str
) -> None:
    with pytest.raises(ToolError) as caught:
        read(**given)
    assert caught.value.code == "invalid_input"
    assert caught.value.details == {field: caught.value.message}
    assert words in caught.value.message


def test_a_port_of_another_service_is_named_and_others_are_open() -> None:
    assert port_refusal(25) == "mail"
    assert port_refusal(6379) == "a database"
    assert [port_refusal(port) for port in (80, 443, 3000, 5000, 8000, 8080, 8443)] == [None] * 7
