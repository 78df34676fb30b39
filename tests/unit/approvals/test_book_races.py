"""Real processes that want the same approval, and processes that die over it."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from callblocks.approvals.book import ApprovalBook

CALLS = [f"call {number}" for number in range(20)]
TAKER = """
import sys
from callblocks.approvals.book import ApprovalBook
print("ready", flush=True)
sys.stdin.readline()
with ApprovalBook(sys.argv[1]) as book:
    for number in range(20):
        if book.take(f"call {number}", "g").ok:
            print(number, flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "book.db"


def approve_all(path: Path) -> None:
    with ApprovalBook(path) as book:
        for call in CALLS:
            asked = book.request(fingerprint=call, grant_key="g", tool="act", shown="now")
            book.approve(asked.id)


@contextmanager
def takers(path: Path, count: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that wait for a line, then take what they can and say what they got."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", TAKER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(count)
    ]
    try:
        for one in started:
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"
        yield started
    finally:
        for one in started:
            one.kill()
            one.communicate()


def go(one: subprocess.Popen[str]) -> None:
    assert one.stdin is not None
    one.stdin.write("go\n")
    one.stdin.flush()


def test_of_several_processes_one_gets_each_approval(path: Path) -> None:
    approve_all(path)
    with takers(path, 3) as started:
        for one in started:
            go(one)
        got = [number for one in started for number in one.communicate(timeout=120)[0].split()]
    assert Counter(got) == Counter(str(number) for number in range(20))


def test_processes_that_open_a_new_file_at_once_all_can(path: Path) -> None:
    with takers(path / "new.db", 3) as started:
        for one in started:
            go(one)
        for one in started:
            assert one.communicate(timeout=120)[0] == ""
            assert one.returncode == 0


@pytest.mark.parametrize("uses", [1, 7])
def test_what_was_used_stays_used_when_the_process_is_killed(path: Path, uses: int) -> None:
    approve_all(path)
    with takers(path, 1) as (taker,):
        go(taker)
        assert taker.stdout is not None
        told = [taker.stdout.readline().strip() for _ in range(uses)]
        taker.kill()
        told += taker.communicate()[0].split()
    with ApprovalBook(path) as book:
        used = {one.fingerprint for one in book.list("used")}
        assert {f"call {number}" for number in told} <= used
        left = [call for call in CALLS if book.take(call, "g").ok]
    assert not used & set(left)
    assert len(used) + len(left) == len(CALLS)
