"""Nothing that a text says is lost, whatever kind of document it becomes."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest
from openpyxl import load_workbook
from pypdf import PdfReader

from callblocks.toolkits.documents.pdf import page_of
from callblocks.toolkits.documents.render_protocol import Given, Kind, Outside, RenderJob
from support.documents import png
from support.rendered_documents import Desk

TEXT = Path(__file__).with_name("every_block.md").read_text("utf-8")
_NESTED = re.compile(r"<w:(numPr|pBdr|tabs|rPr)>.*?</w:\1>", re.DOTALL)
_MAIN = re.compile(r"word/document\.xml|slides/slide\d+\.xml$")
MARKS = re.findall(r"w\d\d", TEXT)


def words(kind: Kind, content: bytes) -> str:
    if kind == "pdf":
        return " ".join(page.extract_text() for page in PdfReader(io.BytesIO(content)).pages)
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        names = [name for name in parts.namelist() if _MAIN.search(name)]
        return " ".join(parts.read(name).decode() for name in names)


@pytest.mark.parametrize("kind", ["pdf", "docx", "pptx"])
def test_every_word_of_every_block_is_there(kind: Kind) -> None:
    desk = Desk(chart_png=png())
    shown = words(kind, desk.made(kind, TEXT).content)
    assert len(MARKS) > 40
    assert [mark for mark in MARKS if mark not in shown] == []
    assert desk.notices == []


def test_every_word_of_every_table_is_there() -> None:
    made = Desk(chart_png=png()).made("xlsx", TEXT)
    book = load_workbook(io.BytesIO(made.content))
    shown = str([[*sheet.iter_rows(values_only=True)] for sheet in book])
    tables = re.findall(r"w\d\d", "".join(re.findall(r"^ *\|.*\|$", TEXT, re.MULTILINE)))
    assert len(tables) > 5
    assert [mark for mark in tables if mark not in shown] == []


def test_the_properties_of_paragraphs_stand_in_their_order() -> None:
    made = Desk(chart_png=png()).made("docx", f"{TEXT}\n\nعربي")
    order = ["pStyle", "keepNext", "keepLines", "numPr", "pBdr", "shd", "tabs", "spacing", "ind"]
    order.insert(order.index("spacing"), "bidi")
    order += ["contextualSpacing", "jc", "outlineLvl", "rPr"]
    with zipfile.ZipFile(io.BytesIO(made.content)) as parts:
        xml = "".join(parts.read(f"word/{name}.xml").decode() for name in ("document", "styles"))
    for properties in re.findall(r"<w:pPr>(.*?)</w:pPr>", xml, re.DOTALL):
        inner = re.sub(
            r"<w:(numPr|pBdr|tabs|rPr)>.*?</w:\1>", r"<w:\1/>", properties, flags=re.DOTALL
        )
        names = [name for name in re.findall(r"<w:(\w+)", inner) if name in order]
        assert names == sorted(names, key=order.index)


def test_what_runs_from_right_to_left_does_so() -> None:
    text = "# شرق\n\nنص English نص\n\n- عنصر\n\nA word: نص\n"
    markup = page_of(RenderJob(kind="pdf", name="a", content=text), Outside(print, Given))
    assert re.findall(r'<(\w+)[^>]* dir="rtl">', markup) == ["h1", "p", "ul", "li"]
    document = words("docx", Desk().made("docx", text).content)
    assert document.count("<w:bidi/>") == 3
    slides = words("pptx", Desk().made("pptx", f"# T\n\n{text}").content)
    assert slides.count('rtl="1"') == 2


@pytest.mark.parametrize("kind", ["docx", "pptx"])
def test_the_words_of_html_are_those_that_a_reader_sees(kind: Kind) -> None:
    html = "<style>p {color: red}</style>\n\n<script>alert(1)</script>\n\n"
    html += "<table><tr><td>one</td><td>two &amp; three</td></tr></table>"
    shown = words(kind, Desk().made(kind, f"# T\n\n{html}").content)
    assert "one  two &amp; three" in shown
    assert "color" not in shown
    assert "alert" not in shown
