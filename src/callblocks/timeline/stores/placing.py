"""Assignment of numbers and hashes to a batch of requests at the end of a timeline."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from callblocks.model.errors import TimelineError
from callblocks.timeline.stores.chain import link
from callblocks.timeline.stores.group import Request
from callblocks.timeline.stores.store import Head, Row

__all__ = ("Placed", "by_name", "place")


class Placed(msgspec.Struct):
    """Requests for one timeline, placed after `was`; `settle` answers those in `taken` and
    `refused`.
    """

    name: str
    was: Head
    head: Head
    rows: list[Row]
    # Each request, and its own rows.
    taken: list[tuple[Request, list[Row]]]
    # Each request that expected another number, and the actual number.
    refused: list[tuple[Request, int]]

    def settle(self) -> None:
        """Answer the requests: what was placed is on disk."""
        for request, rows in self.taken:
            request.entries = [row.entry() for row in rows]
        for request, count in self.refused:
            request.error = _conflict(request, count)


def by_name(batch: Iterable[Request]) -> dict[str, list[Request]]:
    """Return the requests of each timeline, in their order."""
    names: dict[str, list[Request]] = {}
    for request in batch:
        names.setdefault(request.name, []).append(request)
    return names


def place(name: str, head: Head, requests: Iterable[Request]) -> Placed:
    """Place the requests one after the other; leave out one that expects another number."""
    placed = Placed(name, head, head, [], [], [])
    count, last = head.count, head.hash
    for request in requests:
        # Judged against the count after the requests before it in the same batch: within a batch
        # the order of the queue is the order of the timeline.
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
