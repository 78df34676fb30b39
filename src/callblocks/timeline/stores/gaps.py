"""Numbers that should be on a timeline, and are not.

    1 2 5 of 6        blocks 3 to 4 are missing, and block 6

A store never leaves a number out, so what is missing was lost or taken away. One block of the type
`timeline.damaged` stands for each gap: whoever shows a timeline shows that too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from callblocks.model.blocks import Block, Entry

__all__ = ("gap_of", "missing_words", "with_gaps")


def with_gaps(entries: Iterable[Entry], after: int = 0, count: int = 0) -> Iterator[Entry]:
    """Entries above `after`, and one for each gap between them, or before the `count`th."""
    for entry in entries:
        if entry.seq > after + 1:
            yield _gap(after + 1, entry.seq - 1)
        yield entry
        after = entry.seq
    if count > after:
        yield _gap(after + 1, count)


def gap_of(entry: Entry) -> tuple[int, int] | None:
    """The first and the last number that an entry stands for, where those are missing."""
    last = entry.block.meta.get("last") if entry.block.type == "timeline.damaged" else None
    return (entry.seq, last) if type(last) is int else None


def missing_words(first: int, last: int) -> str:
    """What there is to say of a gap."""
    return f"block {first} is missing" if first == last else f"blocks {first} to {last} are missing"


def _gap(first: int, last: int) -> Entry:
    words = missing_words(first, last)
    block = Block(
        type="timeline.damaged",
        author="timeline",
        turn_id="",
        ts="",
        text=f"{words[0].upper()}{words[1:]}.",
        meta={"code": "chain_broken", "last": last},
    )
    return Entry(first, block)
