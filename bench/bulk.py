"""Bulk work: killed three times and taken over, on one process and two, and on a Dask cluster.

    python -m bench.bulk              a corpus of 100 MB
    python -m bench.bulk --gigabytes 2

Each run converts the same corpus of chats with tools; all must give the same bytes. Processor time
is measured beside the wall's: on a busy machine only the first says what the work costs.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from time import perf_counter
from typing import Any

import msgspec

from bench.timing import print_table

__all__ = ("main", "make_corpus")

KILLS = (0.2, 0.5, 0.8)
"""A run is killed when so much of its units is done."""
FILES = 4
WORDS = [
    *("the", "report", "shows", "that", "most", "of", "these", "calls", "were", "made", "after"),
    *("a", "pause", "while", "one", "file", "was", "read", "and", "its", "lines", "compared"),
]


def make_corpus(folder: Path, size: int, seed: int = 1) -> int:
    """Write chats as JSON lines, about so many bytes in four files; return the bytes."""
    folder.mkdir(parents=True)
    for number in range(FILES):
        source = random.Random(f"{seed}-{number}")
        with (folder / f"chats-{number}.jsonl").open("wb") as file:
            while file.tell() < size // FILES:
                file.write(msgspec.json.encode(_chat(source)) + b"\n")
    return sum(path.stat().st_size for path in folder.iterdir())


def _chat(source: random.Random) -> dict[str, object]:
    """A chat of some turns: a question, a call, what the tool found, an answer."""
    messages: list[dict[str, str]] = [{"role": "system", "content": _prose(source, 200)}]
    for turn in range(source.randrange(1, 4)):
        messages.append({"role": "user", "content": _prose(source, 40)})
        messages.append({"role": "assistant", "content": f"{_prose(source, 60)}\n{_call(source)}"})
        messages.append({"role": "tool", "content": _prose(source, 600)})
        messages.append({"role": "assistant", "content": _prose(source, 120)})
        messages[-1]["turn"] = str(turn)
    return {"id": source.randrange(1 << 40), "messages": messages}


def _prose(source: random.Random, words: int) -> str:
    return " ".join(source.choices(WORDS, k=words))


def _call(source: random.Random) -> str:
    given = {"path": f"notes/{source.randrange(1000)}.md", "lines": source.randrange(1, 400)}
    body = msgspec.json.encode({"name": "file_read", "arguments": given}).decode()
    if source.random() < 0.05:
        body = body.replace('"path"', "'path'")
    if source.random() < 0.1:
        return f"🛠️[file_read {given['path']}]🛠️[/end]"
    return f"<tool_call>\n{body}\n</tool_call>"


def main() -> None:
    """Print what each run costs; unequal bytes end the program."""
    options = argparse.ArgumentParser(prog="python -m bench.bulk")
    options.add_argument("--gigabytes", type=float, default=0.1)
    options.add_argument("--runs", default=",".join(RUNS), help="some of them, with two first")
    given = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bulk-"))
    try:
        size = make_corpus(folder / "in", int(given.gigabytes * 1e9))
        names = [name for name in RUNS if name in given.runs.split(",")]
        rows = [RUNS[name](folder, size) for name in names]
        digests = {_digest(folder / name) for name in names}
        head = ["convert", "wall s", "processor s", "MB/s of a core", "parts taken over"]
        print_table(f"{size / 1e6:,.0f} MB of JSON lines, hermes to tool-fence", head, rows)
        if names[:2] == ["two", "one"]:
            two, one = ([float(cell) for cell in row[1:3]] for row in rows[:2])
            print(f"\nscaling: {one[1] / two[1]:.2f} by processor time", end=", ")
            print(f"{one[0] / two[0] / 2:.2f} by the wall's")
        if len(digests) > 1:
            sys.exit("the runs gave different bytes")
        print(f"all runs gave the same bytes: sha256 {digests.pop()}")
    finally:
        shutil.rmtree(folder)


def _command(folder: Path, name: str, options: list[str]) -> list[str]:
    command = [sys.executable, "-P", "-m", "callblocks", "convert", "--to", "tool-fence", *options]
    return [*command, str(folder / "in"), str(folder / name)]


def _measured(label: str, folder: Path, size: int, name: str, options: list[str]) -> list[str]:
    began, before = perf_counter(), _processor()
    done = subprocess.run(_command(folder, name, options), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return _row(label, size, perf_counter() - began, _processor() - before, "0")


def _killed(label: str, folder: Path) -> list[str]:
    """Kill a run as its units are done, three times; the last one goes on to the end."""
    command, state = _command(folder, "killed", ["-j2"]), folder / "killed" / ".callblocks"
    units = len(list((folder / "two" / ".callblocks").glob("*-*.json")))
    began, taken = perf_counter(), list[str]()
    for share in KILLS:
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while len(list(state.glob("*-*.json"))) < share * units:
            with suppress(subprocess.TimeoutExpired):
                assert run.wait(0.05) is None, "it ended before it was killed"
        run.send_signal(signal.SIGKILL)
        run.wait()
        taken.append(str(len(list(state.glob("*-*.json")))))
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    # Nobody counts the processor time of the workers of a killed run.
    return [label, f"{perf_counter() - began:.1f}", "-", "-", ", ".join(taken)]


def _clustered(label: str, folder: Path, size: int) -> list[str]:
    from distributed import LocalCluster

    began, before = perf_counter(), _processor()
    cluster: Any = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster:
        options = ["--cluster", cluster.scheduler_address]
        done = subprocess.run(_command(folder, "dask", options), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return _row(label, size, perf_counter() - began, _processor() - before, "0")


def _row(label: str, size: int, wall: float, processor: float, taken: str) -> list[str]:
    return [label, f"{wall:.1f}", f"{processor:.1f}", f"{size / 1e6 / processor:.1f}", taken]


def _processor() -> float:
    uses = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in _outputs(folder):
        digest.update(path.name.encode())
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _outputs(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.glob("*.jsonl")) if path.is_file())


RUNS: dict[str, Callable[[Path, int], list[str]]] = {
    "two": lambda folder, size: _measured("two processes", folder, size, "two", ["-j2"]),
    "one": lambda folder, size: _measured("one process", folder, size, "one", ["-j1"]),
    "killed": lambda folder, size: _killed("two processes, killed three times", folder),
    "dask": lambda folder, size: _clustered("Dask, two workers", folder, size),
}

if __name__ == "__main__":
    main()
