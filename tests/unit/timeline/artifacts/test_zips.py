from __future__ import annotations

import io
import random
import struct
import zipfile

from hypothesis import given
from hypothesis import strategies as st

from callblocks.timeline.artifacts.media_types import MAX_PARTS, read_zip
from support.documents import zipped

PARTS = st.dictionaries(st.text("abcö/.", min_size=1), st.binary(max_size=300), max_size=5)
METHODS = st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])


@given(PARTS, METHODS, st.binary(max_size=20))
def test_what_was_packed_is_read_whatever_stands_before_it(
    parts: dict[str, bytes], method: int, before: bytes
) -> None:
    opened = read_zip(before + zipped(dict(parts), method))
    assert opened is not None
    assert {name: opened.read(name, 300) for name in opened.parts} == parts
    assert {name: opened.measure(name, 300) for name in opened.parts} == {
        name: len(content) for name, content in parts.items()
    }


@given(st.binary(max_size=200), st.binary(max_size=60))
def test_bytes_at_random_are_no_zip_and_no_fault(content: bytes, tail: bytes) -> None:
    read_zip(content)
    read_zip(content + b"PK\x05\x06" + tail)
    read_zip(content + b"PK\x06\x07" + tail.ljust(16) + b"PK\x05\x06" + bytes(18))


def test_a_part_is_read_up_to_a_limit_and_no_further() -> None:
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        opened = read_zip(zipped({"a": b"x" * 1_000_000}, method))
        assert opened is not None
        assert opened.read("a", 999_999) is None
        assert opened.measure("a", 999_999) == 1_000_000
        assert opened.measure("a", 10) == 11
        assert opened.measure("a", 1_000_000) == 1_000_000
        assert (opened.read("b", 10), opened.measure("b", 10)) == (None, None)


def test_what_hardly_packs_is_unpacked_piece_by_piece() -> None:
    content = random.Random(1).randbytes(300_000) + bytes(300_000)
    opened = read_zip(zipped({"a": content}))
    assert opened is not None
    assert opened.read("a", len(content)) == content


def test_a_table_of_large_sizes_is_read() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as opened, opened.open("a", "w", force_zip64=True) as part:
        part.write(b"hello")
    read = read_zip(_with_large_table(file.getvalue()))
    assert read is not None
    assert read.read("a", 10) == b"hello"


def _with_large_table(content: bytes) -> bytes:
    """The same zip, its one row and its end written as for a file of more than 4 GiB."""
    end = content.rindex(b"PK\x05\x06")
    start = content.rindex(b"PK\x01\x02")
    row = bytearray(content[start:end])
    row[20:28] = b"\xff" * 8
    extra = struct.pack("<HHH", 9, 2, 0) + struct.pack("<HHQQ", 1, 16, 5, 5)
    row[30:32] = struct.pack("<H", len(extra))
    table = bytes(row[:47]) + extra
    after = start + len(table)
    end64 = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, len(table), start)
    place = struct.pack("<4sIQI", b"PK\x06\x07", 0, after, 1)
    last = b"PK\x05\x06" + b"\0\0\0\0" + b"\xff" * 12 + b"\0\0"
    return content[:start] + table + end64 + place + last


def test_a_table_of_endless_rows_is_read_up_to_a_limit() -> None:
    row = struct.pack(
        "<4sHHHHHHIIIHHHHHII", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, 5, *(0,) * 4, 0, 0
    )
    rows = b"".join(row + b"%05d" % number for number in range(MAX_PARTS + 10))
    count = MAX_PARTS + 10
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, count, count, len(rows), 0, 0)
    opened = read_zip(rows + end)
    assert opened is not None
    assert len(opened.parts) == MAX_PARTS
    assert opened.read("00000", 10) is None


def packed(size: int = 3_000) -> tuple[bytes, int]:
    """A zip of one deflated part, and where its packed bytes begin."""
    return zipped({"a": random.Random(1).randbytes(size // 3).hex()}), 31


def test_a_stream_that_ends_too_soon_or_is_none_is_damaged() -> None:
    content, at = packed()
    row = content.rindex(b"PK\x01\x02")
    short = content[: row + 20] + struct.pack("<I", 100) + content[row + 24 :]
    none = content[:at] + b"\xff" * 8 + content[at + 8 :]
    for damaged in (short, none):
        opened = read_zip(damaged)
        assert opened is not None
        assert opened.measure("a", 10_000) is None
        assert opened.read("a", 10_000) is None


def test_a_part_that_is_not_where_the_table_says_is_damaged() -> None:
    content, _ = packed()
    row = content.rindex(b"PK\x01\x02")
    for place in (1, len(content) - 10, 0xFFFFFFFE):
        opened = read_zip(content[: row + 42] + struct.pack("<I", place) + content[row + 46 :])
        assert opened is not None
        assert opened.measure("a", 10_000) is None


def test_a_table_that_is_damaged_is_no_zip() -> None:
    content, _ = packed()
    assert read_zip(content.replace(b"PK\x01\x02", b"PK\x01\x03")) is None
    assert read_zip(_with_large_table(content).replace(b"PK\x06\x06", b"PK\x06\x05")) is None
    assert read_zip(content[:-10]) is None
    assert read_zip(content[40:]) is None
