"""Documents for Word: real styles, lists that count by themselves, formulas that can be edited."""

from __future__ import annotations

import io
from typing import Any

import docx
from docx.oxml.ns import qn
from docx.shared import Pt

from support.documents import png
from support.rendered_documents import Desk

TEXT = """\
# Winter

Rain [[S:4]].[^1] See [the log](https://example.org) and `x = 1`.

1. one
2. two

Between.

1. again
   - inner

> Quoted

| Month | Trips |
|:--|--:|
| **November** | 240 |

```python
def f(): return 1
```

$$\\sum_{i=1}^n \\frac{x_i}{2}$$

![A chart](chart.png)

- [x] done

[^1]: A note.
"""


def opened(content: bytes) -> Any:
    return docx.Document(io.BytesIO(content))


def styles(document: Any) -> list[tuple[str, str]]:
    return [(one.style.name, one.text) for one in document.paragraphs if one.text]


def test_headings_quotes_and_code_have_styles() -> None:
    document = opened(Desk(chart_png=png()).made("docx", TEXT, author="Mara").content)
    found = styles(document)
    for one in (
        ("Heading 1", "Winter"),
        ("Subtitle", "Mara"),
        ("Quote", "Quoted"),
        ("Code", "def f(): return 1"),
        ("Heading 2", "Notes"),
        ("Normal", "1. A note."),
        ("Heading 2", "Sources"),
    ):
        assert one in found
    assert any("[1] Harbour statistics" in text for _, text in found)
    assert (document.core_properties.title, document.core_properties.author) == ("Winter", "Mara")


def test_each_ordered_list_counts_from_its_own_start() -> None:
    document = opened(Desk().made("docx", TEXT).content)
    numbers = [
        one._p.pPr.numPr.numId.val
        for one in document.paragraphs
        if one._p.pPr is not None and one._p.pPr.numPr is not None
    ]
    first, second, again, inner = numbers
    assert first == second
    assert len({first, again, inner}) == 3


def test_tables_are_tables_whose_head_comes_again() -> None:
    (table,) = opened(Desk().made("docx", TEXT).content).tables
    assert [[cell.text for cell in row.cells] for row in table.rows] == [
        ["Month", "Trips"],
        ["November", "240"],
    ]
    assert table.rows[0]._tr.trPr.find(qn("w:tblHeader")) is not None


def test_formulas_can_be_edited() -> None:
    body = opened(Desk().made("docx", TEXT).content).element.body
    assert len(list(body.iter(qn("m:nary")))) == 1
    assert len(list(body.iter(qn("m:f")))) == 1


def test_a_formula_that_cannot_be_read_is_shown_as_written() -> None:
    desk = Desk()
    document = opened(desk.made("docx", "$$\\frac{a}{$$").content)
    assert "\\frac{a}{" in "".join(text for _, text in styles(document))
    assert desk.notices == ["formula_as_text"]


def test_links_lead_out_and_to_sources() -> None:
    document = opened(Desk().made("docx", TEXT).content)
    links = [link for one in document.paragraphs for link in one.hyperlinks]
    assert [(link.text, link.address or link.fragment) for link in links][:3] == [
        ("[1]", "m_source_1"),
        ("1", "m_note_1"),
        ("the log", "https://example.org"),
    ]


def test_a_link_that_runs_something_is_only_words() -> None:
    document = opened(
        Desk().made("docx", "[x](javascript:alert(1)) [y](file:///etc/passwd)").content
    )
    assert [link for one in document.paragraphs for link in one.hyperlinks] == []


def test_pictures_have_their_words_and_broken_ones_are_told() -> None:
    desk = Desk(chart_png=png())
    shapes = opened(desk.made("docx", TEXT).content).inline_shapes
    assert [shape._inline.docPr.get("descr") for shape in shapes] == ["A chart"]
    desk = Desk(chart_png=b"no picture")
    document = opened(desk.made("docx", TEXT).content)
    assert desk.notices == ["image_broken"]
    assert ("Normal", "[A chart]") in styles(document)


def test_drawings_become_pictures_of_their_size() -> None:
    svg = b'<svg xmlns="http://www.w3.org/2000/svg" width="192" height="96"><rect width="9"/></svg>'
    desk = Desk(a_svg=svg)
    (shape,) = opened(desk.made("docx", "![d](a.svg)").content).inline_shapes
    assert (round(shape.width.inches, 1), round(shape.height.inches, 1)) == (2.0, 1.0)


def test_html_in_the_text_is_words() -> None:
    text = "a<br>b <sub>low</sub> <!-- no -->\n\n<div>in a <b>box</b></div>"
    found = [words for _, words in styles(opened(Desk().made("docx", text).content))]
    assert found == ["a\nb low ", "in a box"]


def test_what_follows_a_list_stands_apart_from_it() -> None:
    document = opened(Desk().made("docx", "- one\n- two\n  - inner\n\nafter").content)
    after = {one.text: one.paragraph_format.space_after for one in document.paragraphs}
    assert after["one"] == after["two"] == Pt(2)
    assert after["inner"] is None
