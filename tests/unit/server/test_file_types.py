from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.server.info_routes import file_headers

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
DIGEST = "a" * 64


@pytest.mark.parametrize(
    ("name", "content", "mime"),
    [
        ("a.txt", b"hello", "text/plain; charset=utf-8"),
        ("a.md", b"# hello", "text/plain; charset=utf-8"),
        ("a.json", b'{"a": 1}', "text/plain; charset=utf-8"),
        ("a.png", PNG, "image/png"),
        ("a.pdf", b"%PDF-1.7\n", "application/pdf"),
    ],
)
def test_what_only_shows_is_shown(name: str, content: bytes, mime: str) -> None:
    headers = file_headers(name, DIGEST, content)
    assert headers["content-type"] == mime
    assert headers["content-disposition"].startswith("inline;")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.html", b"<!doctype html><script>alert(1)</script>"),
        ("a.png", b"<!doctype html><script>alert(1)</script>"),
        ("", b"<script>alert(1)</script>"),
        ("a.svg", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"),
        ("a.xml", b"<?xml version='1.0'?><a/>"),
        ("a.js", b"alert(1)"),
        ("a.bin", bytes(range(32))),
        ("a.png", b"GIF89a" + b"\0" * 3),
    ],
)
def test_what_could_act_is_saved_as_bytes(name: str, content: bytes) -> None:
    headers = file_headers(name, DIGEST, content)
    shown = headers["content-disposition"].startswith("inline;")
    assert not shown or headers["content-type"] == "image/gif"
    assert headers["content-type"] in ("application/octet-stream", "image/gif")
    assert headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in headers["content-security-policy"]


@given(st.text(max_size=300))
def test_a_name_never_leaves_its_place_in_the_header(name: str) -> None:
    said = file_headers(name, DIGEST, b"hello")["content-disposition"]
    pattern = (
        r"(inline|attachment); filename=\"[A-Za-z0-9 ._()+-]{1,150}\"; filename\*=UTF-8''[\w.~%-]+"
    )
    assert re.fullmatch(pattern, said, re.ASCII)


@pytest.mark.parametrize("name", ["../../etc/passwd", "..\\..\\boot.ini", "/etc/passwd", "a/b/c"])
def test_a_name_is_no_path(name: str) -> None:
    said = file_headers(name, DIGEST, b"hello")["content-disposition"]
    assert "/" not in said
    assert "\\" not in said
    assert ".." not in said


def test_a_name_in_another_script_is_kept() -> None:
    said = file_headers("отчёт.txt", DIGEST, b"hello")["content-disposition"]
    assert "filename*=UTF-8''%D0%BE%D1%82%D1%87%D1%91%D1%82.txt" in said
