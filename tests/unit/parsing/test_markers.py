"""A marker is seen whole, seen coming, or not there; one pattern tells which."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.parsing.engine.markers import Markers, Shape, line

ANY = st.text(min_size=1, max_size=6)


@given(ANY, st.text(max_size=6))
def test_a_literal_is_matched_as_it_is_whatever_its_characters(marker: str, more: str) -> None:
    hit = Markers(marker).final.match(marker + more)
    assert hit is not None
    assert hit[0] == marker


@given(ANY)
def test_each_start_of_a_marker_may_still_become_one(marker: str) -> None:
    growing = Markers(marker).growing
    for end in range(1, len(marker)):
        hit = growing.search(marker[:end])
        assert hit is not None
        assert hit.start() == 0
        assert not hit.lastindex
    whole = growing.search(marker)
    assert whole is not None
    assert whole.lastindex


SHAPES = ANY | st.sampled_from(
    [line("b"), line("\n"), line("b", indent=""), Shape(("[ab]", "c")), Shape((r"\n", "a")), "\r"]
)


@given(st.lists(SHAPES, max_size=3), st.characters() | st.sampled_from("ab \n\r["), st.booleans())
def test_what_the_patterns_match_may_begin(
    shapes: list[str | Shape], char: str, fresh: bool
) -> None:
    markers = Markers(*shapes)
    at_start = markers.fresh.match(char) if fresh and markers.fresh else None
    is_match = bool(markers.growing.match(char) or at_start)
    has_letters = all(isinstance(one, str) or one == Shape((r"\n", "a")) for one in shapes)
    assert markers.may_begin(char, fresh) == is_match or not (has_letters or is_match)
    for first in (one[0] for one in shapes if isinstance(one, str)):
        assert Markers(*shapes).may_begin(first, fresh)


@given(ANY, ANY)
def test_text_that_is_over_holds_no_half_markers(marker: str, text: str) -> None:
    hit = Markers(marker).final.search(text)
    assert (hit.start() if hit else -1) == text.find(marker)


def test_the_longer_marker_is_tried_first() -> None:
    hit = Markers("<", "<<", "<<<").final.match("<<a")
    assert hit is not None
    assert hit[0] == "<<"


def test_only_line_markers_have_a_pattern_for_fresh_text() -> None:
    assert Markers("a").fresh is None
    assert Markers("a").fresh_final is None
    assert Markers("a", line("b")).fresh is not None
    assert Markers("a", line("b")).fresh_final is not None


@pytest.mark.parametrize(("text", "found"), [("b", "b"), ("   b", "   b"), ("    b", None)])
def test_a_line_marker_may_be_indented_by_three_blanks(text: str, found: str | None) -> None:
    fresh = Markers(line("b")).fresh_final
    assert fresh is not None
    hit = fresh.match(text)
    assert (hit[0] if hit else None) == found


def test_a_line_marker_takes_atoms_after_its_literal() -> None:
    marker = line("*", "[0-9]+", indent="\t?")
    assert marker == Shape(("\t?", re.escape("*"), "[0-9]+"), at_line_start=True)
    assert Markers(marker).final.search("a\n\t*17b")
