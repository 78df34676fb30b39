"""The log of a turn as a stream: a long one holds up nobody else."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest

from callblocks.core.events import (
    RoundBegan,
    TurnBegan,
    TurnEnded,
    TurnEvent,
)
from callblocks.server.chats import ui_events
from callblocks.server.chats.chats import EndedTurn
from callblocks.server.chats.ui_events import ui_response
from callblocks.server.http.rate_limits import Slots
from callblocks.server.service import Service
from callblocks.server.settings import SdkClient, ServerSettings
from callblocks.session.event_gate import TurnLog
from callblocks.views.ui.ai_sdk.stream import UiStream
from callblocks.views.ui.ai_sdk.tool_parts import Chunk
from support.model_events import model_said

MANY = 20_000


def _service() -> Service:
    events = SimpleNamespace(inc=lambda count: None)
    told = SimpleNamespace(
        slots=Slots(1),
        settings=ServerSettings(),
        metrics=SimpleNamespace(events=events),
        follower=nullcontext,
    )
    return cast("Service", told)


def _log() -> TurnLog:
    """Much that says nothing to a client: sending would be a rest for the reader."""
    log = TurnLog(lambda: 1)
    for event in (TurnBegan(turn="turn_1"), RoundBegan(number=1), model_said(text="a")):
        log.tell(event)
    for _ in range(MANY):
        log.tell(model_said(text=""))
    log.tell(model_said(text="b"))
    log.tell(TurnEnded(turn="turn_1", status="answered"))
    return log


@pytest.mark.parametrize("start", [0, MANY])
def test_others_have_their_turn_while_a_long_log_is_read(
    monkeypatch: pytest.MonkeyPatch, start: int
) -> None:
    sent: list[bytes] = []
    read = most = 0

    class Counted(UiStream):
        def feed(self, event: TurnEvent) -> list[Chunk]:
            count()
            return super().feed(event)

    def count() -> None:
        nonlocal read, most
        read += 1
        most = max(read, most)

    async def others() -> None:
        nonlocal read
        while not any(b'"b"' in piece for piece in sent):
            read = 0
            await asyncio.sleep(0)

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))

    async def run() -> None:
        response = ui_response(_service(), EndedTurn("turn_1", _log()), SdkClient(5), start)
        other = asyncio.create_task(others())
        await response({"type": "http", "method": "GET"}, receive, send)
        await other

    monkeypatch.setattr(ui_events, "UiStream", Counted)
    asyncio.run(run())
    assert b"".join(sent).endswith(b"data: [DONE]\n\n")
    assert 1000 < most < 2100
