from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from callblocks.runtime.judgement import Turn


def test_turns_have_ids_of_their_own_unless_one_is_given() -> None:
    assert Turn("t1").id == "t1"
    assert Turn().id != Turn().id


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_each_reason_is_kept_once_in_the_order_it_came(first: list[str], later: list[str]) -> None:
    turn = Turn(tainted=tuple(first))
    for why in later:
        turn.taint(why)
    assert turn.tainted == tuple(dict.fromkeys([*first, *later]))


def test_a_stop_before_and_after_waiting_counts_once() -> None:
    async def act() -> list[bool]:
        turn = Turn()
        work = asyncio.ensure_future(asyncio.sleep(3600))
        waiting = asyncio.ensure_future(turn.wait(work))
        await asyncio.sleep(0)
        turn.stop()
        turn.stop()
        found = [await waiting, await turn.wait(work), turn.stopped]
        work.cancel()
        return found

    assert asyncio.run(act()) == [False, False, True]


def test_waiting_ends_with_the_work_or_with_its_time() -> None:
    async def act() -> list[bool]:
        turn = Turn()
        done, never = asyncio.sleep(0), asyncio.sleep(3600)
        slow = asyncio.ensure_future(never)
        found = [
            await turn.wait(asyncio.ensure_future(done)),
            await turn.wait(slow, 0.01),
            turn.stopped,
        ]
        slow.cancel()
        return found

    assert asyncio.run(act()) == [True, False, False]


def test_a_turn_may_be_stopped_before_anything_waits() -> None:
    turn = Turn()
    turn.stop()
    assert turn.stopped


def test_a_turn_goes_on_in_another_loop() -> None:
    turn = Turn()

    async def work() -> bool:
        return await turn.wait(asyncio.ensure_future(asyncio.sleep(0)))

    async def stop() -> bool:
        work = asyncio.ensure_future(asyncio.sleep(3600))
        waiting = asyncio.ensure_future(turn.wait(work))
        await asyncio.sleep(0)
        turn.stop()
        found = await waiting
        work.cancel()
        return found

    assert asyncio.run(work())
    assert not asyncio.run(stop())
