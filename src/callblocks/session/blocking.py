"""Blocking writes to a store, run in threads so that the event loop does not wait for the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

__all__ = ("run_blocking",)

T = TypeVar("T")


async def run_blocking(work: Callable[[], T]) -> T:
    """Return the result of a function that runs in a thread, always to its end.

    A cancelled caller waits for that end, and is cancelled then: nothing of the caller goes on
    while the thread may still write.
    """
    done = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(done)
    # A thread cannot be cancelled. If the caller returned now, its `finally` blocks would run, and
    # perhaps close the store, while the thread still writes to it.
    except asyncio.CancelledError:
        await asyncio.wait((done,))
        # Retrieve the exception: asyncio logs exceptions that nobody retrieved.
        if not done.cancelled():
            done.exception()
        raise
