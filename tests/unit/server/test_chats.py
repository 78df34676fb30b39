"""Turns that begin at the same moment, where few sessions are kept."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from callblocks.core.events import TurnEnded
from callblocks.server.chats.chats import Chats
from callblocks.server.http.monitoring import Metrics
from callblocks.session import host as host_module
from callblocks.session.model_choice import Attachment
from support.scripted_sessions import Replies, some_host


def test_turns_that_begin_in_one_moment_all_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_module, "_KEPT", 1)

    async def main() -> None:
        chats = Chats(host, Metrics(), 10)
        file = Attachment("f.txt", b"hello")
        turns = [await chats.start(name, "Go.", [file]) for name in "abc"]
        for turn in turns:
            await turn.begun()
        while len(chats):
            await asyncio.sleep(0.001)
        for turn in turns:
            ended = turn.log.events[-1].event
            assert isinstance(ended, TurnEnded)
            assert (ended.status, turn.fault) == ("answered", None)
            assert not turn.session.is_held

    with some_host(tmp_path, Replies("Yes.", "Yes.", "Yes.")) as host:
        asyncio.run(asyncio.wait_for(main(), 120))
