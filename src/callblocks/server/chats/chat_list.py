"""The list of chats: in pages, as a stream of what changes, searched, renamed, deleted.

    GET  /api/chats?limit=60               the latest, and `next` for `?before=`
    GET  /api/chats/stream                 each chat that changes, from now on
    GET  /api/chats/search?q=low+water     chats in which that was said
    POST /api/chat/ID/rename               {"title": "The island"}
    POST /api/chat/ID/delete               {}

One task looks at the store once a second while anybody follows the list, for all of them. So a page
that nothing happens to costs a comment every few seconds.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from callblocks.server.chats.known_chats import ChatSummary
from callblocks.server.http.event_stream import EventStream, comment, event_bytes
from callblocks.server.http.faults import answer_json
from callblocks.server.http.request import read_body, read_query
from callblocks.server.service import service_of

__all__ = (
    "ChatHit",
    "ChatHits",
    "ChatList",
    "ChatsQuery",
    "Deleted",
    "FoundQuery",
    "Nothing",
    "Title",
    "delete_chat",
    "follow_chats",
    "list_chats",
    "rename_chat",
    "search_chats",
)


class Nothing(msgspec.Struct, frozen=True):
    """There is nothing to say."""


class ChatList(msgspec.Struct, frozen=True):
    """Chats, the one that was written last first; `total` is how many there are.

    `next` is the `before` of the next page; null where this is the last.
    """

    chats: list[ChatSummary]
    total: int
    next: str | None


class ChatsQuery(msgspec.Struct, frozen=True):
    """How many chats, and before which; without a limit all of them."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] | None = None
    before: Annotated[str, msgspec.Meta(max_length=200)] | None = None


async def list_chats(request: Request) -> Response:
    """Chats, the latest first: the title, how each stands, and how many questions wait."""
    service, asked = service_of(request), read_query(request, ChatsQuery)

    def read() -> ChatList:
        known = service.listed()
        before, _, id = (asked.before or "").partition(" ")
        later = [one for one in known if not before or (one.updated, one.name) < (before, id)]
        some = later if asked.limit is None else later[: asked.limit]
        more = f"{some[-1].updated} {some[-1].name}" if len(some) < len(later) else None
        return ChatList([service.summary(one) for one in some], len(known), more)

    return answer_json(await service.read(read))


# --- What changes, as a stream ---


async def follow_chats(request: Request) -> Response:
    """Each chat whose entry in the list changes, as it changes."""
    service = service_of(request)
    service.slots.check()

    async def pieces() -> AsyncGenerator[bytes]:
        async for changes in service.until_end(service.watch.follow()):
            # The first are none: from here on, each change is told.
            yield b"".join(map(event_bytes, changes)) or comment("chats")

    return EventStream(pieces, service.settings, held=service.follower())


# --- Search over all chats ---


class ChatHit(msgspec.Struct, frozen=True):
    """A chat in which something was said; `excerpt` has U+0002 and U+0003 around what was found."""

    chat: ChatSummary
    turn: str
    who: str
    excerpt: str


class ChatHits(msgspec.Struct, frozen=True):
    """Chats that have all words, the best first."""

    hits: list[ChatHit]


class FoundQuery(msgspec.Struct, frozen=True):
    """What to look for, and in how many chats it is looked for at most."""

    q: Annotated[str, msgspec.Meta(max_length=1000)]
    limit: Annotated[int, msgspec.Meta(ge=1, le=200)] = 50


async def search_chats(request: Request) -> Response:
    """Chats in which somebody said each of these words, or whose title has them."""
    service, asked = service_of(request), read_query(request, FoundQuery)

    def read() -> list[ChatHit]:
        chats = service.listed()
        service.search.update(service.host.store, chats)
        by_name = {one.name: one for one in chats}
        found = {hit.name: hit for hit in service.search.find(asked.q, asked.limit * 2)}
        words = asked.q.casefold().split()
        titled = [
            name
            for name in by_name
            if words and all(word in service.labels.title(name).casefold() for word in words)
        ]
        hits: list[ChatHit] = []
        for name in dict.fromkeys((*titled, *found)):
            if name in by_name:
                hit = found.get(name)
                turn, who, text = (hit.turn, hit.who, hit.excerpt) if hit else ("", "", "")
                hits.append(ChatHit(service.summary(by_name[name]), turn, who, text))
        return hits[: asked.limit]

    return answer_json(ChatHits(await service.read(read)))


# --- Renaming and deleting ---


class Title(msgspec.Struct, frozen=True):
    """A title; an empty one gives the chat that of its first prompt again."""

    title: Annotated[str, msgspec.Meta(max_length=500)]


class Deleted(msgspec.Struct, frozen=True):
    """A chat that is out of the list; its log has `kept` blocks, and stays."""

    id: str
    kept: int


async def rename_chat(request: Request) -> Response:
    """Give a chat a title; nothing is written into its log."""
    service, name = service_of(request), request.path_params["id"]
    title = (await read_body(request, Title, service.settings)).title
    await service.existing_chat(name)
    line = " ".join(title.split())
    await service.read(lambda: service.labels.rename(name, line))
    return answer_json(Title(line))


async def delete_chat(request: Request) -> Response:
    """Take a chat out of the list and the search; a turn that runs is stopped, the log stays."""
    service, name = service_of(request), request.path_params["id"]
    await read_body(request, Nothing, service.settings)
    await service.existing_chat(name)
    await service.chats.stop(name)
    await service.chats.ended(name)
    head = await service.existing(name)
    await service.read(lambda: service.labels.delete(name, head.count))
    return answer_json(Deleted(name, head.count))
