"""The log of a turn: each reader has all of it, at its own pace."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from callblocks.core.events import (
    CallTold,
    TurnBegan,
    TurnEnded,
)
from callblocks.session import event_gate as turn_log
from callblocks.session.event_gate import Logged, TurnLog
from support.model_events import model_said

END = TurnEnded(turn="turn_1", status="answered")


class Counting:
    """A log after whose timeline's number one can ask."""

    def __init__(self) -> None:
        self.last = 3
        self.log = TurnLog(lambda: self.last)

    def say(self, *texts: str) -> None:
        for text in texts:
            self.log.tell(model_said(text=text))


async def read(log: TurnLog, start: int = 0, pause: float = 0) -> list[Logged]:
    """All that a reader gets who takes a while for each batch."""
    got: list[Logged] = []
    async for batch in log.read(start):
        assert batch
        got += batch
        await asyncio.sleep(pause)
    return got


def test_events_are_numbered_by_the_timeline() -> None:
    counting = Counting()
    counting.say("a", "b")
    counting.last = 7
    counting.say("c")
    assert [(one.seq, one.at) for one in counting.log.events] == [(3, 1), (3, 2), (7, 1)]


@pytest.mark.parametrize(
    ("place", "start"),
    [((0, 0), 0), ((3, 0), 0), ((3, 1), 1), ((3, 2), 2), ((3, 9), 2), ((5, 0), 2), ((7, 1), 3)],
)
def test_one_reads_on_after_the_last_number_that_one_has(
    place: tuple[int, int], start: int
) -> None:
    counting = Counting()
    counting.say("a", "b")
    counting.last = 7
    counting.say("c")
    assert counting.log.after(*place) == start


def test_readers_of_every_pace_get_all_in_order() -> None:
    async def main() -> None:
        counting = Counting()
        readers = [
            asyncio.ensure_future(read(counting.log, pause=pause)) for pause in (0, 0, 0.003)
        ]
        for at in range(50):
            counting.say(str(at))
            await asyncio.sleep(0)
        counting.log.tell(END)
        late = await read(counting.log)
        part = await read(counting.log, 40)
        assert all(one == counting.log.events for one in await asyncio.gather(*readers))
        assert late == counting.log.events
        assert part == counting.log.events[40:]

    asyncio.run(main())


def test_a_reader_that_leaves_takes_nobody_with_it() -> None:
    async def main() -> None:
        counting = Counting()
        gone, stays = (asyncio.ensure_future(read(counting.log)) for _ in range(2))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        counting.say("a")
        counting.log.tell(END)
        assert len(await stays) == 2
        assert gone.cancelled()

    asyncio.run(main())


def test_the_end_of_a_member_is_not_the_end() -> None:
    counting = Counting()
    counting.log.tell(TurnBegan(turn="turn_1"))
    counting.log.tell(TurnEnded(turn="turn_1", status="answered", member="critic"))
    assert not counting.log.is_over
    counting.log.tell(END)
    assert counting.log.is_over


def test_a_log_that_is_closed_is_over_without_an_end() -> None:
    async def main() -> None:
        counting = Counting()
        reader = asyncio.ensure_future(read(counting.log))
        await asyncio.sleep(0)
        counting.log.close()
        assert await reader == []
        async with aclosing(counting.log.read(5)) as batches:
            assert [batch async for batch in batches] == []

    asyncio.run(main())


def test_what_a_call_shows_without_end_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_log, "_TOLD", 3)
    log = Counting().log
    for at in range(10):
        log.tell(CallTold(id="c1", text=str(at)))
    log.tell(CallTold(id="c1", text="mine", member="critic"))
    log.tell(CallTold(id="c2", text="other"))
    log.tell(END)
    texts = [one.event.text for one in log.events if isinstance(one.event, CallTold)]
    assert texts[:3] == ["0", "1", "2"]
    assert "left out" in texts[3]
    assert texts[4:] == ["mine", "other"]
    assert [one.at for one in log.events] == [1, 2, 3, 4, 5, 6, 7]
