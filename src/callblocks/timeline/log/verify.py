"""Verification of a timeline against its chain: each hash, each number, and the recorded end.

An attacker who can write the store can also cut its end off and reset the row of the end; the chain
still fits. Only an end that was noted elsewhere reveals that: `known`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

import msgspec

from callblocks.core.blocks import Block, Entry
from callblocks.core.errors import TimelineError
from callblocks.timeline.artifacts.artifacts import Artifacts
from callblocks.timeline.log.store import DAMAGED, Head, Store, StoredRow, decode, genesis, link

__all__ = (
    "KNOWN_DIGITS",
    "Finding",
    "artifact_of",
    "gap_of",
    "missing_words",
    "verify",
    "verify_artifacts",
    "with_gaps",
)

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


def _digests(block: Block) -> Iterator[str]:
    """Yield every artifact that a block names: its own, and those that hold long parameters."""
    yield artifact_of(block)
    kept = block.meta.get("artifacts")
    for one in cast("list[Any]", kept) if isinstance(kept, list) else ():
        digest = cast("dict[str, Any]", one).get("digest") if isinstance(one, dict) else None
        yield digest if isinstance(digest, str) else ""


def verify_artifacts(entries: Iterable[Entry], artifacts: Artifacts) -> Iterator[Finding]:
    """Yield the faults of artifacts, at the first block that names each."""
    # Each artifact is read and hashed once, however many blocks name it.
    seen: set[str] = set()
    for entry in entries:
        for digest in _digests(entry.block):
            if not digest or digest in seen:
                continue
            seen.add(digest)
            try:
                artifacts.read(digest)
            except TimelineError as error:
                words = f"{entry.block.path or 'a block'}: {error.message}"
                yield Finding(entry.seq, error.code, words)
