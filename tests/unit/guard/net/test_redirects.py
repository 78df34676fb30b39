from __future__ import annotations

import pytest

from callblocks.core.errors import ToolError
from callblocks.core.urls import read_url
from callblocks.guard.net.client import METHODS, HttpRequest, Redirect, read_redirect

HEADERS = (
    *(("accept", "*/*"), ("authorization", "x"), ("content-type", "text/plain")),
    ("idempotency-key", "k"),
)


def request(
    method: str = "GET", body: bytes = b"", url: str = "https://a.example/x"
) -> HttpRequest:
    return HttpRequest(read_url(url), method, HEADERS, body)


def followed(redirect: Redirect | None) -> HttpRequest:
    assert redirect is not None
    assert redirect.request is not None
    return redirect.request


@pytest.mark.parametrize("status", [200, 204, 300, 304, 305, 306, 400, 500])
def test_another_status_leads_nowhere(status: int) -> None:
    assert read_redirect(request(), status, "/y") is None


def test_a_redirect_without_a_location_leads_nowhere() -> None:
    assert read_redirect(request(), 302, None) is None


@pytest.mark.parametrize("status", [301, 302])
def test_post_becomes_get_and_other_methods_stay(status: int) -> None:
    methods = {m: followed(read_redirect(request(m), status, "/y")).method for m in METHODS}
    assert methods == {m: "GET" if m == "POST" else m for m in METHODS}


def test_after_303_all_but_head_become_get() -> None:
    methods = {m: followed(read_redirect(request(m), 303, "/y")).method for m in METHODS}
    assert methods == {m: "HEAD" if m == "HEAD" else "GET" for m in METHODS}


@pytest.mark.parametrize("status", [307, 308])
def test_method_body_and_headers_stay_at_the_same_origin(status: int) -> None:
    going = followed(read_redirect(request("PUT", b"body"), status, "/y"))
    assert going == HttpRequest(read_url("https://a.example/y"), "PUT", HEADERS, b"body")


def test_a_body_that_is_dropped_takes_its_headers_with_it() -> None:
    going = followed(read_redirect(request("POST", b"body"), 302, "/y"))
    assert going.body == b""
    assert going.headers == (("accept", "*/*"), ("authorization", "x"))


def test_only_harmless_headers_go_to_another_origin() -> None:
    going = followed(read_redirect(request(), 302, "https://b.example/"))
    assert going.headers == (("accept", "*/*"),)


@pytest.mark.parametrize(
    ("method", "body", "location"),
    [
        ("POST", b"body", "https://b.example/"),
        ("POST", b"", "https://b.example/"),
        ("DELETE", b"", "https://b.example/"),
        ("GET", b"body", "https://b.example/"),
        ("GET", b"", "http://a.example/"),
        ("GET", b"", "http://b.example/"),
    ],
)
def test_what_must_not_leave_by_itself_is_left_to_the_caller(
    method: str, body: bytes, location: str
) -> None:
    assert read_redirect(request(method, body), 307, location) == Redirect(read_url(location))


def test_http_may_go_on_to_https() -> None:
    going = followed(read_redirect(request(url="http://a.example/x"), 301, "https://a.example/x"))
    assert (going.url.scheme, going.headers) == ("https", (("accept", "*/*"),))


def test_a_location_that_is_no_url_is_an_error() -> None:
    with pytest.raises(ToolError) as caught:
        read_redirect(request(), 302, "file:///etc/passwd")
    assert caught.value.code == "invalid_url"
