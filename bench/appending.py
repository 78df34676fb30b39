"""Durable appends: a timeline beside the bare driver, which inserts the same bytes and commits.

One producer waits for each block; 32 producers wait at the same time. The bare driver commits each
block by itself: in SQLite by one connection behind a lock, in PostgreSQL by a connection each.
Both take turns, and each round is compared with the one beside it: a machine has slow minutes.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TypeAlias

from bench.timing import print_table
from callblocks.core.blocks import Block
from callblocks.timeline.log.log import Store, encode
from callblocks.timeline.log.open_store import open_store
from callblocks.timeline.log.sqlite_store import connect as connect_sqlite

__all__ = ("main",)

sys.path.append(str(Path(__file__).parents[1] / "tests"))

PRODUCERS = 32
ROUNDS = 25
APPENDS = 192
"""Of each contender in a round."""
LEAST = 0.7
"""What a timeline may cost: this much of the bare driver's rate is left at least."""

BLOCK = Block(
    type="react.notes",
    author="assistant",
    turn_id="turn_1",
    ts="2030-01-31T12:00:00Z",
    text="x" * 300,
)
BODY = encode(BLOCK)

Write: TypeAlias = Callable[[int], object]
"""Appends one block for the producer of that number."""


def main() -> None:
    """Print the table; a ratio that is too small ends the program."""
    assert len(BODY) == 400, len(BODY)
    rows: list[list[str]] = []
    ratios: list[float] = []
    for label, contenders in (("SQLite", _sqlite), ("PostgreSQL", _postgres)):
        for producers in (1, PRODUCERS):
            with contenders() as (ours, raw):
                rounds = _rounds(ours, raw, producers)
            ratios.append(median(bare / took for took, bare in rounds))
            cells = [f"{APPENDS / median(times):,.0f}" for times in zip(*rounds, strict=True)]
            rows.append([f"{label}, {producers} waiting", *cells, f"{ratios[-1]:.2f}"])
    head = ["store", "timeline", "bare driver", "ratio"]
    print_table("durable appends a second, of 400 bytes", head, rows)
    if min(ratios) < LEAST:
        sys.exit(f"a ratio is less than {LEAST}")


def _rounds(ours: Write, raw: Write, producers: int) -> list[tuple[float, float]]:
    """The seconds of both in each round; now this one is first, now that."""
    for write in (ours, raw):
        _race(write, producers)
    rounds: list[tuple[float, float]] = []
    for at in range(ROUNDS):
        if at % 2:
            rounds.append((_race(ours, producers), _race(raw, producers)))
        else:
            bare = _race(raw, producers)
            rounds.append((_race(ours, producers), bare))
    return rounds


def _race(write: Write, producers: int) -> float:
    """Seconds until all producers have written their share."""

    def produce(number: int) -> None:
        for _ in range(APPENDS // producers):
            write(number)

    if producers == 1:
        began = perf_counter()
        produce(0)
        return perf_counter() - began
    threads = [threading.Thread(target=produce, args=(number,)) for number in range(producers)]
    began = perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return perf_counter() - began


def _ours(store: Store) -> Write:
    return lambda _: store.append("talk", [BLOCK])


@contextmanager
def _sqlite() -> Generator[tuple[Write, Write], None, None]:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        store = stack.enter_context(open_store(Path(folder) / "ours.sqlite"))
        raw = connect_sqlite(Path(folder) / "raw.sqlite", 10)
        stack.callback(raw.close)
        raw.execute("pragma journal_mode = wal")
        raw.execute("create table raw (id integer primary key, body blob not null)")
        yield _ours(store), _insert_sqlite(raw)


def _insert_sqlite(raw: sqlite3.Connection) -> Write:
    lock = threading.Lock()

    def insert(_: int) -> None:
        with lock:
            raw.execute("begin immediate")
            raw.execute("insert into raw (body) values (?)", (BODY,))
            raw.execute("commit")

    return insert


@contextmanager
def _postgres() -> Generator[tuple[Write, Write], None, None]:
    from support.postgres import connect, fresh_database

    with fresh_database() as address, ExitStack() as stack:
        store = stack.enter_context(open_store(address))
        raw = [stack.enter_context(connect(address)) for _ in range(PRODUCERS)]
        raw[0].execute(
            "create table raw (id bigint generated always as identity primary key, body bytea)"
        )

        def insert(number: int) -> None:
            raw[number].execute("insert into raw (body) values (%b)", (BODY,), prepare=True)

        yield _ours(store), insert


if __name__ == "__main__":
    main()
