"""Many chats of one user that start processes and streams: they cost what one chat costs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

from callblocks.core.events import CallEnded, CallTold, TurnEvent
from callblocks.guard.workers.threads import Budgets
from callblocks.session.host import Host
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from support.chat_server import Talker, running_server
from support.scripted_sessions import check_grammar, of_type, some_host

CHATS = 8


class Bombs:
    """Calls that hold their process until they are let go, and how many did so at once."""

    def __init__(self) -> None:
        self.running: set[int] = set()
        self.most = self.begun = 0
        self.go_on = asyncio.Event()

    def registry(self) -> Registry:
        @tool(kind="exec", needs_approval=False)
        async def hang() -> str:
            """Do something that takes long."""
            number = self.begun = self.begun + 1
            self.running.add(number)
            self.most = max(self.most, len(self.running))
            try:
                await self.go_on.wait()
            finally:
                self.running.discard(number)
            return "done"

        return Registry([hang])


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0)


def _bombed(
    host: Host, users: list[str]
) -> tuple[list[asyncio.Task[object]], list[list[TurnEvent]]]:
    tasks, told = list[asyncio.Task[object]](), list[list[TurnEvent]]()
    for at, user in enumerate(users):
        session = host.session(f"chat-{at}")
        session.user = user
        events: list[TurnEvent] = []
        told.append(events)
        tasks.append(asyncio.ensure_future(session.run("hang", tell=events.append)))
    return tasks, told


def test_eight_chats_of_one_user_run_one_bomb_at_a_time(tmp_path: Path) -> None:
    async def play() -> None:
        bombs = Bombs()
        with some_host(tmp_path, Talker(), tools=bombs.registry()) as host:
            tasks, told = _bombed(host, ["anna"] * CHATS)
            budget = host.budgets.sandboxes
            await _until(lambda: bool(bombs.running) and budget.waiting == CHATS - 1)
            assert (budget.held, len(bombs.running)) == (1, 1)
            # Whoever stops waiting has its end, and the others move up.
            host.session("chat-7").stop()
            await tasks[7]
            (ended,) = of_type(told[7], CallEnded)
            assert ended.outcome.error.code == "cancelled"
            bombs.go_on.set()
            await asyncio.gather(*tasks)
            assert (bombs.most, bombs.begun) == (1, CHATS - 1)
            for events in told:
                check_grammar(events)
            shown = [[one.text for one in of_type(events, CallTold)] for events in told]
            assert sum(not one for one in shown) == 1
            assert ["waits, and is the next\n"] in shown
            assert any("waits behind 6 other calls\n" in one for one in shown)

    asyncio.run(play())


def test_another_user_does_not_wait_for_the_chats_of_the_first(tmp_path: Path) -> None:
    async def play() -> None:
        bombs = Bombs()
        with some_host(tmp_path, Talker(), tools=bombs.registry()) as host:
            tasks, _ = _bombed(host, [*["anna"] * 4, "ben"])
            await _until(lambda: len(bombs.running) == 2)
            await _until(lambda: host.budgets.sandboxes.waiting == 3)
            bombs.go_on.set()
            await asyncio.gather(*tasks)
            assert bombs.most == 2

    asyncio.run(play())


def test_a_call_that_waited_when_its_program_ended_had_not_begun(tmp_path: Path) -> None:
    async def cut() -> None:
        bombs = Bombs()
        with some_host(tmp_path, Talker(), tools=bombs.registry()) as host:
            tasks, _ = _bombed(host, ["anna"] * 2)
            await _until(lambda: bool(bombs.running) and host.budgets.sandboxes.waiting == 1)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def go_on() -> None:
        bombs = Bombs()
        bombs.go_on.set()
        with some_host(tmp_path, Talker(), tools=bombs.registry()) as host:
            for name in ("chat-0", "chat-1"):
                ended = await host.session(name).resume(tell=lambda event: None)
                assert ended
                assert ended.status == "answered"
            # The one that waited runs now; nobody knows how far the other came.
            assert bombs.begun == 1

    asyncio.run(cut())
    asyncio.run(go_on())


def test_streams_of_models_are_waited_for_in_the_open(tmp_path: Path) -> None:
    budgets = Budgets.of(streams=(1, 1))
    with running_server(tmp_path, host={"budgets": budgets}) as server:
        server.model.gate.clear()
        with server.streaming("slow one", "one") as first:
            while next(first)["type"] != "text-delta":
                pass
            queued = threading.Event()
            answers: list[str] = []

            def ask() -> None:
                with server.streaming("slow two", "two") as second:
                    for chunk in second:
                        answers.append(chunk["type"])
                        if chunk["type"] == "data-queue":
                            assert chunk["data"] == {"before": 0}
                            queued.set()

            asking = threading.Thread(target=ask)
            asking.start()
            assert queued.wait(120)
            assert "text-delta" not in answers
            server.model.gate.set()
            list(first)
            asking.join(120)
        assert "text-delta" in answers
        assert answers[-1] == "finish"
