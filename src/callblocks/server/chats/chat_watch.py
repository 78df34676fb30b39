"""Who follows the list of chats: one look at the store a second, for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import NamedTuple

import msgspec

from callblocks.core.errors import TimelineError
from callblocks.server.chats.known_chats import ChatStatus

__all__ = ("Changed", "ChatSummary", "ChatWatch", "Gone", "Marked")

_EVERY = 1.0
"""Seconds between two looks at the store."""


class ChatSummary(msgspec.Struct, frozen=True):
    """A chat in a list; `waiting` counts its questions.

    `title` is what somebody called it, else how its first prompt begins.
    """

    id: str
    is_running: bool
    last: int
    created: str
    updated: str
    title: str
    status: ChatStatus
    waiting: int


class Changed(msgspec.Struct, frozen=True, tag="chat"):
    """A chat whose entry in the list is another one now."""

    chat: ChatSummary


class Gone(msgspec.Struct, frozen=True, tag="gone"):
    """A chat that is no longer in the list."""

    id: str


class Marked(NamedTuple):
    """A chat, and what changes where its entry in the list does."""

    id: str
    mark: object


class ChatWatch:
    """Looks at the list while anybody follows it. In one event loop.

    `look` gives all chats, `tell` what a list says of some; both may take their time.
    """

    def __init__(
        self,
        look: Callable[[], Awaitable[Sequence[Marked]]],
        tell: Callable[[Sequence[str]], Awaitable[Sequence[ChatSummary]]],
    ) -> None:
        self._look_at = look
        self._tell = tell
        self._followers = 0
        self._looking: asyncio.Task[None] | None = None
        self._begun: asyncio.Future[None]
        self._moved = asyncio.Event()
        self._known: dict[str, object] = {}
        # The last change of each chat, with its number.
        self._changes: dict[str, tuple[int, Changed | Gone]] = {}
        self._number = 0

    async def follow(self) -> AsyncGenerator[Sequence[Changed | Gone], None]:
        """Yield what changes: first nothing, as soon as each change is noticed."""
        self._followers += 1
        try:
            if self._looking is None:
                self._begun = asyncio.get_running_loop().create_future()
                self._looking = asyncio.create_task(self._look_again(self._begun))
            # Whoever comes while the first look is under way waits for it, too.
            await asyncio.shield(self._begun)
            seen = self._number
            while True:
                moved = self._moved
                changes = [one for at, one in self._changes.values() if at > seen]
                seen = self._number
                yield changes
                await moved.wait()
        finally:
            self._followers -= 1
            if not self._followers and self._looking is not None:
                self._looking.cancel()
                self._looking = None
                self._changes = {}

    async def _look_again(self, begun: asyncio.Future[None]) -> None:
        try:
            self._known = {one.id: one.mark for one in await self._look_at()}
        except Exception as error:
            begun.set_exception(error)
            return
        begun.set_result(None)
        while True:
            await asyncio.sleep(_EVERY)
            try:
                await self._look()
            except TimelineError:
                # The store is away for a moment: what happened meanwhile is seen when it is back.
                continue

    async def _look(self) -> None:
        known = {one.id: one.mark for one in await self._look_at()}
        changed = [id for id, mark in known.items() if mark != self._known.get(id)]
        gone = [id for id in self._known if id not in known]
        if not changed and not gone:
            return
        told = await self._tell(changed)
        self._known = known
        self._number += 1
        for one in told:
            self._changes[one.id] = self._number, Changed(one)
        for id in gone:
            self._changes[id] = self._number, Gone(id)
        self._moved.set()
        self._moved = asyncio.Event()
