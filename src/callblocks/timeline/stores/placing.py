"""Which numbers and hashes a batch of requests gets at the end of a timeline."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from callblocks.model.errors import TimelineError
from callblocks.timeline.stores.chain import link
from callblocks.timeline.stores.group import Request
from callblocks.timeline.stores.store import Head, Row

__all__ = ("Placed", "by_name", "place")


class Placed(msgspec.Struct):
    """Requests for one timeline, placed after `was`. `taken` and `refused` are told by `settle`."""

    name: str
    was: Head
    head: Head
    rows: list[Row]
    taken: list[tuple[Request, list[Row]]]
    """Each request, and the rows that are its own."""
    refused: list[tuple[Request, int]]
    """Each request that expected another number, and the number there was."""

    def settle(self) -> None:
        """Answer the requests: what was placed is on disk."""
        for request, rows in self.taken:
            request.entries = [row.entry() for row in rows]
        for request, count in self.refused:
            request.error = _conflict(request, count)


def by_name(batch: Iterable[Request]) -> dict[str, list[Request]]:
    """The requests of each timeline, in their order."""
    names: dict[str, list[Request]] = {}
    for request in batch:
        names.setdefault(request.name, []).append(request)
    return names


def place(name: str, head: Head, requests: Iterable[Request]) -> Placed:
    """Lay the requests one after the other; one that expects another number is left out."""
    placed = Placed(name, head, head, [], [], [])
    count, last = head.count, head.hash
    for request in requests:
        if request.expected is not None and request.expected != count:
            placed.refused.append((request, count))
            continue
        rows: list[Row] = []
        for body in request.bodies:
            count += 1
            last = link(last, count, body)
            rows.append(Row(count, body, last))
        placed.rows += rows
        placed.taken.append((request, rows))
    placed.head = Head(count, last)
    return placed


def _conflict(request: Request, count: int) -> TimelineError:
    return TimelineError(
        "conflict",
        f"timeline {request.name} has {count} blocks, not {request.expected}:"
        " another writer was first; read what is new, and append again",
        count=count,
        expected=request.expected,
    )
