"""Sizing: four PostgreSQL servers, a million timelines, one server killed; and what a turn costs.

    python -m bench.sizing              250,000 timelines on each server, and docs/sizing.json
    python -m bench.sizing --small      5,000 on each, printed alone

A timeline belongs to one server, by the hash of its name. Writers append as turns do: six times two
blocks of 400 bytes. Costs are processor time, of the writers and of the servers apart, because
the wall's time of a busy machine says nothing about another one.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import math
import os
import random
import signal
import sys
import tempfile
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import msgspec
import psutil
import psycopg

from bench.timing import print_table
from callblocks.core.blocks import Block
from callblocks.core.errors import TimelineError
from callblocks.timeline.log.log import Store, encode
from callblocks.timeline.log.open_store import open_store

__all__ = ("Estimate", "Measured", "estimate", "main", "rows")

sys.path.append(str(Path(__file__).parents[1] / "tests"))

SHARDS, WRITERS, TURNS, APPENDS, BLOCKS = 4, 32, 1_500, 6, 2
PAGE = Path(__file__).parents[1] / "docs" / "sizing.json"


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What one run of the simulation saw. Times are in milliseconds of one core."""

    timelines: int
    turns: int
    appends_a_turn: int
    blocks_a_turn: int
    writer_ms_a_turn: float
    """Processor time of the process that appends: encoding, hashing, the driver."""
    server_ms_a_turn: float
    """Processor time of the PostgreSQL servers, where 32 writers share commits."""
    alone_ms_a_turn: float
    """The same where one writer commits each append by itself."""
    bytes_a_block: float
    """Of a body of 400 bytes: on disk with its hash, its row and its index."""
    bytes_a_timeline: float
    p50_ms: float
    p99_ms: float
    turns_a_second: float
    dead_refused: int
    """Turns of the killed server's timelines that were refused while it was dead."""
    others_done: int
    """Turns of the other servers' timelines in that time; all of them."""
    others_p99_ms: float
    lost: int
    """Acknowledged blocks that were gone when the killed server was back."""
    session_ms_a_turn: float
    """Processor time of a whole turn in a session: two calls of a tool, and an answer."""
    load: float
    """How many processes wanted the two cores of this machine on average."""


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """What a number of daily users needs."""

    users: int
    turns_a_second: float
    worker_cores: float
    database_cores: float
    servers: int
    gigabytes_a_day: float


TURNS_A_DAY, PEAK, BUSY, CORES = 20, 3, 0.5, 8


def estimate(measured: Measured, users: int) -> Estimate:
    """Carry what was measured to so many daily users.

    turns a second  = users x 20 turns a day / 86,400 x 3 at the peak
    worker cores    = turns a second x processor time of a turn in a session / 0.5
    database cores  = turns a second x processor time of the servers, alone / 0.5
    servers         = database cores / 8, rounded up
    bytes a day     = users x 20 x blocks of a turn x bytes of a block
    """
    turns = users * TURNS_A_DAY / 86_400 * PEAK
    database = turns * measured.alone_ms_a_turn / 1000 / BUSY
    day = users * TURNS_A_DAY * measured.blocks_a_turn * measured.bytes_a_block
    return Estimate(
        users=users,
        turns_a_second=turns,
        worker_cores=turns * measured.session_ms_a_turn / 1000 / BUSY,
        database_cores=database,
        servers=math.ceil(database / CORES),
        gigabytes_a_day=day / 1e9,
    )


def rows(measured: Measured) -> list[list[str]]:
    """Return the table of the page: a row for each number of users."""
    found = [estimate(measured, users) for users in (10_000, 100_000, 1_000_000, 10_000_000)]
    return [
        [
            f"{one.users:,}",
            f"{one.turns_a_second:,.0f}",
            f"{max(one.worker_cores, 1):,.0f}",
            f"{max(one.database_cores, 1):,.0f}",
            f"{one.servers:,}",
            f"{one.gigabytes_a_day:,.1f}",
        ]
        for one in found
    ]


HEAD = ["users a day", "turns/s at the peak", "worker cores", "database cores", "servers", "GB/day"]


def main() -> None:
    """Run the simulation, and print what it saw and what follows from it."""
    options = argparse.ArgumentParser(prog="python -m bench.sizing")
    options.add_argument("--small", action="store_true")
    small = options.parse_args().small
    measured = simulate(5_000 if small else 250_000, 200 if small else TURNS)
    seen = json.dumps(msgspec.to_builtins(measured), indent=1)
    print(seen)
    print_table("carried to", HEAD, rows(measured))
    if measured.lost:
        sys.exit(f"{measured.lost} acknowledged blocks were lost")
    if not small:
        PAGE.write_text(f"{seen}\n", "utf-8")


def simulate(timelines: int, turns: int) -> Measured:
    """Fill the servers, append to them, kill one, go on, bring it back, and look for losses."""
    with ExitStack() as stack:
        shards = [stack.enter_context(_Shard()) for _ in range(SHARDS)]
        sizes = [shard.fill(timelines) for shard in shards]
        run = _Run(shards, timelines * SHARDS)
        before = _servers(shards)
        run.go(turns // 5, 1)
        alone = (_servers(shards) - before) / (turns // 5)
        before, began, used = _servers(shards), perf_counter(), process_time()
        grown = sum(shard.size() for shard in shards)
        times, refused = run.go(turns)
        wall, writer = perf_counter() - began, process_time() - used
        server = _servers(shards) - before
        assert not refused, "no server was dead"
        grown = sum(shard.size() for shard in shards) - grown
        dead = shards[1]
        dead.kill()
        others, refused = run.go(turns // 2)
        dead.start()
        lost = run.lost()
        session = _session(shards[0])
    return Measured(
        timelines=timelines * SHARDS,
        turns=turns,
        appends_a_turn=APPENDS,
        blocks_a_turn=APPENDS * BLOCKS,
        writer_ms_a_turn=round(writer / turns * 1000, 2),
        server_ms_a_turn=round(server / turns * 1000, 2),
        alone_ms_a_turn=round(alone * 1000, 2),
        bytes_a_block=round(grown / (turns * APPENDS * BLOCKS)),
        bytes_a_timeline=round(sum(sizes) / (timelines * SHARDS)),
        p50_ms=_quantile(times, 0.5),
        p99_ms=_quantile(times, 0.99),
        turns_a_second=round(turns / wall, 1),
        dead_refused=refused,
        others_done=len(others) // APPENDS,
        others_p99_ms=_quantile(others, 0.99),
        lost=lost,
        session_ms_a_turn=session,
        load=round(os.getloadavg()[0], 1),
    )


class _Run:
    """Writers, and what was acknowledged to them."""

    def __init__(self, shards: list[_Shard], timelines: int) -> None:
        self._shards, self._timelines = shards, timelines
        self._known: dict[str, int] = {}
        self._random = random.Random(1)

    def go(self, turns: int, writers: int = WRITERS) -> tuple[list[float], int]:
        """Append so many turns; return the seconds of each append, and the turns refused."""
        # No two turns on one timeline at a time, as in life.
        chosen = self._random.sample(range(self._timelines), turns)
        names, lock = iter([_name(number) for number in chosen]), threading.Lock()
        times, refused = list[float](), 0

        def write() -> None:
            nonlocal refused
            while True:
                with lock:
                    name = next(names, None)
                if name is None:
                    return
                own, count = list[float](), 0
                with suppress(TimelineError):
                    for _ in range(APPENDS):
                        began = perf_counter()
                        count = self._store(name).append(name, [BLOCK] * BLOCKS)[-1].seq
                        own.append(perf_counter() - began)
                with lock:
                    times.extend(own)
                    refused += len(own) < APPENDS
                    if count:
                        self._known[name] = count

        threads = [threading.Thread(target=write) for _ in range(writers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return times, refused

    def lost(self) -> int:
        """Return how many acknowledged blocks are gone."""
        ends = ((self._store(name).head(name).count, count) for name, count in self._known.items())
        return sum(max(0, count - end) for end, count in ends)

    def _store(self, name: str) -> Store:
        return self._shards[_shard(name)].store


BLOCK = Block(
    type="react.notes",
    author="assistant",
    turn_id="turn_1",
    ts="2030-01-31T12:00:00Z",
    text="x" * 300,
)


def _name(number: int) -> str:
    return f"t-{number:07}"


def _shard(name: str) -> int:
    """Return the server of a timeline: the same one in every process."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) % SHARDS


class _Shard:
    """One PostgreSQL server, with a folder of its own."""

    _numbers = iter(range(SHARDS * 100))

    def __enter__(self) -> _Shard:
        from support.postgres import start_server

        self._number = next(self._numbers) % SHARDS
        self._server = start_server(tempfile.mkdtemp(prefix="shard-"))
        self.address: str = self._server.get_uri()
        self.store = open_store(self.address)
        return self

    def __exit__(self, *_: object) -> None:
        self.store.close()
        self._server.cleanup()

    def fill(self, timelines: int) -> int:
        """Make timelines of one block each, with their hashes; return the bytes they take."""
        before = self.size()
        of_ours = (number for number in range(timelines * SHARDS))
        names = [name for name in map(_name, of_ours) if _shard(name) == self._number]
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute("create temporary table names (name text)")
            with connection.cursor().copy("copy names from stdin") as copy:
                for name in names:
                    copy.write_row((name,))
            connection.execute(_FILL, {"body": encode(BLOCK)})
            connection.execute("checkpoint")
        return self.size() - before

    def size(self) -> int:
        """Return the bytes of both tables with their indexes."""
        query = (
            "select pg_total_relation_size('callblocks_blocks') "
            "+ pg_total_relation_size('callblocks_timelines')"
        )
        with psycopg.connect(self.address) as connection:
            row = connection.execute(query).fetchone()
        assert row is not None
        return int(row[0])

    def processes(self) -> Iterator[psutil.Process]:
        top = psutil.Process(self._server.get_pid())
        yield top
        yield from top.children(recursive=True)

    def kill(self) -> None:
        """Kill the server with all its processes, as a machine that loses power does."""
        found = list(self.processes())
        for one in found:
            with suppress(psutil.NoSuchProcess):
                one.send_signal(signal.SIGSTOP)
        for one in found:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        psutil.wait_procs(found)

    def start(self) -> None:
        """Start it again, on the same folder; it recovers from its log."""
        self._server.ensure_postgres_running()
        self.store.close()
        self.store = open_store(self._server.get_uri())


# A timeline of one block as `append` makes it: the same body, the same chain of hashes.
_FILL = """
with made as (
    insert into callblocks_timelines (name, count, hash)
    select name, 1, encode(sha256(convert_to(
        encode(sha256(convert_to(E'callblocks timeline 1\\n' || name, 'UTF8')), 'hex')
        || E'\\n1\\n', 'UTF8') || %(body)s::bytea), 'hex')
    from names returning id, hash
)
insert into callblocks_blocks (timeline, seq, hash, body, batch)
select id, 1, hash, %(body)s::bytea, gen_random_uuid() from made
"""


def _servers(shards: list[_Shard]) -> float:
    """Return the processor seconds of all servers, with those of processes that have ended."""
    total = 0.0
    for shard in shards:
        for one in shard.processes():
            with suppress(psutil.NoSuchProcess):
                spent = one.cpu_times()
                total += spent.user + spent.system
                total += spent.children_user + spent.children_system
    return total


def _session(shard: _Shard) -> float:
    """Return the processor milliseconds of a turn of a session, all but its model."""
    turns = 100
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_turns(folder, shard.address, 10))
        began = process_time()
        asyncio.run(_turns(folder, shard.address, turns))
        return round((process_time() - began) / turns * 1000, 2)


async def _turns(folder: str, address: str, turns: int) -> None:
    from callblocks import Policy, Rule, Session, open_recorder, tool
    from callblocks.models.model import Spoken

    @tool(read_only=True)
    def tide(place: str) -> str:
        """Say when the water is low."""
        return f"06:12 at {place}"

    class Pilot:
        """A model that calls twice, and then answers."""

        name, writes_results = "pilot", False

        async def reply(self, request: Any) -> AsyncGenerator[Any, None]:
            call = '<tool_call>\n{"name": "tide", "arguments": {"place": "Holm"}}\n</tool_call>'
            yield Spoken(f"I look. {call}" if request.round < 3 else "Cross at twelve past six.")

        async def close(self) -> None: ...

    policy = Policy((Rule(decide="allow", tool=("tide",)),))
    for number in range(turns):
        name = f"session-{turns}-{number}"
        with open_recorder(folder, name, store=address) as recorder:
            session = Session(recorder, Pilot(), tools=[tide], policy=policy)
            async for _ in session.turn("When can we cross?"):
                pass


def _quantile(times: list[float], share: float) -> float:
    ordered = sorted(times)
    return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000, 1)


if __name__ == "__main__":
    main()
