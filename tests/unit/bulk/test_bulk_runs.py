"""Runs: the same bytes however many processes, wherever a run is killed, and on a cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from callblocks.bulk import execute
from callblocks.bulk.execute import Done, Progress, run_plan
from callblocks.bulk.records import make_plan
from callblocks.bulk.storage import LocalStorage
from callblocks.bulk.work import BulkJob
from callblocks.core.errors import CallerError
from support.pages import ROOT

CALL = 'Look. <tool_call>\n{"name": "ls", "arguments": {"path": "d%d"}}\n</tool_call>'
PART = 600
JOB = msgspec.json.encode(BulkJob(target="tool-fence"))


class Killed(BaseException):
    """The process is gone."""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """JSON lines with a broken one and odd ends, row groups, and a text."""
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    records = [
        {"id": n, "messages": [{"role": "assistant", "content": CALL % n}], "more": {"a": [n]}}
        for n in range(20)
    ]
    rows = [json.dumps(record) for record in records]
    rows[5:5] = ["{broken", "[1]", "", rows[5] + "\r"]
    (folder / "a.jsonl").write_text("\n".join(rows), "utf-8", newline="")
    pq.write_table(pa.Table.from_pylist(records), folder / "deep" / "b.parquet", row_group_size=6)
    (folder / "c.txt").write_text(CALL % 1, "utf-8")
    (folder / "notes.pdf").write_text("not read", "utf-8")
    return folder


def written(out: Path) -> dict[str, bytes]:
    """All files of an output place but its state."""
    files = (path for path in out.rglob("*") if path.is_file())
    names = {path.relative_to(out).as_posix(): path for path in files}
    return {name: path.read_bytes() for name, path in names.items() if name[0] != "."}


def go(corpus: Path, out: Path, **options: Any) -> Done:
    plan = make_plan([str(corpus)], JOB, part=PART)
    return run_plan(plan, JOB, str(out), writes=True, **options)


def test_only_texts_of_a_model_change(corpus: Path, tmp_path: Path) -> None:
    done = go(corpus, tmp_path / "out")
    files = written(tmp_path / "out")
    assert sorted(files) == ["a.jsonl", "c.txt", "deep/b.parquet"]
    old = (corpus / "a.jsonl").read_bytes().split(b"\n")
    new = files["a.jsonl"].split(b"\n")
    assert len(new) == len(old)
    assert new[5:8] == old[5:8]
    assert new[8].endswith(b"\r")
    assert json.loads(new[0])["more"] == {"a": [0]}
    assert "```tool ls" in json.loads(new[0])["messages"][0]["content"]
    table = pq.read_table(tmp_path / "out" / "deep" / "b.parquet")
    assert table.schema == pq.read_table(corpus / "deep" / "b.parquet").schema
    assert "```tool ls" in table.to_pylist()[19]["messages"][0]["content"]
    assert done.tally.faulty == {"not-json": 1, "not-an-object": 1}
    assert (done.tally.converted, done.tally.calls) == (42, {"hermes": 42})


def _dying(monkeypatch: pytest.MonkeyPatch, after: int) -> Iterator[None]:
    """Kill this run at its `after`-th change of the output place, before or behind it."""
    left = after

    def guard(name: str) -> None:
        change: Callable[..., Any] = getattr(LocalStorage, name)

        def guarded(*args: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                raise Killed
            result = change(*args)
            left -= 1
            if left == 0:
                raise Killed
            return result

        monkeypatch.setattr(LocalStorage, name, guarded)

    with monkeypatch.context():
        for name in ("write", "new_file", "remove"):
            guard(name)
        yield


def test_a_run_that_is_killed_anywhere_goes_on_to_the_same_bytes(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = go(corpus, tmp_path / "whole")
    files, after, killed = written(tmp_path / "whole"), 0, 0
    while True:
        # Every seventh place, and each of the run that goes on where that one was killed.
        after += 7
        out = tmp_path / f"killed{after}"
        with monkeypatch.context() as patch:
            dying = _dying(patch, after)
            next(dying)
            try:
                go(corpus, out)
                break
            except Killed:
                killed += 1
        done = go(corpus, out)
        assert written(out) == files
        assert (done.tally, done.files) == (whole.tally, whole.files)
    assert killed > 10


PROGRAM = """
import os, signal, sys
from callblocks.bulk.execute import run_plan
from callblocks.bulk.records import make_plan
from callblocks.bulk.work import BulkJob
import msgspec

def main():
    job = msgspec.json.encode(BulkJob(target="tool-fence"))
    plan = make_plan([sys.argv[1]], job, part=600)
    left = 3
    def tell(progress):
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    run_plan(plan, job, sys.argv[2], writes=True, jobs=2, tell=tell)

if __name__ == "__main__":
    main()
"""


def test_a_run_of_two_processes_killed_three_times_gives_the_same_bytes(
    corpus: Path, tmp_path: Path
) -> None:
    program, out = tmp_path / "program.py", tmp_path / "out"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), str(corpus), str(out)]
    source = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    for _ in range(3):
        ended = subprocess.run(command, env=source, check=False, capture_output=True)
        assert ended.returncode == -signal.SIGKILL, ended.stderr
    done = go(corpus, out)
    assert done.taken_over >= 9 - 3
    go(corpus, tmp_path / "whole")
    assert written(out) == written(tmp_path / "whole")


def test_nothing_is_done_twice(corpus: Path, tmp_path: Path) -> None:
    first = go(corpus, tmp_path / "out")
    told: list[Progress] = []
    again = go(corpus, tmp_path / "out", tell=told.append)
    assert told == []
    assert again.taken_over > 10
    assert (again.tally, again.files) == (first.tally, first.files)


def test_a_place_of_another_job_is_refused(corpus: Path, tmp_path: Path) -> None:
    go(corpus, tmp_path / "out")
    other = msgspec.json.encode(BulkJob(target="hermes"))
    plan = make_plan([str(corpus)], other, part=PART)
    with pytest.raises(CallerError, match="another job"):
        run_plan(plan, other, str(tmp_path / "out"), writes=True)
    assert run_plan(plan, other, str(tmp_path / "out"), writes=True, fresh=True).failed == {}


def test_two_runs_do_not_write_to_one_place(corpus: Path, tmp_path: Path) -> None:
    with (
        LocalStorage(str(tmp_path / "out")).locked(".callblocks/lock"),
        pytest.raises(CallerError, match="another run"),
    ):
        go(corpus, tmp_path / "out")


def test_a_unit_that_fails_stops_no_other(corpus: Path, tmp_path: Path) -> None:
    plan = make_plan([str(corpus)], JOB, part=PART)
    (corpus / "a.jsonl").write_bytes(b"{}\n")
    done = run_plan(plan, JOB, str(tmp_path / "out"), writes=True)
    assert done.failed
    assert all("a.jsonl" in name for name in done.failed)
    assert sorted(written(tmp_path / "out")) == ["c.txt", "deep/b.parquet"]


def test_a_unit_that_kills_its_process_is_left_out(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execute, "run_unit", _kill_itself)
    text = corpus / "c.txt"
    plan = make_plan([str(text), str(corpus / "deep")], JOB)
    done = run_plan(plan, JOB, str(tmp_path / "out"), writes=True, jobs=2)
    assert set(done.failed.values()) == {"its process was killed three times"}


def _kill_itself(job: bytes, unit: bytes, out: str) -> tuple[bytes, str]:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def test_a_cluster_gives_the_same_bytes(corpus: Path, tmp_path: Path) -> None:
    from distributed import LocalCluster

    go(corpus, tmp_path / "whole")
    options: dict[str, Any] = {"dashboard_address": None, "protocol": "tcp"}
    local: Any = LocalCluster(n_workers=1, threads_per_worker=2, processes=False, **options)
    with local as cluster:
        done = go(corpus, tmp_path / "out", cluster=cluster.scheduler_address)
    assert done.failed == {}
    assert written(tmp_path / "out") == written(tmp_path / "whole")


def test_a_cluster_that_does_not_answer_is_a_mistake(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(CallerError, match="an address such as"):
        go(corpus, tmp_path / "out", cluster="nowhere")


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (["missing.jsonl"], "no such file"),
        (["notes.pdf"], "say --format"),
        (["empty"], "no .jsonl"),
        (["a.jsonl", "a.jsonl"], "two inputs"),
        (["bad.parquet"], "bad.parquet: "),
    ],
)
def test_what_cannot_be_read_is_named(corpus: Path, paths: list[str], words: str) -> None:
    (corpus / "empty").mkdir()
    (corpus / "bad.parquet").write_bytes(b"no parquet")
    with pytest.raises(CallerError, match=words):
        make_plan([str(corpus / path) for path in paths], JOB)


def test_only_s3_is_a_remote_place() -> None:
    with pytest.raises(CallerError, match="only local paths and s3"):
        make_plan(["ftp://host/a.jsonl"], JOB)
