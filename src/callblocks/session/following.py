"""A turn as an iterator of its events, for whoever is the only one that follows it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any

from callblocks.model.turn_events import TurnEvent

__all__ = ("followed",)


async def followed(
    begin: Callable[[Callable[[TurnEvent], None]], Coroutine[Any, Any, object]],
    stop: Callable[[], None],
) -> AsyncGenerator[TurnEvent, None]:
    """The events of a turn; what beginning it raises is raised, and leaving early stops it."""
    events: asyncio.Queue[TurnEvent | None] = asyncio.Queue()
    running = asyncio.ensure_future(begin(events.put_nowait))
    running.add_done_callback(lambda _: events.put_nowait(None))
    has_begun = False
    try:
        while (event := await events.get()) is not None:
            has_begun = True
            yield event
        await running
    finally:
        # One that was not let begin must not end the one that runs.
        if not has_begun:
            running.cancel()
        elif not running.done():
            stop()
        await asyncio.gather(running, return_exceptions=True)
