"""Every chat in one list: what it is about, and how it stands.

    GET /api/chats

A page asks for it again and again, so it reads next to nothing: see `known_chats`.
"""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from callblocks.server.chats.known_chats import ChatStatus
from callblocks.server.http.faults import answer_json
from callblocks.server.service import Service, service_of
from callblocks.timeline.log.store import Summary

__all__ = ("ChatList", "ChatSummary", "list_chats")


class ChatSummary(msgspec.Struct, frozen=True):
    """A chat in a list; `title` is how its first prompt begins, `waiting` counts its questions."""

    id: str
    is_running: bool
    last: int
    created: str
    updated: str
    title: str
    status: ChatStatus
    waiting: int


class ChatList(msgspec.Struct, frozen=True):
    """Chats, the one that was written last first."""

    chats: list[ChatSummary]


async def list_chats(request: Request) -> Response:
    """Every chat, the latest first: its title, how it stands, and how many questions wait."""
    service = service_of(request)

    def read() -> list[ChatSummary]:
        known = [one for one in service.host.store.names() if service.is_chat(one.name)]
        known.sort(key=lambda one: one.updated, reverse=True)
        return [_summary(service, one) for one in known]

    return answer_json(ChatList(await service.read(read)))


def _summary(service: Service, chat: Summary) -> ChatSummary:
    running = service.chats.get(chat.name)
    waiting = 0 if running is None else len(running.waiting)
    status: ChatStatus = "waiting" if waiting else "running"
    return ChatSummary(
        id=chat.name,
        is_running=running is not None,
        last=chat.count,
        created=chat.created,
        updated=chat.updated,
        title=service.known.title(chat),
        status=service.known.status(chat) if running is None else status,
        waiting=waiting,
    )
