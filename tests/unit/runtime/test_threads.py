from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from callblocks.guard.workers import threads
from callblocks.guard.workers.threads import CallAbandoned, run_in_thread


def run_to_end(function: Callable[[], Any]) -> Any:
    async def act() -> Any:
        return await run_in_thread(function)

    return asyncio.run(act())


class Unsayable(BaseException):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_the_value_comes_back_from_another_thread() -> None:
    here = threading.get_ident()
    there = run_to_end(threading.get_ident)
    assert there != here


def test_the_function_sees_the_context_variables_of_its_caller() -> None:
    who = contextvars.ContextVar("who", default="nobody")

    async def act() -> str:
        who.set("somebody")
        return await run_in_thread(who.get)

    assert asyncio.run(act()) == "somebody"
    assert who.get() == "nobody"


@pytest.mark.parametrize(
    ("raised", "caught", "words"),
    [
        (ValueError("odd"), ValueError, "odd"),
        (StopIteration("no more"), RuntimeError, "StopIteration: no more"),
        (SystemExit(3), RuntimeError, "SystemExit: 3"),
        (KeyboardInterrupt(), RuntimeError, "KeyboardInterrupt"),
        (asyncio.CancelledError("me"), RuntimeError, "CancelledError: me"),
        (Unsayable(), RuntimeError, "Unsayable"),
    ],
)
def test_whatever_is_raised_arrives_and_ends_no_loop(
    raised: BaseException, caught: type[Exception], words: str
) -> None:
    def fail() -> None:
        raise raised

    with pytest.raises(caught, match=words):
        run_to_end(fail)


def test_a_function_whose_call_is_given_up_ends_where_it_is() -> None:
    began, caught = threading.Event(), threading.Event()

    def spin() -> None:
        began.set()
        try:
            while True:
                time.sleep(0.001)
        except CallAbandoned:
            caught.set()
            raise

    async def act() -> None:
        task = asyncio.ensure_future(run_in_thread(spin))
        await asyncio.to_thread(began.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(act())
    assert caught.wait(120)


def test_a_function_that_outlives_the_loop_harms_nobody() -> None:
    began, gone_on = threading.Event(), threading.Event()
    may_end: list[bool] = []

    def wait() -> None:
        while not may_end:
            time.sleep(0.001)

    def stubborn() -> None:
        began.set()
        try:
            wait()
        except CallAbandoned:
            wait()
        gone_on.set()

    async def act() -> None:
        task = asyncio.ensure_future(run_in_thread(stubborn))
        await asyncio.to_thread(began.wait, 5)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(act())
    may_end.append(True)
    assert gone_on.wait(120)


def test_a_thread_that_came_back_is_used_again() -> None:
    async def act() -> set[int]:
        return {await run_in_thread(threading.get_ident) for _ in range(20)}

    assert len(asyncio.run(act())) <= 2


def test_a_thread_that_was_told_to_end_is_not_used_again() -> None:
    async def act() -> int:
        began = threading.Event()

        def spin() -> None:
            began.set()
            while True:
                time.sleep(0.001)

        task = asyncio.ensure_future(run_in_thread(spin))
        await asyncio.to_thread(began.wait, 5)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return await run_in_thread(lambda: 7)

    for _ in range(5):
        assert asyncio.run(act()) == 7


def test_only_so_many_threads_wait() -> None:
    async def act() -> None:
        barrier = threading.Barrier(20)
        await asyncio.gather(*(run_in_thread(lambda: barrier.wait(120)) for _ in range(20)))
        await asyncio.sleep(0.05)

    asyncio.run(act())
    assert len(threads._idle) <= threads._IDLE + 1


def test_a_dead_thread_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    dead = threads._Worker()
    monkeypatch.setattr(threads, "_idle", threads.deque([dead]))
    assert run_to_end(lambda: 1) == 1


def test_an_answer_that_nobody_waits_for_is_dropped() -> None:
    async def act() -> None:
        answer = asyncio.get_running_loop().create_future()
        answer.cancel()
        threads._settle(answer, 1, None)

    asyncio.run(act())


def test_a_function_that_came_back_is_not_told_to_end() -> None:
    async def act() -> bool:
        job = threads._Job(lambda: 1)
        assert job.run()
        job.interrupt(threading.current_thread())
        job.wait_a_moment()
        return await job.answer == 1

    assert asyncio.run(act())


def test_a_quick_function_is_over_when_it_was_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_MOMENT", 10.0)

    async def act() -> bool:
        return run_in_thread(lambda: 1).done()

    assert asyncio.run(act())


def test_a_slow_function_holds_the_loop_up_for_a_moment_only() -> None:
    async def act() -> int:
        gate = threading.Event()
        answer = run_in_thread(lambda: gate.wait(120) and 7)
        assert not answer.done()
        gate.set()
        return await answer

    assert asyncio.run(act()) == 7
