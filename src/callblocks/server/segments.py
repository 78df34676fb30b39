"""The model's view of a timeline, by segments that know which blocks they show.

GET /api/timelines/NAME/segments?after=0&limit=10000

`after` counts segments, not blocks. Those up to `frozen` stay as they are for good: who has them
asks only for the rest when blocks are appended.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from callblocks.server.faults import answer_json
from callblocks.server.reading import Number, read_query
from callblocks.server.service import service_of
from callblocks.views.model_view.segments import Segment, Segments, segments

__all__ = ("SegmentPage", "SegmentQuery", "show_segments")

_PAGE_CHARACTERS = 4 * 1024 * 1024
"""A page of segments ends after so many characters, and at most one segment more."""


class SegmentQuery(msgspec.Struct, frozen=True):
    """After how many segments, and how many."""

    after: Number = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 10_000


class SegmentPage(msgspec.Struct, frozen=True):
    """A part of the view; `count` and `hash` are the end of the timeline that it is of.

    `total` is the number of all segments, `frozen` of those that never change, and `hidden` names
    the hidden blocks. `next` is the `after` of the next part.
    """

    name: str
    count: int
    hash: str
    total: int
    frozen: int
    tokens: int
    hidden: list[int]
    hidden_tokens: int
    cache_point: int
    items: list[Segment]
    next: int | None = None


async def show_segments(request: Request) -> Response:
    """What the model is shown of a timeline, by segments that know their blocks."""
    service, name = service_of(request), request.path_params["name"]
    asked = read_query(request, SegmentQuery)
    head = await service.existing(name)
    whole = await service.read(lambda: segments(service.entries(name)))
    items, following = _part(whole, asked)
    return answer_json(
        SegmentPage(
            name=name,
            count=head.count,
            hash=head.hash,
            total=len(whole.items),
            frozen=sum(one.frozen for one in whole.items),
            tokens=whole.tokens,
            hidden=whole.hidden,
            hidden_tokens=whole.hidden_tokens,
            cache_point=whole.cache_point,
            items=items,
            next=following,
        )
    )


def _part(whole: Segments, asked: SegmentQuery) -> tuple[list[Segment], int | None]:
    items: list[Segment] = []
    size = 0
    for one in whole.items[asked.after : asked.after + asked.limit]:
        if size > _PAGE_CHARACTERS:
            break
        items.append(one)
        size += len(one.text)
    end = asked.after + len(items)
    return items, end if end < len(whole.items) else None
