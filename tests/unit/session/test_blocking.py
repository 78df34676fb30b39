"""Writes that wait for the disk, beside the event loop."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from unittest.mock import patch

import pytest

from callblocks.core.errors import TimelineError
from callblocks.session.turn import run_blocking
from callblocks.session.turn_lock import TurnTaking
from support.scripted_sessions import Replies, some_host


@pytest.mark.parametrize("error", [None, TimelineError("full", "no room")])
def test_a_cancelled_caller_waits_until_the_thread_has_ended(error: Exception | None) -> None:
    began, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        assert go_on.wait(120)
        ended.set()
        if error is not None:
            raise error

    async def play() -> None:
        task = asyncio.ensure_future(run_blocking(work))
        assert await asyncio.to_thread(began.wait, 20)
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()

    asyncio.run(play())


def test_the_loop_goes_on_while_a_turn_is_written_and_a_turn_cut_off_there_can_be_resumed(
    tmp_path: Path,
) -> None:
    began, go_on = threading.Event(), threading.Event()
    take = TurnTaking.take

    def slow_take(self: TurnTaking, *values: object) -> str:
        began.set()
        assert go_on.wait(120)
        return take(self, *values)  # type: ignore[arg-type]

    async def cut() -> None:
        with some_host(tmp_path, Replies("Never said.")) as host:
            task = asyncio.ensure_future(host.session("trip").run("Why?", tell=lambda event: None))
            assert await asyncio.to_thread(began.wait, 20)
            task.cancel()
            go_on.set()
            with pytest.raises(asyncio.CancelledError):
                await task

    async def resume() -> None:
        model = Replies("Because.")
        with some_host(tmp_path, model) as host:
            ended = await host.session("trip").resume(tell=lambda event: None)
            assert ended is not None
            assert ended.status == "answered"
            assert model.requests[0].prompt == "Why?"

    with patch.object(TurnTaking, "take", slow_take):
        asyncio.run(cut())
    asyncio.run(resume())
