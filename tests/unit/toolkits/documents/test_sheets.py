"""Workbooks: what becomes a sheet, and what a cell holds."""

from __future__ import annotations

import io
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import load_workbook

from callblocks.toolkits.documents.xlsx import value_of
from support.rendered_documents import Desk

TABLES = """\
# Ferry

## Passengers

| Month | Count | Change |
|---|--:|--:|
| November [[S:4]] | 11,482 | +4 % |

## Prices/2030?

| What | € |
|---|--:|
| Adult | 3.50 |
"""


def opened(content: bytes) -> Any:
    return load_workbook(io.BytesIO(content))


def values(sheet: Any) -> list[list[Any]]:
    return [list(row) for row in sheet.iter_rows(values_only=True)]


def test_each_table_is_a_sheet_named_by_its_heading() -> None:
    desk = Desk()
    made = desk.made("xlsx", TABLES, author="Mara")
    book = opened(made.content)
    assert book.sheetnames == ["Passengers", "Prices 2030", "Sources"]
    assert values(book["Passengers"]) == [
        ["Month", "Count", "Change"],
        ["November [1]", 11482, 0.04],
    ]
    assert book["Prices 2030"]["B2"].number_format == "0.00"
    assert book["Passengers"].freeze_panes == "A2"
    assert book["Passengers"].auto_filter.ref == "A1:C2"
    assert (book.properties.title, book.properties.creator) == ("Ferry", "Mara")
    assert made.about == {"sheets": 3, "rows": 3}
    assert desk.steps == ["sheet 1 of 3", "sheet 2 of 3", "sheet 3 of 3"]


def test_csv_is_a_sheet_whatever_parts_its_values() -> None:
    for sign in ",;\t":
        text = sign.join(("a", "b")) + "\n" + sign.join(("1", '"x ""y"""'))
        book = opened(Desk().made("xlsx", text, format="csv", title="T").content)
        assert (book.sheetnames, values(book["T"])) == (["T"], [["a", "b"], [1, 'x "y"']])


def test_rows_are_a_sheet_as_lists_or_objects() -> None:
    lists = opened(Desk().made("xlsx", rows=[["a", "b"], [1, None]]).content)
    objects = opened(Desk().made("xlsx", rows=[{"a": 1}, {"b": True}]).content)
    assert values(lists.active) == [["a", "b"], [1, None]]
    assert values(objects.active) == [["a", "b"], [1, None], [None, True]]


def test_ten_thousand_rows_are_all_there() -> None:
    rows = "\n".join(f"| {number} | x |" for number in range(10_000))
    desk = Desk()
    made = desk.made("xlsx", f"| n | t |\n|---|---|\n{rows}")
    assert made.about["rows"] == 10_000
    assert opened(made.content).active.max_row == 10_001
    assert "row 10000 of 10001" in desk.steps
    assert desk.notices == []


def test_without_a_table_there_is_no_workbook() -> None:
    assert Desk().failed("xlsx", "Only words.") == "no_table"
    assert Desk().failed("xlsx", "") == "document_empty"


def test_too_many_cells_have_a_code() -> None:
    assert Desk().failed("xlsx", rows=[[1] * 1_000] * 501) == "document_too_large"


@pytest.mark.parametrize(
    ("text", "value", "pattern"),
    [
        ("240", 240, "0"),
        ("−2 %", -0.02, "0%"),
        ("1,234.50", 1234.5, "#,##0.00"),
        ("€12.50", 12.5, "€#,##0.00"),
        ("TRUE", True, ""),
        ("007", "007", ""),
        ("12345678901234567", "12345678901234567", ""),
        ("2030-13-01", "2030-13-01", ""),
        ("", "", ""),
    ],
)
def test_a_cell_holds_what_is_meant(text: str, value: object, pattern: str) -> None:
    found = value_of(text)
    assert (found.value, found.pattern) == (value, pattern)


def test_a_date_is_a_date() -> None:
    made = Desk().made("xlsx", rows=[["day"], ["2030-01-31"]])
    assert opened(made.content).active["A2"].value == datetime(2030, 1, 31)


FORMULAS = [
    *("=SUM(B2:B9)", "=IF(A1>2,A1*1.19,0)", '=COUNTIF(A1:A9,"x")', "=$A$1 * -2%", "=(1+2)*3"),
    *('="a(" & ROUND(SUM(A:A, 2), 1)', "=A1<>B2", "=1.5e3"),
]
WORDS = [
    *('=WEBSERVICE("http://x")', '=HYPERLINK("http://x","y")', "=cmd|' /C calc'!A0", "='[x]y'!A1"),
    *("=> yes", "====", "=SUM(A1", "=SUM(A1;A2)", "=IF()", '="abc', "=1 2", "=)(", "=foo", "=A1+"),
    *(
        "=2(3)",
        "=A1:B",
        "=XFE1",
        "=A1048577",
        "=SUM (A1)",
        "=#REF!",
        "=" + "(" * 40 + "1" + ")" * 40,
    ),
    # Reading it must not take for ever.
    "=" + "1 & " * 120 + "!",
    *("@SUM(1+1)", "+cmd|' /C calc'!A0", "-2+3", "+49 30 1234"),
]


def test_only_what_is_a_whole_formula_that_reckons_is_one() -> None:
    desk = Desk()
    made = desk.made("xlsx", rows=[["h"], *([text] for text in (*FORMULAS, *WORDS))])
    cells = [row[0] for row in opened(made.content).active.iter_rows(min_row=2)]
    assert [cell.value for cell in cells] == [*FORMULAS, *WORDS]
    assert [cell.value for cell in cells if cell.data_type == "f"] == FORMULAS
    # What a program would read as a formula when the cell is edited is marked as text.
    assert [cell.value for cell in cells if cell.quotePrefix] == WORDS
    assert desk.notices == ["formula_as_text"]


def test_long_texts_have_room_sums_look_like_what_they_sum_and_paper_has_the_head() -> None:
    rows = [["what", "price"], ["long " * 30, "€3.50"], ["Sum", "=SUM(B2:B2)"], ["漢字" * 10, ""]]
    sheet = opened(Desk().made("xlsx", rows=rows).content).active
    assert sheet.row_dimensions[2].height == 45
    assert sheet.row_dimensions[3].height is None
    assert sheet["B3"].number_format == "€#,##0.00"
    assert (sheet.print_title_rows, sheet.page_setup.fitToHeight) == ("$1:$1", 0)
    wide = opened(Desk().made("xlsx", rows=[["漢字" * 10]]).content).active
    assert wide.column_dimensions["A"].width == 43


def test_numbers_that_no_sheet_can_hold_are_text() -> None:
    given = [10**400, 12345678901234567890, float("inf"), float("nan"), "1848-03-18"]
    made = Desk().made("xlsx", rows=[["h"], *([one] for one in given)])
    found = [row[0] for row in opened(made.content).active.iter_rows(min_row=2, values_only=True)]
    assert found == [str(one) for one in given]


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("History", "History 1"),
        ("a" * 30 + "'x", "a" * 30),
        ("a\nb\tc", "a b c"),
        ("''", "Sheet"),
        ("⛴😀" * 20, "⛴😀" * 10 + "⛴"),
        ("\u202egnp", "gnp"),
    ],
)
def test_a_sheet_has_a_name_that_sheets_may_have(title: str, name: str) -> None:
    assert opened(Desk().made("xlsx", title=title, rows=[["h"], [1]]).content).sheetnames == [name]


@settings(max_examples=50)
@given(st.text(max_size=40))
def test_any_text_is_a_value_and_only_formulas_that_reckon_are_formulas(text: str) -> None:
    value = value_of(text)
    assert not value.formula or text.strip().startswith("=")
    assert not (value.formula and value.refused)
