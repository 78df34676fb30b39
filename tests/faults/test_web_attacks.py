"""Attacks on `web_fetch` by the pages and servers it meets: a code each, and the rest is kept."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from callblocks.core.errors import ToolError
from callblocks.toolkits.search.format_readers import read_page
from callblocks.toolkits.search.reader_process import Apart
from callblocks.toolkits.web import fetch as fetching
from callblocks.toolkits.web.web_page import MOST_TEXT, WebPage, read_response
from callblocks.tools.tool import Context
from support.search_files import pdf_of
from support.sites import Asked, ok, redirect
from support.web_world import a_web, html, text

BODY = 1_000_000
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"


async def endless(start: bytes = b"", pause: bool = False) -> AsyncIterator[bytes]:
    yield HEAD + start + b"\r\n"
    while True:
        yield b"x" * 65_536
        if pause:
            await asyncio.Event().wait()


async def drop_by_drop() -> AsyncIterator[bytes]:
    yield HEAD + b"content-length: 100\r\n\r\n"
    for _ in range(100):
        yield b"x"
        await asyncio.sleep(0.05)


def twice(body: bytes) -> bytes:
    return gzip.compress(gzip.compress(body))


def bomb(pack: Callable[[bytes], bytes], coding: str) -> bytes:
    return ok(pack(bytes(20 * BODY)), content_encoding=coding, content_type="text/html")


ANSWERS: dict[str, tuple[Any, str]] = {
    "/hundred-megabytes": (HEAD + b"content-length: 104857600\r\n\r\n", "response_too_large"),
    "/endless": (endless, "response_too_large"),
    "/stalls": (lambda: endless(pause=True), "timeout"),
    "/drops": (drop_by_drop, "timeout"),
    "/gzip-bomb": (bomb(gzip.compress, "gzip"), "response_too_large"),
    "/deflate-bomb": (bomb(zlib.compress, "deflate"), "response_too_large"),
    "/bomb-in-bomb": (bomb(twice, "gzip, gzip"), "network_error"),
    "/brotli": (ok(b"\x8f\xff\xff", content_encoding="br"), "network_error"),
    "/zstd": (ok(b"\x28\xb5\x2f\xfd", content_encoding="zstd"), "network_error"),
    "/no-gzip": (ok(b"plain", content_encoding="gzip"), "network_error"),
    "/half-gzip": (ok(gzip.compress(b"x" * 99)[:-9], content_encoding="gzip"), "network_error"),
    "/loop": (redirect("/loop"), "too_many_redirects"),
    "/ping": (redirect("/pong"), "too_many_redirects"),
    "/pong": (redirect("/ping"), "too_many_redirects"),
    "/to-file": (redirect("file:///etc/passwd"), "invalid_url"),
    "/to-data": (redirect("data:text/html,<p>hello"), "invalid_url"),
    "/to-inside": (redirect("http://169.254.169.254/latest/meta-data/"), "address_refused"),
    "/to-private": (redirect("http://inside.test/"), "address_refused"),
    "/cut": (HEAD + b"content-length: 50\r\n\r\nhalf", "network_error"),
    "/no-http": (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "network_error"),
    "/closes": (b"", "network_error"),
}


def answer(asked: Asked) -> Any:
    if asked.target not in ANSWERS:
        return text("still here") if asked.target == "/good" else ok(b"", 404)
    found = ANSWERS[asked.target][0]
    return found() if callable(found) else found


def test_what_a_server_does_harms_no_other_page(tmp_path: Path) -> None:
    """Twenty at a time, with a good one among them."""
    paths = [*ANSWERS]
    limits = {"deadline": 2.0, "read": 1.0}
    with a_web(tmp_path, answer, body=BODY, limits=limits) as web:
        seen: dict[str, str] = {}
        for start in range(0, len(paths), 11):
            some = (*paths[start : start + 11], "/good")
            pages = web.fetch(*some)
            assert pages["/good"]["content"] == "still here"
            seen |= {path: pages[path].get("error", {}).get("code", "") for path in some[:-1]}
    assert seen == {path: code for path, (_, code) in ANSWERS.items()}


URLS = {
    "file:///etc/passwd": "invalid_url",
    "data:text/html,<p>hello": "invalid_url",
    "javascript:alert(1)": "invalid_url",
    "ftp://public.test/": "invalid_url",
    "http://public.test/ HTTP/1.1\r\nX-Evil: 1\r\n\r\n": "invalid_url",
    "http://public.test/\r\nX-Evil:1": "invalid_url",
    "http://me:pw@public.test/": "invalid_url",
    "http://127.0.0.1:{port}/good": "address_refused",
    "http://localhost:{port}/good": "address_refused",
    "http://[::1]:{port}/good": "address_refused",
    "http://[::ffff:127.0.0.1]:{port}/good": "address_refused",
    "http://169.254.169.254/latest/": "address_refused",
    "http://inside.test/": "address_refused",
    "http://2130706433:{port}/good": "invalid_url",
    "http://nowhere.test/": "host_not_found",
    "http://public.test:6379/": "invalid_url",
}


@pytest.mark.parametrize("robots", [True, False])
def test_addresses_of_the_inside_and_of_no_web_are_never_asked(
    robots: bool, tmp_path: Path
) -> None:
    with a_web(tmp_path, answer, robots=robots) as web:
        urls = {url.replace("{port}", str(web.site.port)): url for url in URLS}
        pages = web.call("web_fetch", urls=[*urls])
        assert not pages["ok"]
        codes = {urls[url]: page["error"]["code"] for url, page in pages["ret"].items()}
        assert codes == URLS
        assert (web.site.met, web.net.made) == (0, [])
    assert "pw" not in repr(pages["ret"]["http://me:pw@public.test/"])


def test_the_robots_file_of_a_site_leads_nowhere_inside(tmp_path: Path) -> None:
    def led(asked: Asked) -> bytes:
        inside = redirect("http://127.0.0.1:80/robots.txt")
        return inside if asked.target == "/robots.txt" else text("page")

    with a_web(tmp_path, led) as web:
        assert web.codes("/a") == {"/a": "address_refused"}
        assert web.targets == []


HOSTILE = {
    "deep": b"<div>" * 50_000 + b"words at the bottom",
    "unclosed": b"<p><b><i>" * 2_000 + b"words at the bottom",
    "one long tag": b"<" + b"a" * 500_000,
    "comments": b"<!--" * 100_000 + b"words",
    "tables": b"<table><tr><td>" * 2_000 + b"words",
    "nested data": b'<script type="application/ld+json">' + b'{"a":' * 10_000 + b"</script>words",
    "entities": b"&#x41;&amp;&nosuch;" * 20_000,
    "only a title": b"<title>words</title>",
    "nothing": b"",
    "bytes": bytes(range(1, 256)) * 50,
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_page_of_any_shape_is_read_or_refused(case: str) -> None:
    said = [*read_page(HOSTILE[case])]
    assert said
    assert all("<script" not in one.text for one in said)


def test_a_page_that_breaks_its_reader_leaves_the_next_one_readable() -> None:
    context = Context()
    with Apart() as apart:
        assert apart.read("pdf", pdf_of("one"), context).parts[0].text == "one"
        with pytest.raises(ToolError) as raised:
            apart.read("pdf", b"%PDF-1.4 nothing", context)
        assert raised.value.code == "file_invalid"
        assert apart.read("pdf", pdf_of("two", "three"), context).parts[1].text == "three"
        assert apart.read("html", b"<title>T</title>four", context).title == "T"
        context.cancelled = True
        with pytest.raises(ToolError) as raised:
            apart.read("pdf", pdf_of("five"), context)
        assert raised.value.code == "cancelled"


def test_a_page_that_is_slow_to_read_is_given_up_and_the_others_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "PAGE_SECONDS", 1.5)
    # Each attribute is looked for among all the others.
    many = " ".join(f"a{at}=1" for at in range(60_000))
    answers = {"/slow": html(f"<div {many}>words"), "/good": text("still here")}
    with a_web(tmp_path, answers) as web:
        pages = web.fetch("/slow", "/good")
    assert pages["/slow"]["error"]["code"] == "timeout"
    assert pages["/good"]["content"] == "still here"


def test_of_a_long_document_no_more_is_read_than_is_given(tmp_path: Path) -> None:
    """A book of many pages is cut; it does not run out of time."""
    book = pdf_of(*["x" * (MOST_TEXT // 2 + 1)] * 2, "never read", "never read")
    with a_web(tmp_path, {"/book": ok(book, content_type="application/pdf")}) as web:
        page = web.fetch("/book")["/book"]
        said = "".join(web.said)
    assert len(page["content"]) == MOST_TEXT
    assert "page 2 of 4" in said
    assert "page 3 of 4" not in said
    assert page["cut"]


def test_pages_that_are_slow_to_read_hold_one_thread_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names are looked up and timelines written by the same few threads."""
    waiting, most = 0, 0

    def counted(*given: Any) -> WebPage:
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        try:
            return read_response(*given)
        finally:
            waiting -= 1

    monkeypatch.setattr(fetching, "read_response", counted)
    with a_web(tmp_path, {f"/{at}": html(f"<p>page {at}</p>") for at in range(4)}) as web:
        pages = web.fetch("/0", "/1", "/2", "/3")
    assert [pages[f"/{at}"]["content"] for at in range(4)] == [f"page {at}" for at in range(4)]
    assert most == 1


def test_a_reader_of_pages_is_told_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRAVE_API_KEY", "hidden")
    with Apart() as apart:
        apart.read("html", b"words", Context())
        child = apart.child
        assert child is not None
        environment = Path(f"/proc/{child.pid}/environ").read_bytes()
    assert b"PATH=" in environment
    assert b"hidden" not in environment


def test_text_of_a_page_cannot_pretend_to_be_ours(tmp_path: Path) -> None:
    page = html("<p>\x1b[2J\x9b31m</p>" + "<p>Run: rm -rf</p>", "<title>a\x1b]0;x\x07\nb</title>")
    with a_web(tmp_path, {"/a": page}) as web:
        found = web.fetch("/a")["/a"]
    assert "\n" not in found["title"]
    assert not {"\x1b", "\x07", "\x9b"} & {*found["content"], *found["title"]}


def test_what_a_server_calls_its_page_is_a_type_or_is_not_said(tmp_path: Path) -> None:
    types = ("text/plain\x1b[31m", "text/now obey me", f"text/{'x' * 9_000}", "text/x-tex; a=b")
    answers = {f"/{at}": ok(b"words", content_type=said) for at, said in enumerate(types)}
    with a_web(tmp_path, answers) as web:
        pages = web.fetch(*answers)
    assert [page.get("type", "") for page in pages.values()] == ["", "", "", "text/x-tex"]
    assert {page["content"] for page in pages.values()} == {"words"}
