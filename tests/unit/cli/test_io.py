from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.cli.exits import Fault
from callblocks.cli.terminal.io import BadByte, Piece, Utf8, name_of, pieces, streams

some_bytes = st.lists(
    st.sampled_from([b"a", "é".encode(), "🛠️".encode(), b"\xff", b"\x80", b"\xe2\x82", b"\xf0\x9f"]),
    max_size=12,
).map(b"".join)


def decode(*blocks: bytes) -> list[Piece]:
    utf8 = Utf8()
    found = [piece for block in blocks for piece in utf8.feed(block)]
    return found + list(utf8.feed(b"", final=True))


def text_of(found: list[Piece]) -> str:
    return "".join(piece for piece in found if isinstance(piece, str))


@given(some_bytes, st.lists(st.integers(0, 40), max_size=6))
def test_cuts_do_not_matter(raw: bytes, places: list[int]) -> None:
    marks = sorted({min(place, len(raw)) for place in places} | {0, len(raw)})
    blocks = [raw[start:end] for start, end in pairwise(marks)]
    found, whole = decode(*blocks), decode(raw)
    assert text_of(found) == text_of(whole)
    assert [piece for piece in found if isinstance(piece, BadByte)] == [
        piece for piece in whole if isinstance(piece, BadByte)
    ]


@given(some_bytes)
def test_each_bad_byte_becomes_one_sign(raw: bytes) -> None:
    escaped = raw.decode("utf-8", "surrogateescape")
    wanted = "".join("\ufffd" if "\udc80" <= char <= "\udcff" else char for char in escaped)
    assert text_of(decode(raw)) == wanted


@given(some_bytes)
def test_the_first_of_a_run_of_bad_bytes_is_told_where_it_stands(raw: bytes) -> None:
    text = ""
    for piece in decode(raw):
        if isinstance(piece, str):
            text += piece
        else:
            assert raw[piece.offset] == piece.value
            assert text.endswith("\ufffd")


def test_a_byte_order_mark_is_skipped_once() -> None:
    assert text_of(decode(b"\xef", b"\xbb\xbf\xef\xbb\xbfa")) == "\ufeffa"
    assert decode(b"\xef\xbb\xbf\xff")[-1] == BadByte(3, 0xFF)


def test_a_file_comes_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_bytes("ä".encode() * 100_000)
    told: list[int] = []
    found = list(pieces(str(path), told.append))
    assert text_of(found) == "ä" * 100_000
    assert len(found) > 1
    assert sum(told) == 200_000


@pytest.mark.parametrize(
    ("raw", "why"),
    [(b"ab\0", "a NUL byte at offset 2"), ("a".encode("utf-16"), "this is UTF-16")],
)
def test_what_is_not_text_is_refused(raw: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "picture.bin"
    path.write_bytes(raw)
    with pytest.raises(Fault, match=why):
        list(pieces(str(path)))


def test_a_file_that_goes_away_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(Fault, match="No such file"):
        list(pieces(str(tmp_path / "gone")))


def test_a_file_does_not_stream(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a")
    assert not streams(str(path))
    assert not streams(str(tmp_path / "gone"))
    assert streams("/dev/null")


def test_standard_input_has_a_name() -> None:
    assert name_of("-") == "standard input"
    assert name_of("a.txt") == "a.txt"
