"""Tables of an office fit the terminal, and nothing in them steers it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from callblocks.views.rows import columns, plain
from callblocks.views.terminal.tables import PartTable, part_rows


def _lines(table: PartTable, width: int = 60) -> list[str]:
    return [plain(row).rstrip() for row in part_rows(table, width)]


def test_columns_stand_below_each_other_under_the_name_and_the_count() -> None:
    table = PartTable("Mail", "2", [("a", "first", "x"), ("bcd", "2", "y")])
    assert _lines(table) == ["Mail  2", "  a    first  x", "  bcd  2      y"]


def test_one_column_gives_way_where_there_is_no_room() -> None:
    table = PartTable("Mail", "1", [("2026", "a very long subject of a mail", "the-id")])
    assert _lines(table, 30) == ["Mail  1", "  2026  a very long s…  the-id"]


def test_wide_characters_are_counted_as_two() -> None:
    table = PartTable("Mail", "2", [("冬の朝食", "x", ""), ("ab", "y", "")])
    assert _lines(table)[1:] == ["  冬の朝食  x", "  ab        y"]


def test_nothing_gives_the_heading_alone() -> None:
    assert _lines(PartTable("Docs", "0", [])) == ["Docs  0"]


@given(st.lists(st.tuples(st.text(), st.text(max_size=80), st.text(max_size=9)), max_size=4))
def test_no_cell_steers_the_terminal_and_all_rows_are_as_wide(
    lines: list[tuple[str, str, str]],
) -> None:
    rows = [plain(row) for row in part_rows(PartTable("Mail", "?", lines), 60)]
    assert len(rows) == 1 + len(lines)
    assert not any("\n" in row or "\x1b" in row for row in rows)
    assert len({columns(row) for row in rows[1:]}) <= 1
