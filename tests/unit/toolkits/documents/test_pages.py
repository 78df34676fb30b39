"""Pages from Markdown and HTML: what stands on them, and what they may not do."""

from __future__ import annotations

import io
import socket
from typing import Any

import pytest
from PIL import Image
from pypdf import PdfReader

from callblocks.toolkits.documents import pdf
from callblocks.toolkits.documents import pdf as layout
from support.documents import png
from support.rendered_documents import Desk

REPORT = """\
# Winter

Rain is likely [[S:4]], wind too [[S:7,4]].[^1] `code` and ~~struck~~ words.

| Month | Trips |
|:--|--:|
| November | 240 |

- [x] done
- [ ] open

$$
\\frac{a}{b}
$$

```python
def f(): return "x"
```

[^1]: As the *log* says.
"""


def read(content: bytes) -> Any:
    return PdfReader(io.BytesIO(content))


def words(content: bytes) -> str:
    return " ".join("\n".join(page.extract_text() for page in read(content).pages).split())


def test_a_pdf_has_what_the_markdown_says() -> None:
    desk = Desk()
    made = desk.made("pdf", REPORT, author="Mara")
    text = words(made.content)
    for part in ("Winter", "Mara", "November 240", "done", 'def f(): return "x"', "1 / 1"):
        assert part in text
    assert (desk.notices, made.about) == ([], {"pages": 1})
    assert desk.steps == ["page 1", "writing 1 page"]


def test_a_pdf_has_title_author_and_bookmarks() -> None:
    opened = read(Desk().made("pdf", REPORT, author="Mara").content)
    assert (opened.metadata.title, opened.metadata.author) == ("Winter", "Mara")
    assert [one["/Title"] for one in opened.outline if isinstance(one, dict)] == ["Winter"]


def test_citations_are_numbered_as_they_come_and_listed() -> None:
    text = words(Desk().made("pdf", REPORT).content)
    assert "likely [1], wind too [1][2]." in text
    assert "[1] Harbour statistics https://example.org/stats 2030-01-02" in text
    assert "[2] The skipper's log fi:turn_1.files/log.md" in text
    assert "As the log says." in text


def test_a_citation_of_nothing_stays_and_is_told() -> None:
    desk = Desk()
    assert "[[S:99]]" in words(desk.made("pdf", "Rain [[S:99]].").content)
    assert desk.notices == ["unknown_source"]


def test_citations_in_html_are_references_too_and_attributes_stay() -> None:
    html = '<p title="[[S:4]]">Rain [[S:4]] and <b>wind</b> [[S:7]], [[S:99]].</p>'
    desk = Desk()
    assert "Rain [1] and wind [2], [[S:99]]." in words(
        desk.made("pdf", html, format="html").content
    )
    assert desk.notices == ["unknown_source"]


def test_emoji_and_cjk_have_a_font_and_what_has_none_is_told() -> None:
    desk = Desk()
    made = desk.made("pdf", "Ferry ⛴️ 漢字, Ελλάδα, Привет")
    fonts = {
        str(font["/BaseFont"])
        for page in read(made.content).pages
        for font in (one.get_object() for one in page["/Resources"]["/Font"].values())
    }
    assert any("Emoji" in font for font in fonts)
    assert any("Droid" in font for font in fonts)
    assert desk.notices == []
    desk.made("pdf", "Sumer \U00012000")
    assert desk.notices == ["glyphs_missing"]


def test_a_picture_of_the_timeline_is_shown() -> None:
    desk = Desk(chart_png=png())
    desk.files |= {"fi:turn_1.files/a b.png": png(b"\0\x40")}
    made = desk.made("pdf", "![Rain](./chart.png)\n\n![Wind](<fi:turn_1.files/a b.png>)")
    assert desk.wanted == ["chart.png", "fi:turn_1.files/a b.png"]
    assert desk.notices == []
    assert len(read(made.content).pages[0].images) == 2


def test_a_missing_picture_is_told_and_its_words_are_shown() -> None:
    desk = Desk()
    assert "A chart of rain" in words(
        desk.made("pdf", "Text\n\n![A chart of rain](no.png)").content
    )
    assert desk.notices == ["image_missing"]


@pytest.mark.parametrize("content", [b"no picture", b"<svg", b"<!DOCTYPE x><svg>&x;</svg>"])
def test_a_broken_picture_is_told(content: bytes) -> None:
    desk = Desk(a_png=content)
    assert "words" in words(desk.made("pdf", "![A chart](a.png)\n\nwords").content)
    assert desk.notices == ["image_broken"]


@pytest.mark.parametrize(
    "address",
    ["https://example.org/x.png", "//example.org/x.png", "file:///etc/hostname", "ftp://x/y"],
)
def test_nothing_is_fetched(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: object, **__: object) -> None:
        raise AssertionError("it went out")

    monkeypatch.setattr(socket, "create_connection", connect)
    html = (
        f'<link rel=stylesheet href="{address}"><style>@import url({address});'
        f"@font-face {{ font-family: x; src: url({address}) }} p {{ font-family: x;"
        f" background: url({address}) }}</style><p><img src='{address}' alt='shown'>words</p>"
        f'<object data="{address}"></object><iframe src="{address}"></iframe>'
    )
    desk = Desk()
    assert "words" in words(desk.made("pdf", html, format="html").content)
    assert desk.wanted == []
    assert set(desk.notices) == {"image_not_fetched"}


def test_links_lead_to_the_web_or_nowhere_and_no_file_is_carried_along() -> None:
    links = ("javascript:alert(1)", "file:///etc/passwd", "smb://x/y", "data:text/html,x", "b.md")
    html = "".join(f"<p><a href='{link}'>words</a></p>" for link in (*links, "https://x.example/"))
    html += "<svg><a href='javascript:1'><text>x</text></a></svg>"
    html += "<a rel=attachment href=key.txt>key</a><link rel=attachment href=key.txt>"
    desk = Desk(key_txt=b"secret")
    for given in ("html", "markdown"):
        opened = read(desk.made("pdf", html, format=given).content)
        notes = [one.get_object() for page in opened.pages for one in page.get("/Annots", ())]
        assert [note["/A"]["/URI"] for note in notes] == ["https://x.example/"]
        assert opened.attachments == {}
    assert desk.wanted == []


def test_no_heading_takes_the_place_of_an_anchor() -> None:
    text = "# Source 1\n\n# End of the page\n\n" + "more\n\n" * 9
    opened = read(Desk().made("pdf", f"Rain [[S:4]].\n\n{text}").content)
    names = opened.named_destinations
    assert names["source:1"]["/Top"] < names["source-1"]["/Top"]
    with_end, without = (
        Image.open(io.BytesIO(Desk().made("png", one, width=300).content)).height
        for one in (text, text.replace("End of the page", "End of this page"))
    )
    assert with_end == without


@pytest.mark.parametrize(
    "text",
    [
        "# \n\n|a|\n|-|\n|**b|\n\n```\nnever closed",
        "[^1]: alone\n\n[x]( <b",
        "$\\frac{$ and $$\\left($$",
        "<b>never closed <table><tr><td>x",
        "| a |\n|---|\n" + "| b | c | d |\n" * 3,
        "x" * 5_000,
        "\ufffd \u202e \u200b right",
    ],
)
def test_broken_markdown_becomes_a_document_all_the_same(text: str) -> None:
    assert read(Desk().made("pdf", text).content).pages


@pytest.mark.parametrize(
    "html",
    ["<p>open <b>x</i></p></div>", "<table><td>1<tr>2", "<svg><circle r=", "\x00</html><p>x"],
)
def test_broken_html_becomes_a_document_all_the_same(html: str) -> None:
    assert read(Desk().made("pdf", html, format="html").content).pages


def test_nothing_at_all_is_no_document() -> None:
    assert Desk().failed("pdf", " \n") == "document_empty"
    assert Desk().failed("png", "", format="html") == "document_empty"


def test_what_is_nested_too_deep_has_a_code() -> None:
    assert Desk().failed("pdf", "<div>" * 3_000, format="html") == "document_invalid"
    for kind in ("pdf", "docx", "pptx", "xlsx"):
        assert Desk().failed(kind, ">" * 200 + " words") == "document_invalid"


def test_what_is_nested_less_deep_is_all_there() -> None:
    lists = "".join("  " * level + f"- item {level}\n" for level in range(30))
    text = words(Desk().made("pdf", lists).content)
    assert all(f"item {level}" in text for level in range(30))


def test_too_many_pages_end_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "PAGES", 3)
    html = "<p style='break-after: page'>x</p>" * 6
    assert Desk().failed("pdf", html, format="html") == "document_too_large"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError("cannot load library 'libpango-1.0-0'"), "renderer_missing"),
        (ImportError(name="weasyprint"), "renderer_missing"),
        (MemoryError(), "document_too_large"),
        (ZeroDivisionError(), "render_failed"),
    ],
)
def test_what_breaks_in_a_library_has_a_code(
    error: Exception, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr(pdf, "lay_out", broken)
    assert Desk().failed("pdf", "x") == expected


def test_rows_of_tables_are_cut_and_that_is_told() -> None:
    rows = "\n".join(f"| {number} |" for number in range(2_100))
    desk = Desk()
    made = desk.made("docx", f"| n |\n|---|\n{rows}")
    assert desk.notices == ["table_cut"]
    assert made.content


def test_a_picture_is_as_high_as_what_stands_on_it() -> None:
    low, high = (
        Image.open(io.BytesIO(Desk().made("png", text, width=300).content))
        for text in ("One line", "Many lines\n\n" * 12)
    )
    assert low.width == high.width == 600
    assert 80 < low.height < 250 < high.height


def test_a_picture_of_html_that_is_too_high_is_cut_and_told() -> None:
    desk = Desk()
    html = "<p style='height: 9000px'>x</p><p style='height: 1000px'>y</p>"
    made = desk.made("png", html, format="html", width=200)
    assert Image.open(io.BytesIO(made.content)).height == 16_000
    assert desk.notices == ["picture_cut"]
