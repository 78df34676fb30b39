"""Ranges are read, joined and held against what there is, and never written out."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.paths import (
    Ranges,
    chosen,
    joined,
    parse_selector,
    ranges_of,
    selector_text,
)

numbers = st.integers(0, 40)
pairs = st.lists(st.tuples(numbers, numbers), max_size=8).map(tuple)


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("1", ((1, 1),)),
        ("1,3-5", ((1, 1), (3, 5))),
        (" 1 , 3 - 5 ", ((1, 1), (3, 5))),
        ("5-3", ((3, 5),)),
        ("3–5", ((3, 5),)),
        ("2,1,1", ((1, 2),)),
        ("007", ((7, 7),)),
        ("1-999999999999999", ((1, 999999999999999),)),
    ],
)
def test_a_selector_is_read(text: str, ranges: Ranges) -> None:
    assert parse_selector(text) == ranges


@pytest.mark.parametrize(
    "text", ["", " ", ",", "1,", "x", "1-", "-1", "1-2-3", "1.5", "٣", "9" * 16]
)
def test_what_is_no_selector_is_none(text: str) -> None:
    assert parse_selector(text) is None


@given(pairs)
def test_joined_ranges_name_the_same_numbers(ranges: Ranges) -> None:
    named = {n for pair in ranges for n in range(min(pair), max(pair) + 1)}
    fewest = joined(ranges)
    assert named == {n for first, last in fewest for n in range(first, last + 1)}
    assert fewest == ranges_of(named)
    assert all(last + 1 < first for (_, last), (first, _) in pairwise(fewest))


@given(pairs.filter(bool))
def test_what_is_written_is_read_the_same(ranges: Ranges) -> None:
    assert parse_selector(selector_text(ranges)) == joined(ranges)
    assert parse_selector(selector_text(joined(ranges))) == joined(ranges)


@given(pairs, st.lists(numbers))
def test_the_chosen_are_known_and_named(ranges: Ranges, known: list[int]) -> None:
    named = {n for pair in ranges for n in range(min(pair), max(pair) + 1)}
    assert chosen(ranges, known) == sorted(named & set(known))


def test_a_range_is_not_written_out() -> None:
    assert chosen(((1, 10**15),), [7, 3, 3]) == [3, 7]


def test_many_ranges_and_many_numbers_are_held_together() -> None:
    ranges = tuple((n, n) for n in range(0, 100_000, 2))
    assert len(chosen(ranges, range(50_000))) == 25_000
