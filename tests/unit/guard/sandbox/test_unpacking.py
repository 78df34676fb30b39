from __future__ import annotations

import contextlib
import hashlib
import io
import subprocess
import tarfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.guard.sandbox.sandbox import Changes, Written
from callblocks.guard.sandbox.tar_streams import Collector, Note, Refused, Unpacker


def collector(notes: dict[str, Note] | None = None, size: int = 1 << 20) -> Collector:
    return Collector(notes or {}, bytes_limit=size, count_limit=100)


def unpack(archive: bytes, notes: dict[str, Note] | None = None, size: int = 1 << 20) -> Changes:
    made = collector(notes, size)
    unpacker = Unpacker(made)
    unpacker.feed(archive)
    assert unpacker.ended
    return made.changes()


def archive(*members: tuple[str, bytes], **fields: object) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as made:
        for name, content in members:
            info = tarfile.TarInfo()
            info.name, info.size = name, len(content)
            for field, value in fields.items():
                setattr(info, field, value)
            made.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def note(content: bytes, *, executable: bool = False) -> Note:
    return Note(hashlib.sha256(content).digest(), executable)


def test_what_our_archiver_writes_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    (tmp_path / "run").write_bytes(b"#!")
    (tmp_path / "run").chmod(0o755)
    (tmp_path / ("long" * 50)).mkdir()
    (tmp_path / ("long" * 50) / "é🛠").write_bytes(b"x" * 513)
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "hard").hardlink_to(tmp_path / "a")
    (tmp_path / "empty").touch()
    command = ["tar", "-c", "--format=gnu", "--hard-dereference", "-f", "-", "."]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout
    changes = unpack(made)
    assert list(changes.written) == [
        Written("a", b"one"),
        Written("empty", b""),
        Written("hard", b"one"),
        Written("long" * 50 + "/é🛠", b"x" * 513),
        Written("run", b"#!", executable=True),
    ]
    assert [each.path for each in changes.left_out] == ["link"]


def test_only_what_differs_is_a_change() -> None:
    notes = {"same": note(b"s"), "new": note(b"old"), "bit": note(b"b", executable=True)}
    notes["gone"] = note(b"")
    changes = unpack(archive(("same", b"s"), ("new", b"new"), ("bit", b"b")), notes)
    assert changes.written == (Written("bit", b"b"), Written("new", b"new"))
    assert changes.deleted == ("gone",)


@given(st.lists(st.integers(0, 11_000), max_size=8))
def test_cuts_do_not_matter(cuts: list[int]) -> None:
    members = [("a", b"x" * 600), ("b/" + "n" * 150, b""), ("c", b"z")]
    whole = archive(*members) + b"end 0\n"
    made = collector()
    unpacker = Unpacker(made)
    ends = [*sorted(cuts), len(whole)]
    for start, end in pairwise([0, *ends]):
        unpacker.feed(whole[start:end])
    assert made.changes().written == tuple(Written(name, content) for name, content in members)
    assert unpacker.rest.strip(b"\0") == b"end 0\n"


@given(st.binary(max_size=2000))
def test_bytes_are_read_or_refused(garbage: bytes) -> None:
    with contextlib.suppress(Refused):
        Unpacker(collector()).feed(garbage)


@given(st.integers(0, 1535), st.binary(min_size=1, max_size=20))
def test_a_damaged_archive_is_read_or_refused(place: int, garbage: bytes) -> None:
    whole = archive(("a", b"content"), ("b", b"other"))
    damaged = whole[:place] + garbage + whole[place + len(garbage) :]
    made = collector()
    try:
        Unpacker(made).feed(damaged)
    except Refused:
        return
    assert all(len(written.content) < 1 << 20 for written in made.changes().written)


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../x", "a/../../x", "a//b", "a\nb", "\udcff", ".."]
)
def test_a_path_that_is_not_plain_stays_behind(name: str) -> None:
    changes = unpack(archive((name, b"x"), ("fine", b"y")))
    assert [written.path for written in changes.written] == ["fine"]
    assert len(changes.left_out) == 1


@pytest.mark.parametrize("kind", [b"1", b"2", b"3", b"4", b"6"])
def test_what_is_no_file_stays_behind(kind: bytes) -> None:
    changes = unpack(archive(("x", b""), type=kind))
    assert changes.written == ()
    assert [each.path for each in changes.left_out] == ["x"]


@pytest.mark.parametrize("kind", [b"S", b"x", b"g", b"7", b"M", b"V", b"D", b"?"])
def test_an_unknown_kind_refuses_the_archive(kind: bytes) -> None:
    with pytest.raises(Refused, match="unknown kind"):
        unpack(archive(("x", b""), type=kind))


def test_a_name_twice_refuses_the_archive() -> None:
    with pytest.raises(Refused, match="twice"):
        unpack(archive(("a", b"x"), ("./a", b"y")))


def test_a_file_below_a_file_refuses_the_archive() -> None:
    with pytest.raises(Refused, match="as a file and as a folder"):
        unpack(archive(("a", b"x"), ("a/b", b"y")))


def test_a_file_where_a_link_was_left_refuses_the_archive() -> None:
    made = collector()
    made.other("d", "it is a link")
    made.admit("d/x", 1)
    made.file("d/x", b"y", executable=False)
    with pytest.raises(Refused):
        made.changes()


def test_too_much_is_refused_before_it_is_read() -> None:
    info = tarfile.TarInfo("huge")
    info.size = 7 << 30
    unpacker = Unpacker(collector())
    with pytest.raises(Refused, match="larger than the limit"):
        unpacker.feed(info.tobuf(tarfile.GNU_FORMAT))


@pytest.mark.parametrize("size", [8 << 30, 1 << 60])
def test_a_size_in_binary_is_refused(size: int) -> None:
    info = tarfile.TarInfo("huge")
    info.size = size
    with pytest.raises(Refused, match="number that is none"):
        Unpacker(collector()).feed(info.tobuf(tarfile.GNU_FORMAT))


def test_too_many_entries_are_refused() -> None:
    with pytest.raises(Refused, match="more files"):
        unpack(archive(*((f"f{number}", b"") for number in range(101))))


def test_set_id_bits_do_not_come_out() -> None:
    changes = unpack(archive(("x", b"y"), mode=0o6755))
    assert changes.written == (Written("x", b"y", executable=True),)
