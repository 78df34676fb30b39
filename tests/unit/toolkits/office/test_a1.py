"""Ranges in A1 notation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import ToolError
from callblocks.toolkits.office.tools.cells import (
    COLUMNS,
    ROWS,
    Box,
    Range,
    column_name,
    print_range,
    quote_sheet,
    read_range,
)

NAMES = st.text(min_size=1, max_size=12).filter(lambda name: name == name.strip())
ROW = st.integers(1, ROWS)
COLUMN = st.integers(1, COLUMNS)


@st.composite
def ranges(draw: st.DrawFn) -> Range:
    sheet = draw(st.just("") | NAMES | st.sampled_from(["Q1", "It's", "a!b", "A:B", "'", "R1C1"]))
    top, bottom = sorted((draw(ROW), draw(ROW)))
    left, right = sorted((draw(COLUMN), draw(COLUMN)))
    shapes = [
        Range(sheet, top, left, bottom, right),
        Range(sheet, top, left, top, left),
        Range(sheet, None, left, None, right),
        Range(sheet, top, None, bottom, None),
        Range(sheet, top, left, None, right),
        Range(sheet, top, left, bottom, None),
        Range(sheet),
    ]
    return draw(st.sampled_from(shapes))


@given(ranges())
def test_a_range_that_was_printed_is_read_as_the_same(range: Range) -> None:
    assert read_range(print_range(range)) == range


@given(st.text(alphabet="AZaz019$:!' ", max_size=12) | st.text(max_size=12))
def test_any_text_is_a_range_or_invalid_input(text: str) -> None:
    read, error = _read(text)
    if error is not None:
        assert (error.code, [*error.details]) == ("invalid_input", ["range"])
    elif read is not None:
        assert read_range(print_range(read)) == read


def _read(text: str) -> tuple[Range | None, ToolError | None]:
    try:
        return read_range(text), None
    except ToolError as error:
        return None, error


@pytest.mark.parametrize(
    ("text", "range"),
    [
        ("Sheet1!A1:C3", Range("Sheet1", 1, 1, 3, 3)),
        ("'My sheet'!B2", Range("My sheet", 2, 2, 2, 2)),
        ("A:C", Range("", None, 1, None, 3)),
        ("2:5", Range("", 2, None, 5, None)),
        ("A2:C", Range("", 2, 1, None, 3)),
        ("Sheet1", Range("Sheet1")),
        ("'Q1'", Range("Q1")),
        ("Q1", Range("", 1, 17, 1, 17)),
        ("'It''s'!a1", Range("It's", 1, 1, 1, 1)),
        ("$C$3:$A$1", Range("", 1, 1, 3, 3)),
        ("", Range()),
    ],
)
def test_each_form_is_read(text: str, range: Range) -> None:
    assert read_range(text) == range


@pytest.mark.parametrize(
    ("number", "letters"), [(1, "A"), (26, "Z"), (27, "AA"), (702, "ZZ"), (18_278, "ZZZ")]
)
def test_columns_have_letters(number: int, letters: str) -> None:
    assert column_name(number) == letters


@pytest.mark.parametrize("name", ["Q1", "A", "ZZZ999", "5", "two words", "Größe", "R1C1 "])
def test_a_name_that_could_be_misread_is_quoted(name: str) -> None:
    assert quote_sheet(name) == f"'{name}'"
    assert quote_sheet("Sheet1") == "Sheet1"


def test_open_sides_end_with_the_grid() -> None:
    assert read_range("B2:C").within(1000, 26) == Box(2, 2, 1000, 3)
    assert read_range("A1:AZ5000").within(1000, 26) == Box(1, 1, 1000, 26)
    assert read_range("AB2000").within(1000, 26) == Box(2000, 28, 2000, 28)
