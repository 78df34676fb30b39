"""A turn as an async iterator of events, for a single consumer."""

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
    """Yield the events of a turn; raise what beginning it raises; leaving early stops the turn."""
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
        # `begin` raises before the first event if another turn runs: `stop` would then end that
        # one.
        if not has_begun:
            running.cancel()
        elif not running.done():
            stop()
        await asyncio.gather(running, return_exceptions=True)
