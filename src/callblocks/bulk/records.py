"""Records of a corpus: the units that it is cut into, and the texts of a record that a model wrote.

    JSONL     a line is a record; one that is no JSON object is passed on as it is
    Parquet   a row is a record; of the row group only the columns with texts are read
    text      a file is a record with one text

A field is a path: `reply`, `messages[].content`, `data.turns[].value`. Without one, a record with
`messages` or `conversations` has the texts of its assistant, and any other the first field of a
list that every corpus draws from.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from importlib import import_module
from io import BytesIO
from typing import Any, Literal, TypeAlias, cast

import msgspec

from callblocks.bulk.storage import File, RangeFile, Storage, is_remote, open_storage, place_of
from callblocks.core.errors import CallerError
from callblocks.core.extras import needing

__all__ = (
    "FORMATS",
    "PART",
    "STATE",
    "Format",
    "Line",
    "Plan",
    "Slot",
    "Source",
    "Unit",
    "check_field",
    "columns_of",
    "convert_groups",
    "cut_groups",
    "encode_line",
    "format_of",
    "group_sizes",
    "join_groups",
    "lines",
    "make_plan",
    "slots",
)

Format: TypeAlias = Literal["jsonl", "parquet", "text"]
FORMATS: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".txt": "text",
    ".md": "text",
    ".log": "text",
}
"""The format of a file by the end of its name."""

_BLOCK = 1 << 20
_FIELD = re.compile(r"[^.\[\]]+(?:\[\])?(?:\.[^.\[\]]+(?:\[\])?)*")
_CHATS = ("messages", "conversations", "conversation")
_SPEAKERS = frozenset(("assistant", "gpt", "model", "bot", "chatgpt", "ai"))
_TEXTS = (
    *("text", "content", "completion", "response", "output", "generation", "answer"),
    *("prediction", "model_output", "reply"),
)


def format_of(name: str) -> Format | None:
    """Return the format of a file by its name, or `None`."""
    return next((known for end, known in FORMATS.items() if name.lower().endswith(end)), None)


def check_field(field: str) -> str:
    """Return a path to texts as it is; raise `CallerError` for one that is none."""
    if field and not _FIELD.fullmatch(field):
        raise CallerError(f"{field!r:.80} is no path to texts, such as messages[].content")
    return field


# --- The texts of a record ---


class Slot(msgspec.Struct):
    """A place of a text in a record. `holder[key]` is the text; `message` is what it stands in.

    A message with native calls alone has a slot with the text "" and no holder. One of several
    parts has a slot for each, of which one is the first.
    """

    text: str
    holder: Any = None
    key: Any = None
    message: dict[str, Any] = {}
    is_first: bool = True

    def put(self, text: str) -> None:
        """Write another text into the record."""
        self.holder[self.key] = text


def slots(record: dict[str, Any], field: str) -> list[Slot]:
    """Return the texts of a record that a model wrote, in order."""
    if field:
        return list(_at(record, field.split(".")))
    for name in _CHATS:
        if isinstance(record.get(name), list):
            return [slot for one in cast("list[Any]", record[name]) for slot in _of_message(one)]
    if isinstance(record.get("role"), str):
        return list(_of_message(record))
    for name in _TEXTS:
        if isinstance(record.get(name), str):
            return [Slot(record[name], record, name, record)]
    return []


def _at(value: Any, path: Sequence[str]) -> Iterator[Slot]:
    """Yield the texts below a path; what has another shape has none."""
    if not isinstance(value, dict):
        return
    inside, name = cast("dict[str, Any]", value), path[0].removesuffix("[]")
    found = inside.get(name)
    if path[0].endswith("[]"):
        items = cast("list[Any]", found) if isinstance(found, list) else []
        for at, item in enumerate(items):
            if len(path) > 1:
                yield from _at(item, path[1:])
            elif isinstance(item, str):
                yield Slot(item, items, at)
    elif len(path) > 1:
        yield from _at(found, path[1:])
    elif isinstance(found, str):
        yield Slot(found, inside, name, inside)


def _of_message(message: Any) -> Iterator[Slot]:
    """Yield the texts of a message, if a model wrote it."""
    if not isinstance(message, dict):
        return
    known = cast("dict[str, Any]", message)
    if str(known.get("role", known.get("from", ""))).lower() not in _SPEAKERS:
        return
    key = "value" if "value" in known and "content" not in known else "content"
    content = known.get(key)
    if isinstance(content, str):
        yield Slot(content, known, key, known)
        return
    parts = cast("list[Any]", content) if isinstance(content, list) else []
    inside = [cast("dict[str, Any]", one) for one in parts if isinstance(one, dict)]
    written = [one for one in inside if isinstance(one.get("text"), str)]
    for number, part in enumerate(written):
        yield Slot(part["text"], part, "text", known, is_first=number == 0)
    if not written and (known.get("tool_calls") or parts):
        yield Slot("", message=known)


# --- Lines of a range ---
#
# A range owns the lines that begin in it. So a worker begins behind the first line feed at or after
# the byte before its range, and reads beyond its end until its last line ends. Each line is then
# owned once, wherever the file is cut.


class Line(msgspec.Struct, frozen=True):
    """One line with its line end, and the offset of its first byte."""

    start: int
    content: bytes


def lines(storage: Storage, name: str, start: int, end: int, size: int) -> Generator[Line]:
    """Yield the lines of a file that begin from `start` to before `end`."""
    at = base = start - 1 if start else 0
    skipped, rest, step = start == 0, b"", _BLOCK
    while at < size:
        block = storage.read(name, at, min(size, at + step))
        if not block:
            raise OSError(5, "the file became shorter", name)
        at, whole = at + len(block), rest + block
        cut = len(whole) if at >= size else whole.rfind(b"\n") + 1
        for line in BytesIO(whole[:cut]).readlines():
            if skipped and base >= end:
                return
            if skipped:
                yield Line(base, line)
            skipped, base = True, base + len(line)
        if skipped and base >= end:
            return
        # A line that is longer than what was read is read in growing steps: each byte of it is
        # then copied a bounded number of times.
        rest, step = whole[cut:], _BLOCK if cut else 2 * step


def encode_line(record: dict[str, Any], line: bytes) -> bytes:
    """Return a changed record as one line, with the line end of the old one."""
    end = line[len(line.rstrip(b"\r\n")) :]
    try:
        return msgspec.json.encode(record) + end
    except UnicodeEncodeError:
        # Half a character can only be written as an escape.
        return json.dumps(record, separators=(",", ":")).encode() + end


# --- Columns of a Parquet file ---


def columns_of(names: Sequence[str], field: str) -> list[str]:
    """Return the columns that hold texts, of those that a file has."""
    if field:
        top = field.split(".", maxsplit=1)[0].removesuffix("[]")
        return [top] if top in names else []
    for chat in _CHATS:
        if chat in names:
            return [chat]
    if "role" in names and "content" in names:
        return [one for one in ("role", "content", "tool_calls") if one in names]
    return [name for name in _TEXTS if name in names]


# --- Parquet files by their row groups; pyarrow reads and writes them ---
#
# pyarrow has no types, so nothing of it leaves this module.


def group_sizes(file: RangeFile, name: str) -> list[int]:
    """Return the bytes of each row group, unpacked; raise `CallerError` if it is no Parquet."""
    pq = _parquet(name)
    try:
        found = pq.ParquetFile(file).metadata
    except import_module("pyarrow").ArrowInvalid as error:
        raise CallerError(f"{name}: {' '.join(str(error).split())}") from error
    return [found.row_group(at).total_byte_size for at in range(found.num_row_groups)]


def convert_groups(
    file: RangeFile,
    name: str,
    groups: range,
    field: str,
    convert: Callable[[int, list[dict[str, Any]]], bool],
    *,
    writes: bool,
) -> bytes:
    """Give the rows of each group to `convert`, which may change them and says whether it did.

    Return a Parquet file with a group for each, or nothing. Columns without texts are passed on.
    """
    pq, pa = _parquet(name), import_module("pyarrow")
    source, sink = pq.ParquetFile(file), BytesIO()
    columns = columns_of(source.schema_arrow.names, field)
    writer = pq.ParquetWriter(sink, source.schema_arrow) if writes else None
    for group in groups:
        table = source.read_row_group(group, columns=None if writes else columns)
        rows = table.select(columns).to_pylist()
        changed = convert(group, rows)
        if writer is None:
            continue
        for column in columns if changed else ():
            known = table.schema.field(column)
            values = pa.array([row[column] for row in rows], type=known.type)
            at = table.schema.get_field_index(column)
            table = table.set_column(at, known, values)
        writer.write_table(table, row_group_size=max(1, table.num_rows))
    if writer is not None:
        writer.close()
    return sink.getvalue()


def join_groups(parts: Iterator[RangeFile], target: Any) -> None:
    """Write the row groups of all parts into one file, in order."""
    pq, writer = _parquet("a part"), None
    for part in parts:
        source = pq.ParquetFile(part)
        writer = writer or pq.ParquetWriter(target, source.schema_arrow)
        for group in range(source.num_row_groups):
            table = source.read_row_group(group)
            writer.write_table(table, row_group_size=max(1, table.num_rows))
    if writer is not None:
        writer.close()


def cut_groups(sizes: Sequence[int], part: int) -> Iterator[tuple[int, int, int]]:
    """Yield ranges of neighbouring groups that together have the size of a part, with that size."""
    start = held = 0
    for at, size in enumerate(sizes):
        held += size
        if held >= part:
            yield start, at + 1, held
            start, held = at + 1, 0
    if start < len(sizes) or not sizes:
        yield start, len(sizes), held


def _parquet(name: str) -> Any:
    with needing("bulk", name):
        import pyarrow.parquet as pq  # pyright: ignore[reportMissingTypeStubs] it has none
    return pq


# --- The plan of a job: which files it reads, and into which units they are cut ---
#
# A unit is a range of bytes of a JSONL file, some row groups of a Parquet file, or a whole text.
# The
# cuts depend on the files and on `part` alone, never on the number of processes, so each run of a
# job has the same units. The manifest is the plan with its digest. A run that finds a manifest
# takes
# over the units that are done if the digest is its own; otherwise the place belongs to another job.

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
