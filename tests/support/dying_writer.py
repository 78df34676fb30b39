"""A program that writes to a timeline until it is killed, and reports what it wrote.

    blocks   producers append one to three blocks at a time, each in its own thread
    calls    files are attached and calls are run, with a journal and artifacts, as a session does

Each append is acknowledged after it returned: its entries, as one line of JSON. It dies when
somebody kills it, or by itself at a named point.
"""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, Literal, TypeAlias

import msgspec

from callblocks.core.blocks import Block, Entry
from callblocks.core.calls import Call
from callblocks.guard.files import replace_file
from callblocks.runtime.journal import Journal
from callblocks.runtime.runtime import RunLimits
from callblocks.timeline.artifacts import artifacts as kept_files
from callblocks.timeline.log import postgres_store, sqlite_store
from callblocks.timeline.log.log import Store
from callblocks.timeline.log.open_store import open_store
from callblocks.timeline.log.transfer import artifact_of
from callblocks.timeline.timeline import Timeline
from callblocks.tools.declare import tool
from callblocks.tools.tool import Tool
from support.recorded_sessions import Session
from support.stores import block
from support.tool_runtime import call

__all__ = (
    "ARTIFACT_POINTS",
    "CALL_POINTS",
    "COMMIT_POINTS",
    "FILE_POINTS",
    "Order",
    "Point",
    "act_tool",
    "call_of",
    "play",
    "write",
)

Point: TypeAlias = Literal[
    "",
    "after the intent",
    "after the effect",
    "before the result",
    "half an artifact written",
    "artifact without its name",
    "artifact with its name",
    "artifact kept, nothing appended",
    "before the commit",
    "after the commit",
    "in a write of the log",
    "in a checkpoint",
]
CALL_POINTS: tuple[Point, ...] = ("after the intent", "after the effect", "before the result")
ARTIFACT_POINTS: tuple[Point, ...] = (
    "half an artifact written",
    "artifact without its name",
    "artifact with its name",
    "artifact kept, nothing appended",
)
COMMIT_POINTS: tuple[Point, ...] = ("before the commit", "after the commit")
FILE_POINTS: tuple[Point, ...] = ("in a write of the log", "in a checkpoint")
"""Only a store in a file has these; the limit on file sizes kills."""

_SECONDS = 120
"""One that does not die by then never came to its point, and dies in another way."""

Acknowledge: TypeAlias = Callable[[list[Entry]], None]


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a writer does. `after` so many appends or calls it dies, or is killed after `delay`."""

    address: str
    home: str
    number: int
    work: Literal["blocks", "calls"] = "blocks"
    producers: int = 1
    point: Point = ""
    after: int = 0
    delay: float = 0.0

    @property
    def ends_with(self) -> int:
        """How the process ends."""
        return -(signal.SIGXFSZ if self.point in FILE_POINTS else signal.SIGKILL)


class _Trap:
    """Kills at one point, once it is armed."""

    def __init__(self, point: Point) -> None:
        self.point = point
        self.armed = False

    def spring(self, point: Point) -> None:
        if self.armed and point == self.point:
            os.kill(os.getpid(), signal.SIGKILL)


def write(order: Order, told: int) -> None:
    """Do what is ordered, until death; acknowledgements go to the file descriptor `told`."""
    signal.alarm(_SECONDS)
    trap = _Trap(order.point)
    _lay(trap)
    work = _write_blocks if order.work == "blocks" else _play_calls
    work(order, trap, _teller(told))


def _teller(told: int) -> Acknowledge:
    lock, send = threading.Lock(), os.write

    def acknowledge(entries: list[Entry]) -> None:
        line = msgspec.json.encode(entries) + b"\n"
        with lock:
            while line:
                line = line[send(told, line) :]

    return acknowledge


def _write_blocks(order: Order, trap: _Trap, acknowledge: Acknowledge) -> None:
    store = open_store(order.address)
    done = count(1)
    trap.armed = not order.after
    if order.point == "in a write of the log":
        _limit_files(40_000 + Random(order.number).randrange(150_000))

    def produce(producer: int) -> None:
        rng = Random(f"{order.number}.{producer}")
        for at in count():
            acknowledge(store.append("talk", _some(rng, f"{order.number}.{producer}.{at}")))
            if next(done) >= order.after:
                trap.armed = True
                if order.point == "in a checkpoint":
                    _die_in_checkpoint(store, order, at + 1)

    threads = [threading.Thread(target=produce, args=(at,)) for at in range(1, order.producers)]
    for thread in threads:
        thread.start()
    produce(0)


def _some(rng: Random, name: str) -> list[Block]:
    number = rng.choice((1, 1, 2, 3))
    sizes = [rng.choice((0, 100, 400, 9000)) for _ in range(number)]
    return [block(f"{name}.{at}/{number} {'x' * size}") for at, size in enumerate(sizes, 1)]


def _die_in_checkpoint(store: Store, order: Order, at: int) -> None:
    name, number = f"{order.number}.0.{at}", 9
    store.append("talk", [block(f"{name}.{part}/{number} {'y' * 5000}") for part in range(1, 10)])
    _limit_files(os.path.getsize(order.address) + 4096 * Random(order.number).randrange(3))
    sqlite3.connect(order.address).execute("pragma wal_checkpoint")


def _limit_files(size: int) -> None:
    """Have the system kill whoever makes a file longer than this, in the middle of the write."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def _play_calls(order: Order, trap: _Trap, acknowledge: Acknowledge) -> None:
    timeline = _Watched(open_store(order.address), "talk")
    timeline.trap = trap
    session = Session(timeline, Path(order.home))
    journal = Journal(Path(order.home, "journal"))
    for at in count():
        trap.armed = at >= order.after
        one = call_of(order.number, at)
        if (order.number + at) % 2:
            content = f"{one.id} ".encode() * 3000
            acknowledge(session.recorder.attach(f"turn_{order.number}", f"{one.id}.txt", content))
        play(session, journal, one, order.home, trap.spring, acknowledge)


def play(
    session: Session,
    journal: Journal,
    one: Call,
    home: str,
    spring: Callable[[Point], None] = lambda point: None,
    acknowledge: Acknowledge = lambda entries: None,
) -> None:
    """Run a call as a session does, and write it down."""
    turn = f"turn_{one.id.partition('_')[0].removeprefix('c')}"
    acknowledge(session.recorder.started(turn, one))
    outcome = session.run(
        [act_tool(home, spring)], one, turn=turn, journal=journal, limits=RunLimits(output=1000)
    )
    spring("before the result")
    acknowledge(session.recorder.ended(turn, one, outcome))


def call_of(number: int, at: int) -> Call:
    """The call that a writer makes as its `at`-th."""
    return call("act", id=f"c{number}_{at}", what=f"{number}.{at}")


def act_tool(home: str, spring: Callable[[Point], None] = lambda point: None) -> Tool:
    """A tool whose effect can be seen, and whose output is kept as an artifact."""

    @tool
    def act(what: str) -> str:
        """Act."""
        spring("after the intent")
        with Path(home, "effects").open("a") as file:
            file.write(f"{what}\n")
        spring("after the effect")
        return f"{what} " * 2000

    return act


class _Watched(Timeline):
    """A timeline before which one may die, with an artifact kept and no block that names it."""

    trap: _Trap

    def append(self, blocks: Any, expected: int | None = None) -> list[Entry]:
        blocks = list(blocks)
        if any(map(artifact_of, blocks)):
            self.trap.spring("artifact kept, nothing appended")
        return super().append(blocks, expected)


def _lay(trap: _Trap) -> None:
    """Put the trap where artifacts are written and where batches are committed."""

    def write(file: int, content: bytes) -> int:
        if trap.armed and trap.point == "half an artifact written":
            os.write(file, content[: len(content) // 2])
            trap.spring(trap.point)
        return os.write(file, content)

    def rename(*names: Any, **folders: Any) -> None:
        trap.spring("artifact without its name")
        os.rename(*names, **folders)
        trap.spring("artifact with its name")

    renaming = SimpleNamespace(**{**vars(os), "rename": rename})
    writing = SimpleNamespace(**{**vars(os), "write": write})
    setattr(kept_files, "os", renaming)  # noqa: B010 a module is no place to assign to
    setattr(replace_file, "os", writing)  # noqa: B010 as above
    for module in (sqlite_store, postgres_store):
        connect: Any = module.connect
        setattr(module, "connect", _deadly_connect(connect, trap))  # noqa: B010 as above


def _deadly_connect(connect: Callable[..., Any], trap: _Trap) -> Callable[..., Any]:
    return lambda *values: _Deadly(connect(*values), trap)


class _Deadly:
    """A connection or cursor that dies before or after the statement that makes a batch last."""

    def __init__(self, real: Any, trap: _Trap) -> None:
        self._real = real
        self._trap = trap

    def execute(self, query: str, *values: Any, **options: Any) -> Any:
        commits = query == "commit" or query.startswith("\nwith moved")
        if commits:
            self._trap.spring("before the commit")
        found = self._real.execute(query, *values, **options)
        if commits:
            self._trap.spring("after the commit")
        return found

    def __enter__(self) -> _Deadly:
        self._real.__enter__()
        return self

    def __exit__(self, *fault: object) -> None:
        self._real.__exit__(*fault)

    def cursor(self) -> _Deadly:
        return _Deadly(self._real.cursor(), self._trap)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)
