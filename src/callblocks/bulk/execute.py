"""Run a plan: units in processes or on a cluster, and files put together from their parts.

States of a unit, by what lies in the output place:

    nothing            it has to be done
    part               it was broken off before its tally: it has to be done
    part and tally     it is done
    tally              it is done, and the file that its part belongs to is put together

A file is put together when its last unit is done: into a new file, which takes its name; then a
note with its digest is written; then its parts are removed. A run that is killed between any two of
these steps leaves a state from which the next one goes on, and each step gives the same bytes when
it is done again. So no run has to know how an earlier one ended.

Why files of state, and no database: workers of a cluster share nothing but the place.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from threading import Thread
from time import monotonic
from typing import IO, Any, TypeAlias

import msgspec

from callblocks.bulk.records import STATE, Plan, Source, Unit, join_groups
from callblocks.bulk.storage import RangeFile, Storage, copy_into, is_remote, open_storage
from callblocks.bulk.tally import Tally, merge
from callblocks.bulk.work import part_name, run_unit, tally_name
from callblocks.core.errors import CallerError
from callblocks.core.extras import needing

__all__ = ("Done", "Finished", "Progress", "Written", "run_plan")

_MANIFEST = f"{STATE}/manifest.json"
_UNFINISHED = re.compile(r"(?:^|/)\.[^/]+\.\d+\.new$")
_TRIES = 3
"""A unit that kills its process this often is left out, and counted as failed."""


class Progress(msgspec.Struct, frozen=True):
    """The progress of a run, in bytes of what it reads. `before` was done by earlier runs."""

    done: int
    before: int
    total: int
    seconds: float

    @property
    def rate(self) -> float:
        """Return the bytes a second of this run."""
        return (self.done - self.before) / self.seconds if self.seconds > 0 else 0.0

    @property
    def left(self) -> float | None:
        """Return the seconds that are left, or `None` while there is no rate."""
        return (self.total - self.done) / self.rate if self.rate else None


class Written(msgspec.Struct, frozen=True):
    """A file that is whole: its name, its bytes, and their SHA-256."""

    name: str
    size: int
    sha256: str


class Done(msgspec.Struct, frozen=True):
    """The result of a run: what was counted, the files, and what failed with its reason."""

    tally: Tally
    files: tuple[Written, ...]
    failed: dict[str, str]
    taken_over: int


class _Manifest(msgspec.Struct, frozen=True):
    digest: str
    files: int
    units: int


Finished: TypeAlias = Callable[[Progress], object]
_Result: TypeAlias = tuple[Unit, bytes | None, str]


def run_plan(
    plan: Plan,
    job: bytes,
    out: str,
    *,
    writes: bool,
    jobs: int = 1,
    cluster: str = "",
    fresh: bool = False,
    tell: Finished | None = None,
) -> Done:
    """Do all units that are left, and return what all of them counted.

    `writes` says that units have parts. `fresh` forgets what an earlier run left in `out`.
    """
    place = open_storage(out)
    with place.locked(f"{STATE}/lock"):
        _claim(place, plan, fresh)
        return _Run(plan, job, out, place, writes).run(jobs, cluster, tell)


def _claim(place: Storage, plan: Plan, fresh: bool) -> None:
    """Write the manifest, or check that the one that is there is ours."""
    count = sum(map(len, plan.units))
    ours = _Manifest(plan.digest, len(plan.sources), count)
    if fresh:
        place.remove([file.name for file in place.files(f"{STATE}/") if not _is_lock(file.name)])
    found = place.find(_MANIFEST)
    # What a killed run was writing has no name yet, and never gets one.
    place.remove([file.name for file in place.files() if _UNFINISHED.search(file.name)])
    if found is None:
        place.write(_MANIFEST, msgspec.json.encode(ours))
        return
    try:
        known = msgspec.json.decode(place.read(_MANIFEST, 0, found.size), type=_Manifest)
    except msgspec.DecodeError:
        known = None
    if known != ours:
        raise CallerError(
            "the output place holds another job, or its inputs have changed; "
            "name another one, or say --fresh"
        )


def _is_lock(name: str) -> bool:
    return name == f"{STATE}/lock"


class _Run:
    """One run of a plan."""

    def __init__(self, plan: Plan, job: bytes, out: str, place: Storage, writes: bool) -> None:
        self._plan, self._job, self._out, self._place = plan, job, out, place
        self._writes = writes
        self._tallies: dict[str, bytes] = {}
        self._failed: dict[str, str] = {}
        self._written: dict[int, Written] = {}
        self._left = [len(units) for units in plan.units]

    def run(self, jobs: int, cluster: str, tell: Finished | None) -> Done:
        todo = list(self._todo())
        total = sum(unit.size for units in self._plan.units for unit in units)
        before = done = total - sum(unit.size for unit in todo)
        taken_over, began = len(self._tallies), monotonic()
        # A run may have been killed between the last part of a file and the file.
        for number in range(len(self._left)):
            self._settle(number)
        with _workers(jobs, cluster, len(todo)) as perform:
            for unit, content, fault in perform(self._job, todo, self._out):
                done += unit.size
                if content is None:
                    self._failed[f"{unit.name} [{unit.start}:{unit.end}]"] = fault
                else:
                    self._finish(unit, content)
                if tell is not None:
                    tell(Progress(done, before, total, monotonic() - began))
        tally = Tally()
        for units in self._plan.units:
            for unit in units:
                if unit.id in self._tallies:
                    merge(tally, msgspec.json.decode(self._tallies[unit.id], type=Tally))
        files = tuple(self._written[number] for number in sorted(self._written))
        return Done(tally, files, self._failed, taken_over)

    def _todo(self) -> Iterator[Unit]:
        there = {file.name: file.size for file in self._place.files(f"{STATE}/")}
        for number, units in enumerate(self._plan.units):
            whole = self._note_name(number) in there
            for unit in units:
                name = tally_name(unit)
                has_part = whole or not self._writes or part_name(unit) in there
                if name in there and has_part:
                    self._tallies[unit.id] = self._place.read(name, 0, there[name])
                    self._left[number] -= 1
                else:
                    yield unit

    def _finish(self, unit: Unit, content: bytes) -> None:
        self._tallies[unit.id] = content
        number = int(unit.id.partition("-")[0])
        self._left[number] -= 1
        self._settle(number)

    def _settle(self, number: int) -> None:
        """Put a file together if all its units are done."""
        if not self._writes or self._left[number]:
            return
        source, note = self._plan.sources[number], self._note_name(number)
        found = self._place.find(note)
        if found is None:
            written = self._put_together(source, self._plan.units[number])
            self._place.write(note, msgspec.json.encode(written))
        else:
            content = self._place.read(note, 0, found.size)
            written = msgspec.json.decode(content, type=Written)
        self._place.remove([part_name(unit) for unit in self._plan.units[number]])
        self._written[number] = written

    def _put_together(self, source: Source, units: Sequence[Unit]) -> Written:
        digest = hashlib.sha256()
        with self._place.new_file(source.out) as file:
            if source.format == "parquet":
                join_groups(map(self._part, units), _Hashing(file, digest))
            else:
                for unit in units:
                    copy_into(file, self._place, part_name(unit), digest)
            size = file.tell()
        return Written(source.out, size, digest.hexdigest())

    def _part(self, unit: Unit) -> RangeFile:
        found = self._place.find(part_name(unit))
        if found is None:
            raise FileNotFoundError(2, "a part is gone", part_name(unit))
        return RangeFile(self._place, found.name, found.size)

    def _note_name(self, number: int) -> str:
        return f"{STATE}/{number:06}.written"


class _Hashing:
    """A file that is written from start to end, and hashed on the way."""

    def __init__(self, file: IO[bytes], digest: Any) -> None:
        self._file, self._digest = file, digest
        self.closed = False

    def write(self, content: Any) -> int:
        self._digest.update(content)
        return self._file.write(content)

    def tell(self) -> int:
        return self._file.tell()

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self.closed = True


# --- Who does the units: this process, a pool of processes, or a Dask cluster ---

_Perform: TypeAlias = Callable[[bytes, Sequence[Unit], str], Iterator[_Result]]


@contextmanager
def _workers(jobs: int, cluster: str, units: int) -> Generator[_Perform]:
    if cluster:
        with _dask(cluster) as perform:
            yield perform
    elif jobs <= 1 or units <= 1:
        yield _perform_here
    else:
        yield lambda job, todo, out: _perform_in_pool(job, todo, out, min(jobs, units))


def _perform_here(job: bytes, todo: Sequence[Unit], out: str) -> Iterator[_Result]:
    for unit in todo:
        yield _result(unit, lambda unit=unit: run_unit(job, msgspec.json.encode(unit), out))


def _result(unit: Unit, result: Callable[[], tuple[bytes, str]]) -> _Result:
    """Return what a unit gave. A fault of one unit is no reason to stop the others."""
    try:
        return unit, result()[0], ""
    except CallerError:
        raise
    except Exception as error:
        return unit, None, f"{type(error).__name__}: {error}"[:300]


def _perform_in_pool(job: bytes, todo: Sequence[Unit], out: str, jobs: int) -> Iterator[_Result]:
    """Do units in processes; where one dies, begin anew with those that gave no result.

    Nobody says which unit killed its process: all that were under way are tried again, and one that
    was under way at every death is left out in the end.
    """
    left, deaths = {unit.id: unit for unit in todo}, dict[str, int]()
    while left:
        under_way: dict[Future[tuple[bytes, str]], Unit] = {}
        with _pool(jobs) as pool:
            try:
                waiting = iter(list(left.values()))
                while True:
                    for unit in waiting:
                        coded = msgspec.json.encode(unit)
                        under_way[pool.submit(run_unit, job, coded, out)] = unit
                        if len(under_way) >= 2 * jobs:
                            break
                    if not under_way:
                        break
                    for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                        unit = under_way[future]
                        if isinstance(future.exception(), BrokenProcessPool):
                            raise BrokenProcessPool
                        del under_way[future], left[unit.id]
                        yield _result(unit, future.result)
            except BrokenProcessPool:
                for unit in under_way.values():
                    deaths[unit.id] = deaths.get(unit.id, 0) + 1
                    if deaths[unit.id] >= _TRIES:
                        left.pop(unit.id, None)
                        yield unit, None, "its process was killed three times"


@contextmanager
def _pool(jobs: int) -> Generator[ProcessPoolExecutor]:
    # Not forked: this process may have threads, and a fork of them can hang.
    context = get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _end_with_parent() -> None:
    """End this worker when the process that started it is gone, even if that one was killed."""

    def watch() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=watch, daemon=True).start()


@contextmanager
def _dask(address: str) -> Generator[_Perform]:
    """Do units on a cluster. Its workers need callblocks, and see the same places."""
    with needing("bulk", "--cluster"):
        from distributed import Client
        from distributed import as_completed as completed

    if not is_remote(address):
        raise CallerError(f"{address}: a cluster has an address such as tcp://scheduler:8786")

    def perform(job: bytes, todo: Sequence[Unit], out: str) -> Iterator[_Result]:
        coded = [msgspec.json.encode(unit) for unit in todo]
        each = len(todo)
        futures = client.map(run_unit, [job] * each, coded, [out] * each, retries=2, pure=False)
        units = {future.key: unit for future, unit in zip(futures, todo, strict=True)}
        for future in as_completed(futures):
            yield _result(units[future.key], future.result)

    as_completed: Any = completed
    client: Any = None  # both have no types
    try:
        client = Client(address, timeout=10)
    except (OSError, TimeoutError) as error:
        raise CallerError(f"{address}: no scheduler answers ({error})") from error
    with client:
        yield perform


def default_jobs() -> int:
    """Return how many processes this machine has room for."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
