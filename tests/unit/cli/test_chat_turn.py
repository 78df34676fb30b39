from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest

from callblocks.cli.chat.chat_setup import left_turn
from callblocks.cli.chat.chat_turn import Teller, ended_rows, event_line, perform_turn
from callblocks.core.events import (
    CallTold,
    Text,
    TurnEnded,
    TurnEvent,
)
from callblocks.core.outcomes import Failure, Outcome
from callblocks.models.model import Piece, Request, Spoken
from callblocks.session.host import Host, HostSettings
from callblocks.session.session import Session, Tell
from callblocks.views.rows import plain
from support.chat_models import SayingModel
from support.model_events import inner, model_said, read_events


class SlowModel(SayingModel):
    """Says a word, and then nothing more; told to stop, it may take its time."""

    def __init__(self, *, stubborn: bool = False) -> None:
        super().__init__()
        self._stubborn = stubborn

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        yield Spoken("Well\n")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            if self._stubborn:
                await asyncio.sleep(60)
            raise


class Listed(Teller):
    """Remembers what it was told, and then does something."""

    def __init__(self, then: Callable[[TurnEvent], None]) -> None:
        super().__init__()
        self.told: list[TurnEvent] = []
        self._then = then

    def tell(self, event: TurnEvent) -> None:
        self.told.append(event)
        self._then(event)


@contextmanager
def opened(folder: Path, model: SayingModel) -> Generator[Session]:
    (folder / "workspace").mkdir(exist_ok=True)
    settings = HostSettings(state=folder / "state", workspace=folder / "workspace", model=model)
    with Host(settings) as host:
        yield host.session("trip")


def perform(folder: Path, model: SayingModel, teller: Teller) -> TurnEnded | None:
    async def run() -> TurnEnded | None:
        with opened(folder, model) as session:
            return await perform_turn(
                session, lambda tell: session.run("Hello?", tell=tell), teller
            )

    return asyncio.run(run())


def interrupt(event: TurnEvent) -> None:
    if any(one.text.strip() for one in read_events([event], Text)):
        os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_stops_the_turn_and_what_was_said_is_kept(tmp_path: Path) -> None:
    teller = Listed(interrupt)
    ended = perform(tmp_path, SlowModel(), teller)
    assert ended
    assert ended.status == "stopped"
    assert teller.told[-1] == ended
    with opened(tmp_path, SlowModel()) as session:
        assert left_turn(session) is None
        texts = [entry.block.text for entry in session.recorder.timeline.entries()]
    assert "Well" in "".join(filter(None, texts))


def test_a_second_ctrl_c_ends_the_command(tmp_path: Path) -> None:
    async def again() -> None:
        await asyncio.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    tasks: list[asyncio.Task[None]] = []

    def twice(event: TurnEvent) -> None:
        interrupt(event)
        if isinstance(inner(event), Text):
            tasks.append(asyncio.ensure_future(again()))

    with pytest.raises(click.exceptions.Exit) as left:
        perform(tmp_path, SlowModel(stubborn=True), Listed(twice))
    assert left.value.exit_code == 130
    with opened(tmp_path, SlowModel()) as session:
        assert session.recorder.state.ended == {"turn_1": "stopped"}


def test_a_turn_that_is_torn_down_can_go_on_later(tmp_path: Path) -> None:
    async def run() -> None:
        with opened(tmp_path, SlowModel()) as session:
            turn = asyncio.ensure_future(session.run("Hello?", tell=lambda _: None))
            await asyncio.sleep(0.05)
            turn.cancel()
            await asyncio.gather(turn, return_exceptions=True)
            assert left_turn(session) == "turn_1"

    asyncio.run(run())


def test_a_turn_is_stopped_when_nobody_reads_what_is_told(tmp_path: Path) -> None:
    def gone(event: TurnEvent) -> None:
        if isinstance(inner(event), Text):
            raise BrokenPipeError

    teller = Listed(gone)
    with pytest.raises(BrokenPipeError):
        perform(tmp_path, SlowModel(), teller)
    assert isinstance(inner(teller.told[-1]), Text)
    with opened(tmp_path, SlowModel()) as session:
        assert session.recorder.state.ended == {"turn_1": "stopped"}


def test_nothing_is_told_after_the_end(tmp_path: Path) -> None:
    told: list[Tell] = []

    async def run() -> None:
        with opened(tmp_path, SayingModel("Fine.")) as session:

            async def begin(tell: Tell) -> TurnEnded:
                told.append(tell)
                return await session.run("Hello?", tell=tell)

            await perform_turn(session, begin, teller)

    teller = Listed(lambda _: None)
    asyncio.run(run())
    told[0](CallTold(id="c1", text="late"))
    assert isinstance(teller.told[-1], TurnEnded)


def test_half_a_character_is_written_as_an_escape() -> None:
    assert b'"event": {"type": "text", "text": "a\\ud83d"' in event_line(model_said(text="a\ud83d"))
    assert '"event":{"type":"text","text":"ä"'.encode() in event_line(model_said(text="ä"))


def test_below_a_turn_stands_why_it_ended_and_how_to_allow_a_call() -> None:
    off = Failure(code="policy_off", message="nothing runs")
    outcome = Outcome(id="c1", name="odd name", error=off)
    ended = TurnEnded(turn="turn_1", status="limited", code="round_limit", message="enough \x1b[2J")
    rows = [plain(row) for row in ended_rows(ended, [outcome], "kept", 80)]
    assert "1 refused" in rows
    assert any(row.startswith("  --allow 'odd name' ") for row in rows)
    assert rows[-1] == "limited: round_limit: enough ␛[2J"
    assert ended_rows(TurnEnded(turn="turn_1", status="answered"), [], "kept", 80) == []


def test_a_code_that_is_the_status_is_not_said_twice() -> None:
    ended = TurnEnded(turn="turn_1", status="stopped", code="stopped", message="by the person")
    assert plain(ended_rows(ended, [], "kept", 80)[-1]) == "stopped: by the person"
