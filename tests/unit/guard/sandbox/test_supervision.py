"""A run is cut short while it clears away, because the loop ends: nothing of it is left unseen."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

from callblocks.guard.sandbox.job import Watch, supervise


def test_a_loop_that_ends_while_the_rest_is_killed_leaves_nothing_unseen() -> None:
    unseen: list[dict[str, Any]] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, told: unseen.append(told))
        clearing = asyncio.Event()

        async def kill_rest() -> None:
            clearing.set()
            await asyncio.Event().wait()

        async def said() -> None:
            await asyncio.Event().wait()

        child = await asyncio.create_subprocess_exec("sleep", "60", start_new_session=True)
        watch = Watch()
        watch.stop()
        run = supervise(child, watch, stdin=b"", beside=[said()], group=None, kill_rest=kill_rest)
        task = asyncio.ensure_future(run)
        async with asyncio.timeout(10):
            await clearing.wait()
            await child.wait()
        # What is left is cancelled at the end of the loop, in any order.
        running.append(task)

    running: list[asyncio.Task[None]] = []
    asyncio.run(main())
    assert running.pop().cancelled()
    gc.collect()
    assert unseen == []
