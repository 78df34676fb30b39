"""Places: a folder and a bucket behave alike, and a job on S3 gives the bytes of a local one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from callblocks.bulk.execute import run_plan
from callblocks.bulk.records import make_plan
from callblocks.bulk.storage import RangeFile, open_storage
from callblocks.bulk.work import BulkJob
from callblocks.core.errors import CallerError
from support.s3_server import s3_bucket


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "folder":
        yield str(tmp_path)
        return
    with s3_bucket() as bucket:
        yield bucket


def test_what_is_written_is_listed_and_read(place: str) -> None:
    storage = open_storage(f"{place}/pre".replace("//pre", "/pre"))
    assert storage.files() == []
    assert storage.find("a") is None
    storage.write("a", b"12345")
    storage.write("b/c", b"")
    open_storage(place).write("prefix", b"of another place")
    assert [(file.name, file.size) for file in storage.files()] == [("a", 5), ("b/c", 0)]
    assert [file.name for file in storage.files("b/")] == ["b/c"]
    assert [storage.read("a", *cut) for cut in ((1, 3), (3, 9), (2, 2))] == [b"23", b"45", b""]
    before = storage.find("a")
    storage.write("a", b"54321")
    assert storage.find("a") != before
    storage.remove(["a", "a", "nothing"])
    assert storage.find("a") is None


def test_a_file_takes_its_name_when_it_is_whole(place: str) -> None:
    storage = open_storage(place)

    def break_off() -> None:
        with storage.new_file("a") as file:
            file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        break_off()
    assert storage.files() == []
    with storage.new_file("a") as file:
        file.write(b"whole")
    assert storage.read("a", 0, 9) == b"whole"


def test_a_range_file_seeks(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    file = RangeFile(open_storage(str(tmp_path)), "a", 10)
    assert (file.seek(-4, 2), file.read(2), file.tell(), file.read()) == (6, b"67", 8, b"89")
    assert (file.seek(1), file.seek(2, 1), file.read(1)) == (1, 3, b"3")


def test_a_job_on_s3_gives_the_bytes_of_a_local_one(tmp_path: Path) -> None:
    text = '<tool_call>\n{"name": "ls", "arguments": {"n": 1}}\n</tool_call>'
    rows = [{"id": n, "text": text} for n in range(30)]
    lines, table = b"\n".join(map(msgspec.json.encode, rows)), tmp_path / "in" / "b.parquet"
    table.parent.mkdir()
    (tmp_path / "in" / "a.jsonl").write_bytes(lines)
    pq.write_table(pa.Table.from_pylist(rows), table, row_group_size=9)
    job = msgspec.json.encode(BulkJob(target="tool-fence"))
    with s3_bucket() as bucket:
        there = open_storage(f"{bucket}in")
        there.write("a.jsonl", lines)
        there.write("b.parquet", table.read_bytes())
        places = {str(tmp_path / "in"): str(tmp_path / "out"), f"{bucket}in": f"{bucket}out"}
        runs = [
            run_plan(make_plan([source], job, part=1200), job, out, writes=True)
            for source, out in places.items()
        ]
        assert runs[0].failed == runs[1].failed == {}
        assert runs[0].files == runs[1].files
        assert runs[0].tally == runs[1].tally
        assert [file.name for file in open_storage(f"{bucket}out").files()][-2:] == [
            "a.jsonl",
            "b.parquet",
        ]
        one = make_plan([f"{bucket}in/a.jsonl"], job)
        assert [source.out for source in one.sources] == ["a.jsonl"]


def test_an_address_without_a_bucket_is_refused() -> None:
    with pytest.raises(CallerError, match="names no bucket"):
        open_storage("s3://")
