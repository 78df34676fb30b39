from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.guard.files.root import MAX_COMPARED, change_text


def test_a_new_file_is_shown_whole() -> None:
    assert change_text("a", None, b"x\ny\n") == "new file a: 2 lines, 4 bytes\n+x\n+y"


def test_a_new_empty_file_is_said() -> None:
    assert change_text("a", None, b"") == "new file a: 0 lines, 0 bytes"


def test_no_change_is_said() -> None:
    assert change_text("a", b"x", b"x") == "a: no change"


def test_a_change_is_a_diff() -> None:
    assert change_text("a/b", b"1\n2\n3\n", b"1\nzwei\n3\n") == (
        "--- a/b\n+++ a/b\n@@ -1,3 +1,3 @@\n 1\n-2\n+zwei\n 3"
    )


def test_a_missing_line_end_is_said() -> None:
    assert change_text("a", b"1\n", b"1") == (
        "--- a\n+++ a\n@@ -1 +1 @@\n-1\n+1\n\\ No newline at end of file"
    )


def test_another_line_break_does_not_end_a_line() -> None:
    assert (
        change_text("a", None, b"x\r+y\x0b\n")
        .splitlines(keepends=False)[0]
        .endswith("1 line, 6 bytes")
    )
    assert change_text("a", None, b"x\ry\n") == "new file a: 1 line, 4 bytes\n+x\ry"


@pytest.mark.parametrize(("old", "new"), [(b"\0", b"text"), (b"text", b"\xff..")])
def test_a_binary_change_is_said_by_sizes(old: bytes, new: bytes) -> None:
    assert change_text("a", old, new) == f"a: binary, {len(old)} bytes become {len(new)}"


def test_a_new_binary_file_is_said_by_its_size() -> None:
    assert change_text("a", None, b"\0\0\0") == "new file a: binary, 3 bytes"


def numbered(count: int) -> bytes:
    return b"".join(b"%d\n" % at for at in range(count))


@pytest.mark.parametrize("lines", [1, 400, 1000])
def test_all_lines_of_a_change_are_told(lines: int) -> None:
    count = "1 line" if lines == 1 else f"{lines} lines"
    assert change_text("a", None, numbered(lines)).split("\n") == [
        f"new file a: {count}, {len(numbered(lines))} bytes",
        *(f"+{at}" for at in range(lines)),
    ]


def test_long_files_are_compared_by_their_first_and_last_difference() -> None:
    assert MAX_COMPARED == 2000
    old = numbered(MAX_COMPARED + 1)
    new = old.replace(b"\n50\n", b"\nfifty\n").replace(b"\n52\n", b"\n")
    assert change_text("a", old, new) == (
        "--- a\n+++ a\n@@ -51,3 +51,2 @@\n-50\n-51\n-52\n+fifty\n+51"
    )


@pytest.mark.parametrize(("lines", "hunks"), [(MAX_COMPARED, 2), (MAX_COMPARED + 1, 1)])
def test_shorter_files_are_compared_line_by_line(lines: int, hunks: int) -> None:
    old = numbered(lines)
    new = old.replace(b"\n50\n", b"\nfifty\n").replace(b"\n90\n", b"\n")
    for one, other in ((old, new), (new, old)):
        assert change_text("a", one, other).count("@@ -") == hunks


def test_a_long_file_that_only_grows_or_shrinks_shows_that_alone() -> None:
    old, new = numbered(2100), numbered(2102)
    assert change_text("a", old, new) == ("--- a\n+++ a\n@@ -2101,0 +2101,2 @@\n+2100\n+2101")
    assert change_text("a", new, old) == ("--- a\n+++ a\n@@ -2101,2 +2101,0 @@\n-2100\n-2101")


def test_a_long_file_of_equal_lines_counts_no_line_twice() -> None:
    old, new = b"x\n" * 2100, b"x\n" * 2102
    assert change_text("a", old, new) == "--- a\n+++ a\n@@ -2101,0 +2101,2 @@\n+x\n+x"


@given(st.binary(max_size=40) | st.none(), st.binary(max_size=40))
def test_any_change_can_be_said(old: bytes | None, new: bytes) -> None:
    assert change_text("a", old, new).encode()
