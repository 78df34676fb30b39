"""Timelines outside of their store: exported, verified, and imported again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, NoReturn, TypeVar, cast

import msgspec

from callblocks.core.blocks import Block, Entry
from callblocks.core.errors import TimelineError
from callblocks.core.text import brief
from callblocks.timeline.artifacts.artifacts import ArtifactStore
from callblocks.timeline.log.log import (
    DAMAGED,
    MAX_BLOCK,
    Head,
    Store,
    StoredRow,
    check_name,
    decode,
    encode,
    genesis,
    link,
)

__all__ = (
    "AT_ONCE",
    "FORMAT",
    "KNOWN_DIGITS",
    "VERSION",
    "Checked",
    "End",
    "Finding",
    "Header",
    "Imported",
    "Line",
    "artifact_of",
    "check_import",
    "digests_of",
    "export_lines",
    "gap_of",
    "import_checked",
    "import_timeline",
    "missing_words",
    "read_export",
    "verify",
    "verify_artifacts",
    "with_gaps",
)

# --- Export of a timeline as JSON lines, to be archived or moved ---
#
#     {"format":"callblocks timeline","version":1,"name":"notes"}
#     {"seq":1,"hash":"9f…","block":{"type":"user.prompt",…}}
#     {"count":1,"hash":"9f…"}
#
# The blocks are as the store has them, with their hashes, so that a reader can verify them. A block
# that cannot be read, or is missing, is `null`: the others keep their numbers. Of a very large gap
# only the beginning and the end are written.


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
    head: Head | None = None,
    *,
    lost: Callable[[int], object] = lambda seq: None,
    missing: Callable[[int, int], object] = lambda first, last: None,
) -> Iterator[bytes]:
    """Yield the lines of a timeline, each with its line end; up to `head`, if there is one.

    `lost` is called for each unreadable block, `missing` with the first and the last number of each
    gap. Blocks appended meanwhile are left out. If the store breaks on the way, the last line is
    written nevertheless, and then the error is raised: everything readable is in the export.
    """
    # The end is read first and bounds the export, so blocks appended meanwhile do not contradict
    # it.
    head = head or store.head(name)
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


# --- Verification of a timeline against its chain: each hash, each number, and the recorded end ---
#
# An attacker who can write the store can also cut its end off and reset the row of the end; the
# chain still fits. Only an end that was noted elsewhere reveals that: `known`.


# --- Gaps: numbers that are missing on a timeline ---
#
#     1 2 5 of 6        blocks 3 to 4 are missing, and block 6
#
# A store never skips a number, so a missing block was lost or removed. One block of the type
# `timeline.damaged` represents each gap, and every view shows it.


def with_gaps(entries: Iterable[Entry], after: int = 0, count: int = 0) -> Iterator[Entry]:
    """Yield the entries above `after`, and one for each gap between them, or before the
    `count`th.
    """
    for entry in entries:
        if entry.seq > after + 1:
            yield _gap(after + 1, entry.seq - 1)
        yield entry
        after = entry.seq
    if count > after:
        yield _gap(after + 1, count)


def gap_of(entry: Entry) -> tuple[int, int] | None:
    """Return the first and the last number of a gap that an entry represents; `None` for
    any other.
    """
    last = entry.block.meta.get("last") if entry.block.type == "timeline.damaged" else None
    return (entry.seq, last) if type(last) is int else None


def missing_words(first: int, last: int) -> str:
    """Return the words about a gap."""
    return f"block {first} is missing" if first == last else f"blocks {first} to {last} are missing"


def _gap(first: int, last: int) -> Entry:
    words = missing_words(first, last)
    # Made on the fly and never stored: a gap is a fact about the store, not part of the record.
    block = Block(
        type="timeline.damaged",
        author="timeline",
        turn_id="",
        ts="",
        text=f"{words[0].upper()}{words[1:]}.",
        meta={"code": "chain_broken", "last": last},
    )
    return Entry(first, block)


# --- Verification of a timeline: each hash, each number, and the recorded end ---

# The least digits of a noted hash: these reveal an accident, and all 64 reveal a forger.
KNOWN_DIGITS = 12


class Finding(msgspec.Struct, frozen=True):
    """A fault and its number; the code is one of `callblocks.timeline.timeline`."""

    seq: int
    code: str
    message: str


def verify(store: Store, name: str, known: Head | None = None) -> list[Finding]:
    """Return every fault of a timeline; the check continues after the first break.

    `known` is an earlier end of the timeline, as its `head` was then: the block of that number must
    exist, with that hash.
    """
    check = _Check(genesis(name), known)
    findings: list[Finding] = []
    try:
        head = store.head(name)
        for row in store.rows(name):
            findings += check.row(row)
        if check.last > head.count:
            # Somebody may write meanwhile; then the end has moved as well.
            head = store.head(name)
            for row in store.rows(name, check.last, max(head.count - check.last, 0)):
                findings += check.row(row)
        findings += check.end(head)
    except TimelineError as error:
        findings.append(Finding(check.last + 1, error.code, error.message))
    return findings


class _Check:
    """The walk over the rows. `known` holds the hashes that the next row may follow; none after a
    gap.

    There are two after a row that does not fit: either its body was changed, or its hash. Accepting
    both lets the check report one fault per change instead of one per following row.
    """

    def __init__(self, first: str, noted: Head | None) -> None:
        self.last = 0
        self.known = {first}
        self.noted = noted

    def row(self, row: StoredRow) -> Iterator[Finding]:
        if self.noted and row.seq == self.noted.count and not _is_start(self.noted.hash, row.hash):
            words = f"block {row.seq} has another hash than the one that was noted"
            yield Finding(row.seq, "chain_broken", f"{words}: it or what stands before was changed")
        if row.seq != self.last + 1:
            yield _missing(self.last + 1, row.seq - 1)
            self.known.clear()
        self.last = row.seq
        if row.body is None:
            yield Finding(
                row.seq, "store_damaged", f"block {row.seq} cannot be read from the store"
            )
            self.known.clear()
            return
        # After a break the true predecessor is unknown, so every candidate is tried; a row that
        # fits one of them ends the uncertainty.
        right = {link(previous, row.seq, row.body) for previous in self.known}
        if right and row.hash not in right:
            yield _broken(row.seq)
        self.known = right | {row.hash} if row.hash not in right else {row.hash}
        if decode(row.body) is DAMAGED:
            yield Finding(row.seq, "damaged_block", f"block {row.seq} holds no block")

    def end(self, head: Head) -> Iterator[Finding]:
        if self.noted and self.noted.count > max(self.last, head.count):
            words = f"{self.noted.count} blocks were noted, and there are {self.last}"
            yield Finding(self.last + 1, "chain_broken", f"{words}: the end was cut off")
        if head.count > self.last:
            yield _missing(self.last + 1, head.count)
        elif head.count < self.last:
            words = f"the timeline ends with block {head.count}, and more stand behind it"
            yield Finding(head.count + 1, "chain_broken", words)
        elif self.known and head.hash not in self.known:
            words = f"the hash of the timeline is not that of its last block, {self.last}"
            yield Finding(self.last, "chain_broken", words)


def _is_start(noted: str, hash: str) -> bool:
    return len(noted) >= KNOWN_DIGITS and hash.startswith(noted.lower())


def _missing(first: int, last: int) -> Finding:
    return Finding(first, "chain_broken", missing_words(first, last))


def _broken(seq: int) -> Finding:
    words = f"the hash of block {seq} does not fit: it was changed, or what stands before it"
    return Finding(seq, "chain_broken", words)


# --- Verification of the files that blocks name: each exists, and matches its digest ---

_NAME = "artifact:sha256:"


def artifact_of(block: Block) -> str:
    """Return the digest of the artifact that a block names; "" where it names none."""
    name = block.meta.get("rn")
    return name.removeprefix(_NAME) if isinstance(name, str) and name.startswith(_NAME) else ""


def digests_of(block: Block) -> Iterator[str]:
    """Yield every artifact that a block names: its own, and those that hold long parameters."""
    yield artifact_of(block)
    kept = block.meta.get("artifacts")
    for one in cast("list[Any]", kept) if isinstance(kept, list) else ():
        digest = cast("dict[str, Any]", one).get("digest") if isinstance(one, dict) else None
        yield digest if isinstance(digest, str) else ""


def verify_artifacts(entries: Iterable[Entry], artifacts: ArtifactStore) -> Iterator[Finding]:
    """Yield the faults of artifacts, at the first block that names each."""
    # Each artifact is read and hashed once, however many blocks name it.
    seen: set[str] = set()
    for entry in entries:
        for digest in digests_of(entry.block):
            if not digest or digest in seen:
                continue
            seen.add(digest)
            try:
                artifacts.read(digest)
            except TimelineError as error:
                words = f"{entry.block.path or 'a block'}: {error.message}"
                yield Finding(entry.seq, error.code, words)
