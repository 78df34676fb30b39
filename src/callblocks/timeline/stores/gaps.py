"""Gaps: numbers that are missing on a timeline.

    1 2 5 of 6        blocks 3 to 4 are missing, and block 6

A store never skips a number, so a missing block was lost or removed. One block of the type
`timeline.damaged` represents each gap, and every view shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from callblocks.model.blocks import Block, Entry

__all__ = ("gap_of", "missing_words", "with_gaps")


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
