"""Timelines as they are kept: listed, read by pages, followed.

GET /api/timelines
GET /api/timelines/NAME?after=12&limit=100&view=raw        also view=chat, view=model
GET /api/timelines/NAME/follow?after=12                    each block as it is written
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from callblocks.model.blocks import Entry
from callblocks.model.errors import TimelineError
from callblocks.model.parts import Part
from callblocks.server.event_stream import EventStream, comment, event_bytes
from callblocks.server.faults import ApiFault, ErrorWords, answer_json
from callblocks.server.reading import Number, event_number, read_query
from callblocks.server.service import Service, readable, service_of
from callblocks.timeline.stores.store import Summary
from callblocks.views.model_view.view import render
from callblocks.views.timeline.chat import shown

__all__ = (
    "AfterQuery",
    "PageQuery",
    "TimelineList",
    "TimelinePage",
    "follow_timeline",
    "list_timelines",
    "read_timeline",
)

_PAGE_BYTES = 4 * 1024 * 1024
"""A page of blocks ends after so many bytes of text, and at most one block more."""


_Item: TypeAlias = Annotated[Any, msgspec.Meta(extra_json_schema={"type": "object"})]


class TimelineList(msgspec.Struct, frozen=True):
    """Every timeline, by name."""

    timelines: list[Summary]


class TimelinePage(msgspec.Struct, frozen=True):
    """A part of a timeline; `count` and `hash` are its end. `next` is the `after` of the next part.

    `items` are entries (raw), messages and batches of calls (chat), or parts (model).
    """

    name: str
    count: int
    hash: str
    view: str
    items: list[_Item]
    next: int | None = None


class PageQuery(msgspec.Struct, frozen=True):
    """Which part of a timeline, and how it is shown."""

    after: Number = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    view: Literal["raw", "chat", "model"] = "raw"


class AfterQuery(msgspec.Struct, frozen=True):
    """After which block."""

    after: Number | None = None


async def list_timelines(request: Request) -> Response:
    """Every timeline of the store."""
    service = service_of(request)
    return answer_json(TimelineList(await service.read(service.host.store.names)))


async def read_timeline(request: Request) -> Response:
    """A part of a timeline."""
    service, name, asked = service_of(request), request.path_params["name"], _asked(request)
    head = await service.existing(name)
    limit = asked.limit if asked.view != "model" else None
    entries, following = await service.read(lambda: _entries(service, name, asked.after, limit))
    items = await service.read(lambda: list(_items(entries, asked.view)))
    return answer_json(TimelinePage(name, head.count, head.hash, asked.view, items, following))


async def follow_timeline(request: Request) -> Response:
    """Each block of a timeline as it is written, by whatever program."""
    service, name = service_of(request), request.path_params["name"]
    asked = read_query(request, AfterQuery).after
    after = asked if asked is not None else (event_number(request) or (0, 0))[0]
    await service.existing(name)
    service.slots.check()

    async def pieces() -> AsyncGenerator[bytes, None]:
        yield comment(f"{name} after block {after}")
        try:
            async for entry in service.until_end(service.host.store.follow(name, after)):
                service.metrics.events.inc()
                yield event_bytes(entry, str(entry.seq))
        except TimelineError as error:
            yield event_bytes(
                ErrorWords(error.code, "the timeline cannot be read on"), kind="error"
            )
        yield comment("the server ends")

    return EventStream(pieces, service.settings, held=service.follower())


def _asked(request: Request) -> PageQuery:
    asked = read_query(request, PageQuery)
    if asked.view == "model" and asked.after:
        raise ApiFault("invalid_request", "the model's view is of the whole: leave `after` out")
    return asked


def _entries(
    service: Service, name: str, after: int, limit: int | None
) -> tuple[list[Entry], int | None]:
    """Entries up to a number and a size, and after which one the next part begins."""
    entries: list[Entry] = []
    size = 0
    more = None if limit is None else limit + 1
    for entry in readable(service.host.store.entries(name, after, more)):
        if limit is not None and (len(entries) == limit or size > _PAGE_BYTES):
            return entries, entries[-1].seq
        entries.append(entry)
        size += len(entry.block.text or "") + len(entry.block.base64 or "")
    return entries, None


def _items(entries: list[Entry], view: str) -> Iterator[Entry | Part | dict[str, Any]]:
    match view:
        case "raw":
            yield from entries
        case "chat":
            for item in shown(entries):
                yield {"kind": type(item).__name__.lower(), **msgspec.to_builtins(item)}
        case _:
            yield from render(entries)
