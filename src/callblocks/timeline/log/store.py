"""The protocol of a store of timelines: append, read, follow. Both stores pass the same tests.

with open_store("state/timeline.sqlite") as store:
    store.append("talk", [block])            # on disk when it returns
    for entry in store.entries("talk"): ...
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncGenerator, Iterable, Iterator
from typing import Protocol, Self

import msgspec

from callblocks.core.blocks import Block, Entry
from callblocks.core.errors import TimelineError
from callblocks.core.json_values import plain
from callblocks.core.text import brief

__all__ = (
    "DAMAGED",
    "MAX_APPEND",
    "MAX_BLOCK",
    "Head",
    "Store",
    "StoredRow",
    "Summary",
    "check_name",
    "decode",
    "encode",
    "genesis",
    "link",
)

# --- Blocks as bytes, and the hash chain over the blocks of a timeline ---
#
#     hash 0 = sha256("callblocks timeline 1", name)
#     hash n = sha256(hash n-1, n, body n)
#
# A body is JSON with sorted keys: equal blocks give equal bytes. A person who has noted the last
# hash can prove that no earlier block was changed, lost or inserted. The name is in hash 0, so a
# chain cannot be passed off as that of another timeline; the number is in each hash, so blocks
# cannot be renumbered. The chain does not protect against cutting the end off: for that, `verify`
# takes a noted end.

# The block that replaces one that can no longer be read.
DAMAGED = Block(
    type="timeline.damaged",
    author="timeline",
    turn_id="",
    ts="",
    text="This block cannot be read.",
    meta={"code": "damaged_block"},
)

_encoder = msgspec.json.Encoder(order="deterministic")
_decoder = msgspec.json.Decoder(Block)


def encode(block: Block) -> bytes:
    """Return a block as JSON; a lone surrogate becomes U+FFFD, a value outside JSON its type."""
    try:
        return _encoder.encode(block)
    # One odd value must not cost the whole block.
    except (ValueError, TypeError, RecursionError, OverflowError):
        fields = {name: getattr(block, name) for name in block.__struct_fields__}
        return _encoder.encode(Block(**plain(fields)))


def decode(body: bytes) -> Block:
    """Return the block of a body; `DAMAGED` for an unreadable one."""
    try:
        return _decoder.decode(body)
    except (ValueError, RecursionError):
        return DAMAGED


def genesis(name: str) -> str:
    """Return the hash that the first block of a timeline follows."""
    return hashlib.sha256(b"callblocks timeline 1\n" + name.encode()).hexdigest()


def link(previous: str, seq: int, body: bytes) -> str:
    """Return the hash of a block at `seq`, after the one with the hash `previous`."""
    return hashlib.sha256(b"%s\n%d\n%s" % (previous.encode(), seq, body)).hexdigest()


# --- The protocol of a store of timelines: append, read, follow ---

# The most bytes of an encoded block; larger content belongs into an artifact.
MAX_BLOCK = 16 * 1024 * 1024
# The most bytes of all blocks of one append.
MAX_APPEND = 16 * MAX_BLOCK

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Head(msgspec.Struct, frozen=True):
    """The end of a timeline: the number of its blocks, and the hash of the last."""

    count: int
    hash: str


class StoredRow(msgspec.Struct, frozen=True):
    """An entry as the store keeps it; `body` is `None` where the store itself cannot read it."""

    seq: int
    body: bytes | None
    hash: str

    def entry(self) -> Entry:
        """Return the entry; with `DAMAGED` where it cannot be read."""
        return Entry(self.seq, DAMAGED if self.body is None else decode(self.body), self.hash)


class Summary(msgspec.Struct, frozen=True):
    """A timeline in a list; the times are ISO 8601 with a Z."""

    name: str
    count: int
    hash: str
    created: str
    updated: str


class Store(Protocol):
    """Timelines by name. Every method may be called from any thread.

    A timeline exists from its first block on; an unknown one reads as empty. Every fault is a
    `TimelineError` with a code of `callblocks.timeline.timeline`.
    """

    def append(
        self, name: str, blocks: Iterable[Block], expected: int | None = None, fence: int = 0
    ) -> list[Entry]:
        """Write blocks at the end, all or none; they are on disk when this returns.

        With `expected`, a timeline that does not have exactly this many blocks is a `conflict`.
        A `fence` below one that the timeline on a server has seen is `fenced`.
        After `store_unavailable` it is unknown whether they were written: read before writing
        again.
        """
        ...

    def entries(self, name: str, after: int = 0, limit: int | None = None) -> Iterator[Entry]:
        """Yield the entries with a number above `after`.

        An unreadable entry is a `timeline.damaged` block in its place. If the file is damaged,
        `store_damaged` is raised after everything that can be read.
        """
        ...

    def rows(self, name: str, after: int = 0, limit: int | None = None) -> Iterator[StoredRow]:
        """Yield the entries as they are stored, for verification."""
        ...

    def head(self, name: str) -> Head:
        """Return the end of the timeline, as its own row says."""
        ...

    def names(self) -> list[Summary]:
        """Return every timeline, by name."""
        ...

    def follow(self, name: str, after: int = 0) -> AsyncGenerator[Entry, None]:
        """Yield the entries above `after`, and then each new one as it comes, until the store
        closes.

        A consumer that stops early closes it, with `contextlib.aclosing`.
        """
        ...

    def close(self) -> None:
        """Close the file or the connections; followers end."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


def check_name(name: str) -> str:
    """Return the name, if a timeline may have it; raise `bad_name` otherwise."""
    if not _NAME.fullmatch(name):
        raise TimelineError(
            "bad_name",
            f"{brief(name)} cannot name a timeline; use up to 100 letters, digits and . _ -",
        )
    return name
