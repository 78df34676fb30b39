"""Slides: where one begins, what stands on it, and how it goes on where there is too much."""

from __future__ import annotations

import io
from typing import Any

from pptx import Presentation

from callblocks.toolkits.documents.runs import Piece, TextRun
from callblocks.toolkits.documents.slides import (
    AREA,
    Code,
    Slide,
    SlideLine,
    SlideText,
    height_of,
    pages_of,
)
from support.documents import png
from support.rendered_documents import Desk

DECK = """\
# Winter

A report

## First

- one
  - deeper
- two [[S:4]]

---

![A chart](chart.png)

## Table

| a | b |
|---|---|
| 1 | 2 |

```python
x = 1
```
"""


def opened(content: bytes) -> Any:
    return Presentation(io.BytesIO(content))


def titles(deck: Any) -> list[str]:
    return [slide.shapes.title.text for slide in deck.slides]


def texts(slide: Any) -> list[str]:
    return [shape.text_frame.text for shape in slide.shapes if shape.has_text_frame]


def test_headings_and_lines_begin_slides_and_sources_end_them() -> None:
    desk = Desk(chart_png=png())
    made = desk.made("pptx", DECK, author="Mara")
    deck = opened(made.content)
    assert titles(deck) == ["Winter", "First", "", "Table", "Sources"]
    assert made.about == {"slides": 5}
    assert desk.steps == [f"slide {number} of 5" for number in range(1, 6)]
    assert (deck.core_properties.title, deck.core_properties.author) == ("Winter", "Mara")


def test_a_slide_has_text_tables_pictures_and_code_as_such() -> None:
    deck = opened(Desk(chart_png=png()).made("pptx", DECK).content)
    opening, first, chart, table, _ = deck.slides
    assert texts(opening)[1] == "A report"
    assert texts(first)[1].split("\n") == ["one", "deeper", "two [1]"]
    assert [
        shape._element.nvPicPr.cNvPr.get("descr")
        for shape in chart.shapes
        if shape.shape_type == 13
    ] == ["A chart"]
    (grid,) = [shape.table for shape in table.shapes if shape.has_table]
    assert [[cell.text for cell in row.cells] for row in grid.rows] == [["a", "b"], ["1", "2"]]
    assert "x = 1" in texts(table)


def test_every_slide_but_the_opening_has_its_number() -> None:
    deck = opened(Desk(chart_png=png()).made("pptx", DECK).content)
    numbered = ["slidenum" in slide.shapes._spTree.xml for slide in deck.slides]
    assert numbered == [False, True, True, True, True]


def test_what_does_not_fit_goes_on_and_nothing_is_lost() -> None:
    items = "\n".join(f"- item {number} " + "word " * 12 for number in range(60))
    rows = "\n".join(f"| row {number} | x |" for number in range(50))
    code = "\n".join(f"line({number})" for number in range(70))
    deck = opened(
        Desk()
        .made("pptx", f"## Much\n\n{items}\n\n| a | b |\n|-|-|\n{rows}\n\n```\n{code}\n```")
        .content
    )
    shown = "\n".join(text for slide in deck.slides for text in texts(slide))
    cells = [
        row.cells[0].text
        for slide in deck.slides
        for shape in slide.shapes
        if shape.has_table
        for row in list(shape.table.rows)[1:]
    ]
    assert all(f"item {number} " in shown for number in range(60))
    assert cells == [f"row {number}" for number in range(50)]
    assert all(f"line({number})" in shown for number in range(70))
    count = len(deck.slides) - 1
    assert titles(deck)[1:] == [f"Much ({number} of {count})" for number in range(1, count + 1)]
    bottom = deck.slide_height
    assert all(
        shape.top + shape.height <= bottom for slide in deck.slides for shape in slide.shapes
    )


def test_formulas_are_drawn_and_those_that_cannot_be_are_words() -> None:
    desk = Desk()
    deck = opened(desk.made("pptx", "## F\n\n$$\\frac{a}{b}$$\n\n$$\\frac{$$").content)
    (slide,) = [slide for slide in deck.slides if slide.shapes.title.text == "F"][-1:]
    assert sum(shape.shape_type == 13 for shape in slide.shapes) == 1
    assert "\\frac{" in "".join(texts(slide))
    assert desk.notices == ["formula_as_text"]


def test_a_deck_of_nothing_is_none() -> None:
    assert Desk().failed("pptx", "<!-- nothing -->") == "document_empty"


def test_too_many_slides_have_a_code() -> None:
    assert Desk().failed("pptx", "## x\n\ny\n\n" * 301) == "document_too_large"


def test_wide_letters_and_long_lines_of_code_take_the_room_they_need() -> None:
    latin, wide = (SlideText([SlideLine([TextRun(text=letter * 400)])]) for letter in "a漢")
    assert height_of(wide, 1.0) > 1.5 * height_of(latin, 1.0)
    one, long = (Code([[Piece("x" * count)]]) for count in (10, 400))
    assert height_of(long, 1.0) > 2 * height_of(one, 1.0)
    pages = [*pages_of(Slide("T", [Code([[Piece("x" * 400)]] * 30)]))]
    parts = [part for page in pages for part in page.parts]
    assert sum(len(part.lines) for part in parts if isinstance(part, Code)) == 30
    assert all(height_of(page.parts[0], page.scale) <= AREA.height for page in pages)
