from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.guard.net.client import Response


def response(kind: str, body: bytes = b"") -> Response:
    headers = (("content-type", kind),) if kind else ()
    return Response(status=200, url="http://example.com/", headers=headers, body=body)


TEXTS = {
    "text/plain": ("ä€".encode(), "ä€"),
    "text/plain; charset=utf-8": (b"\xef\xbb\xbfa", "a"),
    "text/html; charset=ISO-8859-1": (b"\xe4", "ä"),
    'text/html;charset="windows-1251"': (b"\xff", "я"),
    "text/csv; charset=shift_jis": (b"\x82\xa0", "あ"),
    "text/css": (b"\xe4\x80", "ä€"),
    "text/html; charset=utf-8": (b"a\xff", "a\ufffd"),
    "text/plain; charset=punycode": (b"abc-", "abc-"),
    "text/plain; charset=unicode_escape": (rb"\u0041", r"\u0041"),
    "text/plain; charset=iso-8859-99": (b"abc", "abc"),
    "text/plain; charset=": (b"abc", "abc"),
    "Application/JSON": (b"{}", "{}"),
    "application/problem+json": (b"{}", "{}"),
    "application/atom+xml": (b"<a/>", "<a/>"),
    "image/svg+xml": (b"<svg/>", "<svg/>"),
    "application/x-www-form-urlencoded": (b"a=b", "a=b"),
    "": (b"plain", "plain"),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_text_is_read_as_it_says_it_is_written(kind: str) -> None:
    body, text = TEXTS[kind]
    assert response(kind, body).text == text


@pytest.mark.parametrize("kind", ["image/png", "application/pdf", "application/octet-stream"])
def test_another_kind_is_no_text(kind: str) -> None:
    assert response(kind, b"plain").text is None


@pytest.mark.parametrize("body", [b"a\0b", b"\xff\xfe\xfd"])
def test_a_body_of_no_kind_is_text_only_if_it_looks_like_it(body: bytes) -> None:
    assert response("", body).text is None


@given(st.text(max_size=60), st.binary(max_size=60))
def test_no_kind_and_no_body_raises(kind: str, body: bytes) -> None:
    for said in (kind, f"text/plain; charset={kind}"):
        text = response(said, body).text
        assert text is None or isinstance(text, str)


def test_headers_of_one_name_are_joined() -> None:
    answer = Response(status=200, url="", headers=(("link", "a"), ("vary", "x"), ("link", "b")))
    assert (answer.header("Link"), answer.header("etag")) == ("a, b", "")
