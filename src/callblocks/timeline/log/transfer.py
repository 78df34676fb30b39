"""Export of a timeline as JSON lines, to be archived or moved.

    {"format":"callblocks timeline","version":1,"name":"notes"}
    {"seq":1,"hash":"9f…","block":{"type":"user.prompt",…}}
    {"count":1,"hash":"9f…"}

The blocks are as the store has them, with their hashes, so that a reader can verify them. A block
that cannot be read, or is missing, is `null`: the others keep their numbers. Of a very large gap
only the beginning and the end are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO, NoReturn, TypeVar

import msgspec

from callblocks.core.blocks import Block
from callblocks.core.errors import TimelineError
from callblocks.core.text import brief
from callblocks.timeline.log.store import (
    DAMAGED,
    MAX_BLOCK,
    Head,
    Store,
    check_name,
    decode,
    encode,
    genesis,
    link,
)

__all__ = (
    "AT_ONCE",
    "FORMAT",
    "VERSION",
    "Checked",
    "End",
    "Header",
    "Imported",
    "Line",
    "check_import",
    "export_lines",
    "import_checked",
    "import_timeline",
    "read_export",
)

FORMAT = "callblocks timeline"
VERSION = 1


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line."""

    format: str
    version: int
    name: str


class Line(msgspec.Struct, frozen=True):
    """The line of a block."""

    seq: int
    hash: str
    block: msgspec.Raw


class End(msgspec.Struct, frozen=True):
    """The last line: the number of blocks, and the hash of all of them."""

    count: int
    hash: str


_encoder = msgspec.json.Encoder()
_NOTHING = msgspec.Raw(b"null")
# The most lines at the beginning of a gap: a damaged number must not fill the disk.
_PLACEHOLDERS = 10_000


def export_lines(
    store: Store,
    name: str,
    *,
    lost: Callable[[int], object] = lambda seq: None,
    missing: Callable[[int, int], object] = lambda first, last: None,
) -> Iterator[bytes]:
    """Yield the lines of a timeline, each with its line end.

    `lost` is called for each unreadable block, `missing` with the first and the last number of each
    gap. Blocks appended meanwhile are left out. If the store breaks on the way, the last line is
    written nevertheless, and then the error is raised: everything readable is in the export.
    """
    # The end is read first and bounds the export, so blocks appended meanwhile do not contradict
    # it.
    head = store.head(name)
    yield _line(Header(format=FORMAT, version=VERSION, name=name))
    fault = None
    last = 0
    try:
        for row in store.rows(name, limit=head.count):
            if row.seq > last + 1:
                missing(last + 1, row.seq - 1)
                yield from _placeholders(last + 1, row.seq - 1)
            last = row.seq
            body = _NOTHING
            if row.body is not None and _is_block(row.body):
                body = msgspec.Raw(row.body)
            else:
                lost(row.seq)
            yield _line(Line(row.seq, row.hash, body))
    except TimelineError as error:
        fault = error
    if fault is None and head.count > last:
        missing(last + 1, head.count)
        yield from _placeholders(last + 1, head.count)
    yield _line(End(head.count, head.hash))
    if fault is not None:
        raise fault


def _placeholders(first: int, last: int) -> Iterator[bytes]:
    """Yield a line for each number of a gap, or for as many of them as make sense."""
    for seq in range(first, min(last, first + _PLACEHOLDERS)):
        yield _line(Line(seq, "", _NOTHING))
    yield _line(Line(last, "", _NOTHING))


def _line(value: Header | Line | End) -> bytes:
    return _encoder.encode(value) + b"\n"


def _is_block(body: bytes) -> bool:
    """Return whether a body is a block in one line; other content of the store is not exported."""
    return decode(body) is not DAMAGED and b"\n" not in body


# --- Import of a timeline from JSON lines: all of it, or nothing ---
#
# Every line is checked before the first is written: format and version, numbers, hashes, the count.
# Then the blocks are appended to a name that has none. The hashes depend on the name: under another
# name the blocks get new ones, after the old ones were verified.
#
# The file is read twice, so that its size does not matter. A file larger than `AT_ONCE` is appended
# in parts, and a fault between two of them reports how far it came.

# Bytes of lines that are appended at once.
AT_ONCE = 64 * 1024 * 1024

T = TypeVar("T")
# A block, and the fields around it in its line.
_LONGEST_LINE = MAX_BLOCK + 4096


class Imported(msgspec.Struct, frozen=True):
    """The result of an import; `source` is the name that the timeline had."""

    name: str
    source: str
    head: Head


class Checked(msgspec.Struct, frozen=True):
    """A verified export: the name it had, the one it gets, and its blocks."""

    source: str
    target: str
    count: int
    start: int


class _Any(msgspec.Struct):
    """The fields of a line that tell its kind."""

    seq: int | None = None


def import_timeline(store: Store, file: BinaryIO, name: str | None = None) -> Imported:
    """Import an export into a store, under its own name or another; the file must be seekable."""
    return import_checked(store, file, check_import(file, name))


def check_import(file: BinaryIO, name: str | None = None) -> Checked:
    """Verify an export before there is a store for it."""
    start = file.tell()
    source, blocks = read_export(file)
    count = sum(1 for _ in blocks)
    target = check_name(name or source)
    if not count:
        _refuse("bad_import", "it has no blocks, and a timeline begins with its first")
    return Checked(source, target, count, start)


def import_checked(store: Store, file: BinaryIO, checked: Checked) -> Imported:
    """Import a verified export into a store."""
    if store.head(checked.target).count:
        raise _exists(checked.target)
    file.seek(checked.start)
    head = _append(store, checked.target, file, checked.count)
    return Imported(checked.target, checked.source, head)


def read_export(file: BinaryIO) -> tuple[str, Iterator[tuple[Block, int]]]:
    """Return the name of an export, and its blocks with their sizes, each verified.

    Faults of the end are raised only at the end.
    """
    lines = _lines(file)
    header = _header(next(lines, b""))
    return header.name, _blocks(lines, genesis(header.name))


def _blocks(lines: Iterator[bytes], hash: str) -> Iterator[tuple[Block, int]]:
    count = 0
    for line in lines:
        # Only the last line has no `seq`. Line numbers are two ahead of the count: the header, and
        # counting from 1.
        if _read(line, _Any, count + 2).seq is None:
            _check_end(_read(line, End, count + 2), count, hash)
            if next(lines, None) is not None:
                _refuse("bad_import", "something follows its last line")
            return
        count += 1
        block, hash = _block(line, count, hash)
        yield block, len(line)
    _refuse("bad_import", f"it ends after {count} blocks, without its last line: it was cut")


def _append(store: Store, name: str, file: BinaryIO, count: int) -> Head:
    head = Head(0, genesis(name))
    for part in _parts(file):
        try:
            # Conditional: if somebody else writes to the name meanwhile, the import stops instead
            # of mixing.
            last = store.append(name, part, expected=head.count)[-1]
        except TimelineError as error:
            if error.code == "conflict" and not head.count:
                raise _exists(name) from error
            done = f"; the first {head.count} of {count} blocks were written" if head.count else ""
            raise TimelineError(error.code, f"{error.message}{done}", **error.details) from error
        head = Head(last.seq, last.hash)
    return head


def _parts(file: BinaryIO) -> Iterator[list[Block]]:
    part: list[Block] = []
    size = 0
    for block, length in read_export(file)[1]:
        if part and size + length > AT_ONCE:
            yield part
            part, size = [], 0
        part.append(block)
        size += length
    yield part


def _lines(file: BinaryIO) -> Iterator[bytes]:
    number = 0
    while line := file.readline(_LONGEST_LINE + 1):
        number += 1
        if len(line) > _LONGEST_LINE:
            limit = f"{MAX_BLOCK // 2**20} MiB"
            _refuse("block_too_large", f"line {number} is longer than a block may be, {limit}")
        if line.strip():
            yield line


def _header(line: bytes) -> Header:
    try:
        header = msgspec.json.decode(line, type=Header)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        header = None
    if header is None or header.format != FORMAT:
        _refuse("bad_import", f"its first line does not say that it is a {FORMAT}")
    if header.version > VERSION:
        words = f"it has version {header.version}, and this callblocks reads {VERSION}"
        _refuse("newer_schema", f"{words}; import it with a newer callblocks")
    return header


def _block(line: bytes, seq: int, before: str) -> tuple[Block, str]:
    """Return the next block and its hash, which must be the one in the line."""
    said = _read(line, Line, seq + 1)
    if said.seq != seq:
        _refuse("chain_broken", f"block {said.seq} stands where block {seq} belongs", seq=seq)
    if bytes(said.block) == b"null":
        _refuse("damaged_block", f"block {seq} could not be read when it was exported", seq=seq)
    block = _read(bytes(said.block), Block, seq + 1)
    # The hash is of the block in our encoding: blanks and the order of keys do not count.
    hash = link(before, seq, encode(block))
    if hash != said.hash:
        _refuse("chain_broken", f"block {seq} is not what its hash says: it was changed", seq=seq)
    return block, hash


def _check_end(end: End, count: int, hash: str) -> None:
    if end.count != count:
        words = f"it has {count} blocks and says that there are {end.count}"
        _refuse("chain_broken", f"{words}: some were lost after block {count}", seq=count)
    if end.hash != hash:
        _refuse("chain_broken", f"the hash in its last line is not that of block {count}")


def _read(line: bytes, type: type[T], number: int) -> T:
    try:
        return msgspec.json.decode(line, type=type)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        _refuse("bad_import", f"line {number} cannot be read: {brief(str(error), 200)}")


def _exists(name: str) -> TimelineError:
    words = f"a timeline {name} is there already; choose another name with --as"
    return TimelineError("timeline_exists", words)


def _refuse(code: str, message: str, **details: int) -> NoReturn:
    raise TimelineError(code, message, **details)
