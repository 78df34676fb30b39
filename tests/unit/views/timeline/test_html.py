from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from callblocks.model.blocks import Block
from callblocks.timeline.stamp import Stamp
from callblocks.views.safe import visible
from callblocks.views.timeline.chat import shown
from callblocks.views.timeline.html import timeline_html
from support.talks import (
    PNG,
    TS,
    a_talk,
    called,
    ended,
    entries,
    failed,
    gave,
    made,
    of_member,
    said,
)

EVIL = '</script><script>alert(1)</script><img src=x onerror=alert(1)>"\' onload="x'
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "span", "main"),
    *("section", "article", "p", "details", "summary", "code", "ol", "li", "pre", "div", "img"),
}


class Page(HTMLParser):
    """The tags of a page with the names of their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.addresses: list[str] = []
        self.policy = ""
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.tags.append((tag, tuple(known)))
        self.addresses += [known[name] or "" for name in ("src", "href") if name in known]
        if known.get("http-equiv") == "Content-Security-Policy":
            self.policy = known["content"] or ""

    def handle_data(self, data: str) -> None:
        self.text += data


def page(blocks: list[Block], name: str = "talk") -> str:
    return "".join(timeline_html(name, shown(entries(blocks)), len(blocks)))


def with_text(text: str) -> list[Block]:
    """A timeline that has a text wherever one can be."""
    blocks = [
        said("user.prompt", text, author="user"),
        called("c", text, **{text: text}),
        *gave("c", text),
        called("f", text),
        *failed("f", text),
        called("m", text),
        *made("m", text, mime=text, text=text),
        said("assistant.completion", text),
    ]
    return [replace(block, turn_id=text, ts=text) for block in blocks]


def test_a_talk_is_a_page() -> None:
    read = Page(page(a_talk()))
    assert "2 tool calls, 1 failed" in read.text
    assert "no_tea: there is no tea" in read.text
    assert "15 blocks" in read.text
    assert ("details", ("class",)) in read.tags


def test_batches_are_folded() -> None:
    assert not any("open" in names for tag, names in Page(page(a_talk())).tags if tag == "details")


@given(st.text(st.sampled_from("<>&\"'/=a\x00\x1b\ud800\u202e") | st.characters(), min_size=1))
@example(EVIL)
@example("--></style></title>")
def test_no_text_becomes_a_tag(text: str) -> None:
    read = Page(page(with_text(text), text))
    short, long = (Page(page(with_text(one), one)) for one in ("x", "x" * 61))
    assert {tag for tag, _ in read.tags} <= ALLOWED
    # A short result stands on the line of its call, a long one below it.
    assert set(read.tags) <= {*short.tags, *long.tags}
    assert [tag for tag, _ in read.tags if tag not in ("span", "pre")] == [
        tag for tag, _ in short.tags if tag not in ("span", "pre")
    ]
    assert visible(text).strip() in read.text


def test_nothing_is_loaded_and_nothing_runs() -> None:
    html = page(with_text(EVIL))
    read = Page(html)
    assert read.addresses == []
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert read.policy.split("; ") == [
        "default-src 'none'",
        f"style-src 'sha256-{digest}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert not re.search(r"url\(|@import|https?:", style)


def test_pictures_stand_in_the_page() -> None:
    assert Page(page(a_talk())).addresses == [f"data:image/png;base64,{PNG}"]


@pytest.mark.parametrize(
    ("mime", "content"),
    [
        ("image/svg+xml", base64.b64encode(b"<svg onload='x'/>").decode()),
        ("image/png", 'AAAA" onerror="x'),
        ("image/png", "A"),
        ("text/html", base64.b64encode(b"<b>").decode()),
    ],
)
def test_what_is_no_safe_picture_is_only_named(mime: str, content: str) -> None:
    blocks = [called("c"), *made("c", "x", mime=mime, base64=content)]
    read = Page(page(blocks))
    assert read.addresses == []
    assert f"fi:turn_1.files/x ({mime}, 12B)" in read.text


def test_a_call_without_an_outcome_says_so() -> None:
    assert "no result" in Page(page([called("c")])).text


def test_a_short_result_stands_on_the_line_of_its_call() -> None:
    assert "add() → 3" in Page(page([called("c"), *gave("c", "3")])).text
    failure = Page(page([called("c"), *failed("c", "no")])).text
    assert "add() → ✗ failed: no_tea: no" in failure


def test_code_and_notices_stand_with_their_call() -> None:
    stamp = Stamp("turn_1", "c", "run", TS)
    told = '{"code":"noted","message":"well noted"}'
    blocks = [
        stamp.block("react.tool.code", text="print(1)\nprint(2)"),
        called("c"),
        stamp.block("react.notice", mime="application/json", text=told),
    ]
    read = Page(page(blocks))
    assert "print(1)\nprint(2)" in read.text
    assert "well noted" in read.text


def test_an_empty_result_is_done() -> None:
    assert "done, no output" in Page(page([called("c"), *gave("c", "")])).text


def test_a_long_result_is_cut_and_says_its_size() -> None:
    read = Page(page([called("c"), *gave("c", "x" * 30_000)]))
    assert "… (truncated, 29.3KB)" in read.text
    assert "x" * 20_001 not in read.text


def test_what_broke_off_how_a_turn_ended_and_who_of_a_team_spoke_is_seen() -> None:
    cut = replace(said("assistant.completion", "It is"), meta={"is_partial": True})
    blocks = [*of_member("<reader>", "Low."), cut, ended("failed", code="<b>")]
    html = page(blocks)
    assert '<p class="member">&lt;reader&gt;</p><p class="prose">Low.</p>' in html
    assert '<p class="prose">It is</p><p class="cut">… it broke off here</p>' in html
    assert '<p class="ended">✗ failed: &lt;b&gt;</p>' in html


def test_a_block_that_cannot_be_read_is_named() -> None:
    from callblocks.timeline.stores.chain import DAMAGED

    assert "Block 1 cannot be read." in Page(page([DAMAGED])).text
