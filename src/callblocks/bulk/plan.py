"""The plan of a job: which files it reads, and into which units they are cut.

A unit is a range of bytes of a JSONL file, some row groups of a Parquet file, or a whole text. The
cuts depend on the files and on `part` alone, never on the number of processes, so each run of a
job has the same units. The manifest is the plan with its digest. A run that finds a manifest takes
over the units that are done if the digest is its own; otherwise the place belongs to another job.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from callblocks.bulk.parquet import cut_groups, group_sizes
from callblocks.bulk.records import Format, format_of
from callblocks.bulk.storage import File, RangeFile, is_remote, open_storage, place_of
from callblocks.core.errors import CallerError

__all__ = ("PART", "STATE", "Plan", "Source", "Unit", "make_plan")

STATE = ".callblocks"
"""The folder in the output place that holds the manifest and the units that are done."""
PART = 16 << 20


class Source(msgspec.Struct, frozen=True):
    """A file that is read; `out` is the name of what is written."""

    place: str
    file: File
    format: Format
    out: str


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """A part of one file. `start` and `end` are bytes, or row groups; `size` is in bytes."""

    id: str
    place: str
    name: str
    format: Format
    start: int
    end: int
    size: int
    file_size: int


class Plan(msgspec.Struct, frozen=True):
    """The sources in order, and the units of each."""

    digest: str
    sources: tuple[Source, ...]
    units: tuple[tuple[Unit, ...], ...]

    @property
    def size(self) -> int:
        """Return the bytes of all files."""
        return sum(source.file.size for source in self.sources)


def make_plan(
    inputs: Sequence[str], job: bytes, *, form: Format | None = None, part: int = PART
) -> Plan:
    """Find the files of all inputs, and cut them; raise `CallerError` if there are none."""
    sources = [source for text in inputs for source in _sources(text, form)]
    names = [source.out for source in sources]
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise CallerError(f"two inputs would be written as {twice[0]}")
    if not sources:
        raise CallerError(f"{', '.join(inputs)}: no .jsonl, .parquet or .txt file is there")
    sources.sort(key=lambda source: source.out)
    units = tuple(tuple(_units(number, source, part)) for number, source in enumerate(sources))
    # Not in the digest: where the inputs lie. A corpus may be mounted elsewhere after a crash.
    known = [(source.out, source.format, source.file.size, source.file.stamp) for source in sources]
    content = msgspec.json.encode([1, part, known])
    digest = hashlib.sha256(job + b"\n" + content).hexdigest()
    return Plan(digest, tuple(sources), units)


def _sources(text: str, form: Format | None) -> Iterator[Source]:
    place, name = place_of(text)
    storage = open_storage(place)
    file = storage.find(name) if name else None
    if file is not None:
        found = form or format_of(name)
        if found is None:
            raise CallerError(f"{text}: say --format, its name does not tell what it is")
        yield Source(place, file, found, name)
        return
    if name and not is_remote(text):
        raise CallerError(f"{text}: no such file")
    below = text if text.endswith("/") or not is_remote(text) else f"{text}/"
    for each in _files(place if not name else below):
        found = form or format_of(each.name)
        hidden = any(part.startswith(".") for part in each.name.split("/"))
        if found is not None and not hidden:
            yield Source(place if not name else below, each, found, each.name)


def _files(place: str) -> list[File]:
    return open_storage(place).files()


def _units(number: int, source: Source, part: int) -> Iterator[Unit]:
    for at, (start, end, size) in enumerate(_cuts(source, part)):
        yield Unit(
            id=f"{number:06}-{at:06}",
            place=source.place,
            name=source.file.name,
            format=source.format,
            start=start,
            end=end,
            size=size,
            file_size=source.file.size,
        )


def _cuts(source: Source, part: int) -> Iterator[tuple[int, int, int]]:
    size = source.file.size
    match source.format:
        case "jsonl":
            for start in range(0, max(size, 1), part):
                end = min(size, start + part)
                yield start, end, end - start
        case "text":
            yield 0, size, size
        case "parquet":
            file = RangeFile(open_storage(source.place), source.file.name, size)
            yield from cut_groups(group_sizes(file, source.file.name), part)
