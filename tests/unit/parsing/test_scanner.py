"""The scanner against a model that sees the whole text at once."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from callblocks.parsing.engine.markers import Markers, Shape, line
from callblocks.parsing.engine.parse_state import Scanner

LETTERS = st.text("ab<", max_size=12)
LITERALS = st.lists(st.text("ab<", min_size=1, max_size=4), min_size=1, max_size=3, unique=True)


def model(text: str, literals: list[str]) -> list[str]:
    longest_first = sorted(literals, key=len, reverse=True)
    return [part for part in re.split(f"({'|'.join(longest_first)})", text) if part]


def streamed(pieces: list[str], markers: Markers) -> tuple[list[str], list[str]]:
    """The parts that the scanner finds, and what was waiting after each piece."""
    scan, parts, prose, waiting = Scanner(), list[str](), "", list[str]()
    for piece in [*pieces, None]:
        if piece is None:
            scan.closed = True
        else:
            scan.feed(piece)
        while True:
            end, hit = scan.find(markers)
            prose += scan.take(end)
            if hit is None:
                break
            parts += [prose, scan.take(hit.end())]
            prose = ""
        waiting.append(scan.text[scan.pos :])
    return [part for part in [*parts, prose] if part], waiting


@given(st.lists(LETTERS, max_size=5), LITERALS)
@example(["<", "<"], ["<", "<<"])  # a longer marker from the same start
@example(["ba", "a"], ["a", "baa"])  # a longer marker from an earlier start
@example(["b", "a", "b"], ["baa", "a"])
def test_streaming_finds_what_the_whole_text_holds(pieces: list[str], literals: list[str]) -> None:
    parts, _ = streamed(pieces, Markers(*literals))
    assert parts == model("".join(pieces), literals)


@given(st.lists(LETTERS, max_size=5), LITERALS)
@example(["ba"], ["a", "baa"])
def test_only_the_start_of_a_marker_waits(pieces: list[str], literals: list[str]) -> None:
    *waiting, at_the_end = streamed(pieces, Markers(*literals))[1]
    for text in filter(None, waiting):
        assert any(marker.startswith(text) and marker != text for marker in literals), text
    assert at_the_end == ""


ROWS = st.lists(st.text("ab`~ \n", max_size=6), max_size=6)
LINES = Markers(line("``"), line("~", "~{1,3}", "a"), "ab")
LINES_MODEL = re.compile(r"((?:\A|\n) {0,3}(?:``|~~{1,3}a)|ab)")


@given(ROWS)
@example(["\n", " ", "`", "`"])
@example([" ", " ``"])
@example(["`", "`\n``"])
@example(["    ``"])
def test_a_line_marker_stands_at_the_start_of_the_text_or_owns_the_newline_before_it(
    pieces: list[str],
) -> None:
    parts, _ = streamed(pieces, LINES)
    assert parts == [part for part in LINES_MODEL.split("".join(pieces)) if part]


def test_a_fresh_scanner_finds_a_line_marker_after_a_line_that_was_taken() -> None:
    scan = Scanner()
    scan.feed("row\n``")
    assert scan.take(4) == "row\n"
    assert scan.find(LINES)[1] is None
    scan.fresh = True
    end, hit = scan.find(LINES)
    assert (end, hit and hit[0]) == (4, "``")


def test_taking_text_ends_freshness_and_taking_nothing_does_not() -> None:
    scan = Scanner()
    scan.feed("ab")
    scan.take(0)
    assert scan.fresh
    scan.take(1)
    assert not scan.fresh


@given(LETTERS, LITERALS)
def test_matching_looks_only_at_what_stands_here(text: str, literals: list[str]) -> None:
    scan, markers = Scanner(), Markers(*literals)
    for char in text:
        scan.feed(char)
        found, certain = scan.match(markers)
        started = [marker for marker in literals if marker.startswith(scan.text)]
        whole = [marker for marker in literals if scan.text.startswith(marker)]
        longer = [marker for marker in started if marker != scan.text]
        assert certain == (not longer)
        assert found == (max(whole, key=len) if whole and certain else None)
    scan.closed = True
    whole = [marker for marker in literals if text.startswith(marker)]
    assert scan.match(markers) == (max(whole, key=len) if whole else None, True)


def test_a_marker_that_may_begin_in_no_text_is_uncertain_until_the_end() -> None:
    scan = Scanner()
    assert scan.match(Markers("a")) == (None, False)
    scan.closed = True
    assert scan.match(Markers("a")) == (None, True)


def test_a_line_marker_matches_here_where_the_text_is_fresh() -> None:
    scan = Scanner()
    scan.feed(" ``x")
    assert scan.match(LINES) == (" ``", True)
    scan.closed = True
    assert scan.match(LINES) == (" ``", True)


@given(st.lists(LETTERS, min_size=1), st.data())
def test_what_is_rewound_is_read_again(pieces: list[str], data: st.DataObject) -> None:
    scan, text, taken, start = Scanner(), "".join(pieces), list[str](), 0
    scan.looks_back = True
    start = data.draw(st.integers(0, len(pieces[0])))
    for number, piece in enumerate(pieces):
        scan.feed(piece)
        if not number:
            scan.take(start)
        taken.append(scan.take(data.draw(st.integers(scan.pos, len(scan.text)))))
    scan.rewind(start, taken, fresh=True, before=text[:start])
    assert scan.offset == start
    assert scan.before == text[:start]
    assert scan.text[scan.pos :] == text[start:]
    assert scan.fresh


@given(st.lists(LETTERS))
def test_the_offset_counts_all_that_was_taken(pieces: list[str]) -> None:
    scan, taken = Scanner(), 0
    for piece in pieces:
        scan.feed(piece)
        taken += len(scan.take(scan.pos + len(piece) // 2))
        assert scan.offset == taken
        assert scan.empty == (scan.text[scan.pos :] == "")


def test_a_shape_waits_for_the_end_of_its_longest_run() -> None:
    scan, markers = Scanner(), Markers(Shape(("x", "[0-9]{1,3}", ";")))
    scan.feed("ax1")
    assert scan.find(markers) == (1, None)
    scan.take(1)
    scan.feed("2;")
    end, hit = scan.find(markers)
    assert (end, hit and hit[0]) == (0, "x12;")
