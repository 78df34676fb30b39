"""What somebody means who types a value."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callblocks.toolkits.office.tools.cells import Cell, enter, shown, typed

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.text())
@example("=")
@example("'")
def test_any_text_can_be_typed_and_shown(text: str) -> None:
    cell = enter(text)
    assert isinstance(shown(cell), str)
    if cell.kind == "number":
        assert math.isfinite(float(cell.value))
    assert typed(text) == Cell(text, "text")


@given(st.integers(-(10**15) + 1, 10**15 - 1) | NUMBERS.map(lambda one: round(one % 1e6, 6)))
def test_a_number_that_is_typed_is_that_number(number: float) -> None:
    assert enter(repr(number)).value == number


@given(st.integers(-(10**9), 10**9))
def test_what_is_shown_means_the_same_when_typed_again(cents: int) -> None:
    for pattern in ("$#,##0.00", "#,##0.00", "€#,##0.00"):
        cell = Cell(typed(cents / 100).value, "number", pattern)
        assert enter(shown(cell)).value == cell.value


@pytest.mark.parametrize(
    "text", ["1,23", "1e9999", "1e", "$", ".", "+", "$5%", "1 2", "--5", "0x10", "inf", "nan", "٣"]
)
def test_what_only_looks_like_a_number_is_text(text: str) -> None:
    assert enter(text) == Cell(text, "text")


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        (".5", Cell(0.5, "number")),
        ("5.", Cell(5, "number")),
        ("-0", Cell(0, "number")),
        ("1e2%", Cell(1, "number", "0%")),
        ("-$1,000", Cell(-1000, "number", "$#,##0")),
        ("=A1", Cell("=A1", "formula")),
        ("=", Cell("=", "text")),
        ("'=A1", Cell("=A1", "text")),
    ],
)
def test_forms_of_values(text: str, cell: Cell) -> None:
    assert enter(text) == cell
