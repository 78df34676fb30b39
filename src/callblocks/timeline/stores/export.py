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

import msgspec

from callblocks.model.errors import TimelineError
from callblocks.timeline.stores.chain import DAMAGED, decode
from callblocks.timeline.stores.store import Store

__all__ = ("FORMAT", "VERSION", "End", "Header", "Line", "export_lines")

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
