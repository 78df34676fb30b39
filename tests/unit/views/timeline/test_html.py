from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from browser.payloads import PAYLOADS as BROWSER_PAYLOADS
from callblocks.core.blocks import Block
from callblocks.core.errors import TimelineError
from callblocks.timeline.codec.call_blocks import Stamp
from callblocks.views.chat.timeline_chat import shown
from callblocks.views.html.timeline_page import carried_files, timeline_html
from callblocks.views.rows import visible
from support.sample_timelines import (
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

PAYLOADS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<details open ontoggle=alert(1)>",
    "<a href=javascript:alert(1)>x</a>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<base href=https://evil.example/>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<style>*{display:none}</style>",
    "<form action=https://evil.example><input autofocus onfocus=alert(1)>",
    "<object data=data:text/html,x></object>",
    "<template><script>alert(1)</script></template>",
    "</pre></code></div></article><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "--><!--<script>alert(1)</script>",
    "<![CDATA[<script>alert(1)</script>]]>",
    '" onmouseover="alert(1)',
    "' autofocus onfocus='alert(1)",
    '`" style="background:url(https://evil.example)',
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt&colon;alert(1))",
    "[x](\tjavascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox(1))",
    "[x](//evil.example)",
    '[x](https://ok.example "t" onclick="alert(1)")',
    "![x](https://evil.example/pixel.png)",
    "![x](x onerror=alert(1))",
    '![" onerror="alert(1)](https://ok.example)',
    "<javascript:alert(1)>",
    '<https://a.example/"onclick=alert(1)>',
    "https://a.example/'onclick='alert(1)",
    "[x]: javascript:alert(1)\n\n[x]",
    '```"><script>alert(1)</script>\nx\n```',
    '~~~" onload="x\nx\n~~~',
    "| a |\n|:-:|\n| <script>alert(1)</script> |",
    "&lt;script&gt;alert(1)&lt;/script&gt; &#60;script&#62;",
    "&#x202e;gnp.exe",
    "\u202egnp.exe",
    "\x1b]8;;https://evil.example\x07x\x1b]8;;\x07",
    "\x00<\x00script>",
    "{{constructor.constructor('alert(1)')()}}",
)
PRE, CUT = ("pre", ("class",)), ("pre", ("class", "data-cut"))
EVIL = '</script><script>alert(1)</script><img src=x onerror=alert(1)>"\' onload="x'
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "span", "main"),
    *("section", "article", "p", "details", "summary", "code", "ol", "li", "pre", "div", "img"),
    *("i", "b"),
}
MARKDOWN = {
    *("a", "blockquote", "br", "em", "h3", "h4", "h5", "h6", "hr", "s", "strong", "ul"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "data-from", "aria-label"),
    *(
        "data-state",
        "data-kind",
        "data-status",
        "aria-hidden",
        "role",
        "tabindex",
        "data-cut",
        "alt",
        "src",
    ),
    *("href", "rel", "target", "title", "data-depth", "start"),
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


TEXTS = st.text(st.sampled_from("<>&\"'/=a\x00\x1b\ud800\u202e") | st.characters(), min_size=1)
MARKED = st.text(st.sampled_from("<>&\"'/=`*_[]()!#|-:~ \n\\ahtps.;"), min_size=1)


def plain(text: str) -> list[Block]:
    """The same, but for what is read as Markdown."""
    blocks = with_text(text)
    is_said = ("user.prompt", "assistant.completion")
    return [replace(one, text="x") if one.type in is_said else one for one in blocks]


@given(TEXTS)
@example(EVIL)
@example("--></style></title>")
def test_no_text_becomes_a_tag(text: str) -> None:
    read = Page(page(plain(text), text))
    short, long = (Page(page(plain(one), one)) for one in ("x", "x" * 501 + "\ny"))
    assert {tag for tag, _ in read.tags} <= ALLOWED
    # A short result stands on the line of its call, a long one below it.
    assert set(read.tags) <= {*short.tags, *long.tags, PRE, CUT}
    assert visible(text).strip() in read.text


@given(TEXTS | MARKED)
@example("[x](https://a.example) # <b>")
def test_markdown_has_only_known_tags_attributes_and_addresses(text: str) -> None:
    check_safe(Page(page(with_text(text), text)))


@pytest.mark.parametrize("payload", [*PAYLOADS, *BROWSER_PAYLOADS])
def test_a_payload_in_every_field_stays_text(payload: str) -> None:
    html = page(with_text(payload), payload)
    read = Page(html)
    check_safe(read)
    assert "\u202e" not in html
    assert "\x1b" not in html


def check_safe(read: Page) -> None:
    assert {tag for tag, _ in read.tags} <= ALLOWED | MARKDOWN
    assert {name for _, names in read.tags for name in names} <= ATTRIBUTES
    outside = ("http://", "https://", "mailto:")
    assert all(one.lower().startswith(outside) for one in read.addresses)
    assert [tag for tag, _ in read.tags].count("article") == 2


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
    assert f"x{mime} · 12Bfi:turn_1.files/x" in read.text


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


def test_a_very_long_result_is_cut_and_says_its_size() -> None:
    read = Page(page([called("c"), *gave("c", "x" * 300_000)]))
    assert "… (truncated, 293.0KB)" in read.text
    assert read.text.count("x") < 200_500


def test_a_long_result_shows_three_lines_and_folds_the_rest() -> None:
    html = page([called("c"), *gave("c", "a\nb\nc\n\ne")])
    assert '<pre class="call-result" data-cut>\na\nb\nc</pre>' in html
    assert '... (2 more lines)</summary><pre class="call-result">\n\ne</pre></details>' in html
    html = page([called("c"), *gave("c", "a\nb\nc\nd")])
    assert "... (1 more line)" in html


def test_one_long_line_is_folded_too() -> None:
    read = Page(page([called("c"), *gave("c", "x" * 1024)]))
    assert f"{'x' * 500}... (1.0KB in all)\n{'x' * 524}" in read.text


def test_what_broke_off_how_a_turn_ended_and_who_of_a_team_spoke_is_seen() -> None:
    cut = replace(said("assistant.completion", "It is"), meta={"is_partial": True})
    blocks = [*of_member("<reader>", "Low."), cut, ended("failed", code="<b>")]
    html = page(blocks)
    assert '<p class="member"><b>&lt;reader&gt;</b></p>\n<div class="prose"><p>Low.</p>' in html
    assert '<p>It is</p>\n</div>\n<p class="cut">… it broke off here</p>' in html
    assert '<p class="ending" data-status="failed">✗ failed: &lt;b&gt;</p>' in html


def test_what_was_thought_stands_folded_before_what_was_said() -> None:
    stamp = Stamp("turn_1", "c", "add", TS)
    noted = stamp.block("react.notes", text="I will add.")
    call = replace(called("c"), meta={"reasoning": "Hm <b>"})
    done = replace(said("assistant.completion", "Done."), meta={"reasoning": "So."})
    blocks = entries([noted, call, *gave("c", "3"), done])
    html = "".join(timeline_html("talk", shown(blocks, thoughts=True), 1))
    text = Page(html).text
    order = ["Hm <b>", "I will add.", "add()", "So.", "Done."]
    assert [text.index(one) for one in order] == sorted(text.index(one) for one in order)
    assert '<details class="reasoning"><summary>Thought</summary>' in html
    assert "Hm" not in page([noted, call])


@pytest.mark.parametrize(
    ("more", "words"),
    [({}, "approved by you"), ({"minutes": 10}, "allowed by your 10-minute grant")],
)
def test_an_approved_call_says_so_on_its_line(more: dict[str, int], words: str) -> None:
    meta = {"approval": "a1", "approved": True, **more}
    yes = replace(called("c"), type="timeline.approval", text=None, path="", meta=meta)
    html = page([called("c"), yes, *gave("c", "3")])
    assert f'<p class="verdict">{words}</p>' in html
    assert 'class="verdict"' not in page([called("c"), *gave("c", "3")])


def test_a_denied_call_did_not_run_and_did_not_fail() -> None:
    denied = [
        replace(one, text=(one.text or "").replace("no_tea", "approval_denied"))
        for one in failed("c", "f did not run: a person said no: <b>")
    ]
    html = page([called("c"), *denied])
    assert '→</span> <span class="call-out"><b>denied by you</b>: &lt;b&gt;</span>' in html
    assert '<span class="batch-quiet">not run</span>' in html
    many = page([called("c"), *denied, called("d"), *failed("d", "no tea")])
    assert '<span class="batch-failed">1 failed</span>' in many
    assert '<span class="batch-quiet">1 not run</span>' in many


def test_files_stand_outside_the_fold_with_what_can_be_seen_of_them() -> None:
    blocks = [
        called("c"),
        *made("c", "a.md", mime="text/markdown", text="# Title\n<b>"),
        *made("c", "a.csv", mime="text/csv", text='a,b\n"<i>, x",2\n'),
        *made("c", "a.py", mime="text/x-python", text="\nprint()"),
        *made("c", "a.pdf", mime="application/pdf"),
    ]
    html = page(blocks)
    assert html.index("</ol></details>") < html.index('class="artifact"')
    assert '<h3 data-depth="1">Title</h3>\n<p>&lt;b&gt;</p>' in html
    assert "<td>&lt;i&gt;, x</td><td>2</td>" in html
    assert "<pre>\n\nprint()</pre>" in html
    assert "a.pdfapplication/pdf · 12B" in Page(html).text
    assert Page(html).addresses == []


@pytest.mark.parametrize("text", ["\n", "a\x00", '"' + "x" * 140_000])
def test_a_table_that_is_none_stands_as_text(text: str) -> None:
    check_safe(
        Page(
            page(
                [
                    said("user.prompt", "x"),
                    called("c"),
                    *made("c", "a.csv", mime="text/csv", text=text),
                ]
            )
        )
    )


def test_a_long_table_says_how_many_rows_are_left_out() -> None:
    html = page([called("c"), *made("c", "a.csv", mime="text/csv", text="a\n" * 203)])
    assert "... (2 more rows)" in html


def test_a_block_that_cannot_be_read_is_named() -> None:
    from callblocks.timeline.log.log import DAMAGED

    assert "Block 1 cannot be read." in Page(page([DAMAGED])).text


def _digest(path: str, size: int, sha256: str = "a" * 64) -> Block:
    text = json.dumps({"artifact_path": path, "size_bytes": size, "sha256": sha256})
    return Block(
        type="react.tool.result",
        author="tool",
        turn_id="turn_1",
        ts=TS,
        mime="application/json",
        text=text,
        meta={"role": "digest"},
    )


def _missing(digest: str) -> bytes:
    if digest == "b" * 64:
        raise TimelineError("artifact_missing", "no file is kept <here>")
    return b"hello"


def test_a_page_carries_its_files_or_says_which_it_left_out() -> None:
    blocks = [
        _digest("turn_1/files/a.txt", 5),
        _digest("turn_1/files/a.txt", 5),
        _digest("turn_1/files/large.bin", 6_000_000),
        _digest("turn_1/files/gone.txt", 5, "b" * 64),
    ]
    known = entries(blocks)
    page = "".join(timeline_html("t", [], 4, carried_files(known, _missing)))
    data = base64.b64encode(b"hello").decode()
    link = f'<a download="a.txt" href="data:application/octet-stream;base64,{data}">Save a.txt</a>'
    assert page.count(link) == 1
    assert "large.bin: not in this page, it has 5.7MB, and a file here may have 4.8MB" in page
    assert "gone.txt: not in this page, no file is kept &lt;here&gt;" in page


def test_no_more_is_carried_than_a_page_may_have() -> None:
    blocks = [_digest(f"turn_1/files/{at}.bin", 4_000_000) for at in range(6)]
    files = list(carried_files(entries(blocks), lambda _: bytes(4_000_000)))
    assert [one.content is not None for one in files] == [True] * 5 + [False]
    assert "all files here" in files[-1].why


def test_a_page_without_files_says_nothing_of_them() -> None:
    assert 'class="carried"' not in "".join(timeline_html("t", [], 0, ()))
