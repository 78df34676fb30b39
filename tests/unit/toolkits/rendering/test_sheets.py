"""Workbooks: what becomes a sheet, and what a cell holds."""

from __future__ import annotations

import io
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import load_workbook

from callblocks.toolkits.rendering.sheet_values import value_of
from support.rendering import Desk

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


@pytest.mark.parametrize("formula", ["=SUM(B2:B9)", "=IF(A1>2,A1*1.19,0)", '=COUNTIF(A1:A9,"x")'])
def test_formulas_that_reckon_are_formulas(formula: str) -> None:
    cell = opened(Desk().made("xlsx", rows=[["h"], [formula]]).content).active["A2"]
    assert (cell.value, cell.data_type) == (formula, "f")


@pytest.mark.parametrize(
    "formula",
    ['=WEBSERVICE("http://x")', '=HYPERLINK("http://x","y")', "=cmd|' /C calc'!A0", "='[x]y'!A1"],
)
def test_formulas_that_do_more_are_text_and_told(formula: str) -> None:
    desk = Desk()
    cell = opened(desk.made("xlsx", rows=[["h"], [formula]]).content).active["A2"]
    assert (cell.value, cell.data_type) == (formula, "s")
    assert desk.notices == ["formula_as_text"]


@settings(max_examples=50)
@given(st.text(max_size=40))
def test_any_text_is_a_value_and_only_formulas_that_reckon_are_formulas(text: str) -> None:
    value = value_of(text)
    assert not value.formula or text.strip().startswith("=")
    assert not (value.formula and value.refused)
