"""A stream that never has to wait leaves turns to the others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from callblocks.models import model as fair_turns
from callblocks.models.model import FairTurns
from callblocks.models.openai.endpoint import EndpointSettings
from callblocks.models.openai.reply_stream import Arriving, HttpStream, server_events


async def turns_of_another(work: Callable[[], Awaitable[None]]) -> int:
    """How many turns another task gets while the work is done."""
    count = 0

    async def another() -> None:
        nonlocal count
        while True:
            count += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(another())
    await work()
    task.cancel()
    return count


def test_a_turn_is_passed_on_after_five_milliseconds_of_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = 0.0
    monkeypatch.setattr(fair_turns, "perf_counter", lambda: clock)

    async def work() -> None:
        nonlocal clock
        turns = FairTurns()
        for _ in range(40):
            # What passes before the work begins was spent in waiting.
            clock += 1.0
            turns.begin()
            clock += 1 / 1024
            await turns.pass_on()

    assert asyncio.run(turns_of_another(work)) == 6


def test_comments_of_a_server_leave_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_turns, "_LONGEST_WORK", 0.0)

    class Ready:
        """A reply that is there already."""

        def __init__(self) -> None:
            self.headers: dict[str, str] = {}
            self.left = 2

        async def piece(self, seconds: float | None = None) -> bytes:
            self.left -= 1
            return b": comment\n\n" * 20_000 if self.left >= 0 else b""

    stream = HttpStream(EndpointSettings(base_url="http://127.0.0.1:1/v1", model="m"))

    async def work() -> None:
        arriving = Arriving(Ready(), stream)  # pyright: ignore[reportArgumentType]
        async for _ in server_events(arriving, stream):
            raise AssertionError("there is no event")

    # 440 kB in parts of 16.
    assert asyncio.run(turns_of_another(work)) > 20
