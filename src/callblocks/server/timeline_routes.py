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

from callblocks.core.blocks import Entry, Part
from callblocks.core.errors import TimelineError
from callblocks.server.cpu_program import PageWork
from callblocks.server.http.event_stream import EventStream, comment, event_bytes
from callblocks.server.http.faults import ApiFault, ErrorWords, answer_json
from callblocks.server.http.request import Number, event_number, read_query
from callblocks.server.service import Service, readable, service_of
from callblocks.timeline.branches import Branches
from callblocks.timeline.log.log import Summary
from callblocks.timeline.log.transfer import Finding, export_lines, verify, verify_artifacts
from callblocks.views.chat.timeline_chat import shown
from callblocks.views.html.timeline_page import carried_files
from callblocks.views.model_view.view import Segment, Segments, render, segments

__all__ = (
    "JSON_LINES",
    "AfterQuery",
    "PageQuery",
    "SegmentPage",
    "SegmentQuery",
    "TimelineList",
    "TimelinePage",
    "Verified",
    "follow_timeline",
    "list_timelines",
    "read_timeline",
    "send_lines",
    "show_segments",
    "show_timeline",
    "verify_timeline",
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
    """The part of a timeline that is requested, and its view."""

    after: Number = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    view: Literal["raw", "chat", "model"] = "raw"


class AfterQuery(msgspec.Struct, frozen=True):
    """The block that the stream goes on after."""

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


# --- A timeline as lines of JSON, the format of `callblocks timeline export` and `import` ---
#
#     GET /api/timelines/NAME/lines

JSON_LINES = "application/jsonl"
_HEADERS = {"x-content-type-options": "nosniff", "cache-control": "no-store"}


async def send_lines(request: Request) -> Response:
    """A timeline as lines of JSON, with every hash, to be kept or moved elsewhere."""
    service, name = service_of(request), request.path_params["name"]
    await service.existing(name)
    lines = await service.read(lambda: b"".join(export_lines(service.host.store, name)))
    return Response(lines, 200, _HEADERS, JSON_LINES)


# --- A timeline for people: as a page of HTML, and verified ---
#
#     GET /api/timelines/NAME/page
#     GET /api/timelines/NAME/verify

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'self'"
)
_PAGE_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class Verified(msgspec.Struct, frozen=True):
    """The result of checking a timeline; `problems` is empty for an intact one."""

    name: str
    count: int
    hash: str
    problems: list[Finding]


async def show_timeline(request: Request) -> Response:
    """A timeline as one page of HTML that loads nothing; of its branches, the newest."""
    service, name = service_of(request), request.path_params["name"]
    head = await service.existing(name)
    title, entries = await service.read(lambda: (_title(service, name), _newest(service, name)))
    read = service.host.artifacts.read
    files = await service.read(lambda: list(carried_files(entries, read)))
    page = PageWork(title, entries, head.count, files)
    return await service.work(request, page, "text/html; charset=utf-8", _PAGE_HEADERS)


def _newest(service: Service, name: str) -> list[Entry]:
    """Return the entries of the turns that lead to the last one, as the page of the chat shows."""
    entries, branches = service.entries(name), Branches()
    for entry in entries:
        branches.feed(entry.block)
    hidden = branches.hidden()
    return [entry for entry in entries if entry.block.turn_id not in hidden]


def _title(service: Service, name: str) -> str:
    """Return the title of the chat, or the name of the timeline if it has no prompt yet."""
    chats = (one for one in service.host.store.names() if one.name == name)
    service.labels.refresh()
    return next(map(service.title, chats), "") or name


async def verify_timeline(request: Request) -> Response:
    """Check each hash, each number and each kept file of a timeline."""
    service, name = service_of(request), request.path_params["name"]
    head = await service.existing(name)

    def check() -> list[Finding]:
        store, artifacts = service.host.store, service.host.artifacts
        findings = verify(store, name)
        findings += verify_artifacts(service.entries(name), artifacts)
        return [_without_places(finding) for finding in findings]

    problems = await service.read(check)
    return answer_json(Verified(name, head.count, head.hash, problems))


def _without_places(finding: Finding) -> Finding:
    """Remove the paths of this machine from a finding about a file."""
    if not finding.code.startswith("artifact"):
        return finding
    return msgspec.structs.replace(
        finding, message=f"a file of block {finding.seq}: {finding.code}"
    )


# --- The model's view of a timeline, by segments that know which blocks they show ---
#
#     GET /api/timelines/NAME/segments?after=0&limit=10000
#
# `after` counts segments, not blocks. The first `frozen` segments never change: a client that has
# them requests only the rest when blocks are appended.

_PAGE_CHARACTERS = 4 * 1024 * 1024
"""A page of segments ends after so many characters, and at most one segment more."""


class SegmentQuery(msgspec.Struct, frozen=True):
    """The number of segments to skip, and the largest number to return."""

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
    """Show the model's view of a timeline in segments, each with the blocks it comes from."""
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
