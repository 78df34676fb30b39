from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.views.rows import Bit, Row, columns, plain, runs, wrap

kinds = st.sampled_from(["plain", "mark", "code"])
rows = st.lists(st.tuples(kinds, st.text("ab 漢é🛠\ufe0f", max_size=30)), max_size=6).map(tuple)


@pytest.mark.parametrize(
    ("text", "count"),
    [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("🔧", 2), ("🛠️[", 3), ("✂️🐱", 4), ("", 0)],
)
def test_columns_are_those_of_a_terminal(text: str, count: int) -> None:
    assert columns(text) == count


def test_a_row_breaks_at_a_blank() -> None:
    row: Row = (("plain", "to be or "), ("mark", "not to be"))
    assert wrap(row, 12) == [
        (("plain", "to be or "), ("mark", "not")),
        (("mark", "to be"),),
    ]


def test_further_rows_hang() -> None:
    assert [plain(row) for row in wrap((("plain", "a" * 25),), 12, (("plain", "  "),))] == [
        "a" * 12,
        "  " + "a" * 10,
        "  aaa",
    ]


def test_a_row_that_fits_stays_whole() -> None:
    row: Row = (("plain", "a b"), ("mark", "c"))
    assert wrap(row, 4) == [row]


@given(rows, st.integers(12, 40))
def test_wrapping_loses_only_blanks(row: Row, width: int) -> None:
    wrapped = wrap(row, width)
    kept = "".join(plain(part) for part in wrapped)
    assert kept.replace(" ", "") == plain(row).replace(" ", "")


@given(rows, st.integers(12, 40))
def test_no_row_is_wider_than_asked(row: Row, width: int) -> None:
    assert all(columns(plain(part)) <= width for part in wrap(row, width))


@given(rows)
def test_runs_say_the_same_with_fewer_bits(row: Row) -> None:
    chars: list[Bit] = [(kind, char) for kind, text in row for char in text]
    assert plain(runs(chars)) == plain(row)
    assert all(one[0] != other[0] for one, other in zip(runs(chars), runs(chars)[1:], strict=False))


def test_a_path_breaks_at_its_joints() -> None:
    path = "fi:turn_12.user.attachments/annual_reports/summary.pdf"
    found = [plain(row) for row in wrap((("plain", path),), 30)]
    assert found == ["fi:turn_12.user.attachments/", "annual_reports/summary.pdf"]
    assert next(plain(row) for row in wrap((("plain", "https://" + "x" * 10),), 9)) == "https://"
    assert next(plain(row) for row in wrap((("plain", "a/" + "x" * 20),), 12)) == "a/xxxxxxxxxx"
