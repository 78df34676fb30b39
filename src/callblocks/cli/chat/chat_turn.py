"""One turn of a chat: shown as it happens, or told line by line; Ctrl-C stops it.

A turn is told of by `TurnShown`, for a person, or by `TurnLines`, for a program. If what they
write goes nowhere, the turn is stopped, and then the reason is raised.
"""

from __future__ import annotations

import asyncio
import json
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, BinaryIO, TypeAlias

import click
import msgspec
from msgspec.structs import replace

from callblocks.cli.exits import INTERRUPTED
from callblocks.cli.terminal.paint import Screen
from callblocks.core.blocks import Entry
from callblocks.core.events import (
    CallEnded,
    CallReady,
    CallStarted,
    CallTold,
    Malformed,
    ModelWrote,
    Reasoning,
    Text,
    TurnBegan,
    TurnEnded,
    TurnEvent,
)
from callblocks.core.outcomes import Outcome, without_managed
from callblocks.session.session import Session, Tell
from callblocks.views.chat.chat import TurnChat
from callblocks.views.chat.timeline_chat import why
from callblocks.views.replay import replayed
from callblocks.views.rows import Row, visible_line, wrap
from callblocks.views.terminal.tables import summary_rows, ways_to_allow

__all__ = (
    "Begin",
    "Going",
    "Teller",
    "TurnLines",
    "TurnShown",
    "after_known",
    "ended_rows",
    "event_line",
    "left_events",
    "perform_turn",
)

Going: TypeAlias = Coroutine[Any, Any, TurnEnded | None]
"""A turn that is under way; None where there was none to begin."""
Begin: TypeAlias = Callable[[Tell], Going]
"""Begins a turn that is told of."""
_AFTER = "then ask for it again"


class Teller(ABC):
    """Told of each event; `outcomes` are what came of the calls that were made, in their order."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.fault: OSError | None = None

    @abstractmethod
    def tell(self, event: TurnEvent) -> None:
        """Say it to whoever reads or watches."""


class TurnShown(Teller):
    """Draws a turn on a screen.

    Plain text has the answer without what was thought: nothing would tell them apart there.
    """

    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self._screen = screen
        self._turn = TurnChat()

    def tell(self, event: TurnEvent) -> None:
        if isinstance(event, CallTold):
            self._screen.say(event.text)
        elif shown := self._turn.feed(event):
            is_plain = self._screen.paper.console is None
            kept = [one for one in shown if not (is_plain and isinstance(one, Reasoning))]
            self._screen.feed(kept)


class TurnLines(Teller):
    """Writes each event as a line of JSON."""

    def __init__(self, out: BinaryIO) -> None:
        super().__init__()
        self._out = out

    def tell(self, event: TurnEvent) -> None:
        self._out.write(event_line(event))
        self._out.flush()


def event_line(event: TurnEvent) -> bytes:
    """An event as one line of JSON."""
    said = msgspec.to_builtins(event)
    if isinstance(event, CallEnded) and event.outcome.error is not None:
        said["outcome"]["error"] = without_managed(said["outcome"]["error"])
    try:
        return msgspec.json.encode(said) + b"\n"
    except UnicodeEncodeError:
        # Half a character can only be written as an escape.
        return json.dumps(said).encode() + b"\n"


async def perform_turn(session: Session, begin: Begin, teller: Teller) -> TurnEnded | None:
    """Go through a turn; None where there was none to begin.

    The first Ctrl-C stops the turn, a second one ends the command.
    """
    over = False

    def tell(event: TurnEvent) -> None:
        nonlocal over
        try:
            # A tool that is told to stop may still talk when the turn is over.
            if not over:
                teller.tell(event)
        except OSError as error:
            teller.fault = error
            session.stop()
        if isinstance(event, CallEnded) and not event.written:
            teller.outcomes.append(event.outcome)
        is_end = isinstance(event, TurnEnded) and not event.member
        over = over or teller.fault is not None or is_end

    ended = await _interruptible(session, begin(tell))
    if teller.fault is not None:
        raise teller.fault
    return ended


async def _interruptible(session: Session, going: Going) -> TurnEnded | None:
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(going)
    times = 0

    def interrupt() -> None:
        nonlocal times
        times += 1
        session.stop()
        if times > 1:
            task.cancel()

    loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        # However the turn takes its end: a person who wants to leave does.
        await asyncio.wait([task])
    finally:
        loop.remove_signal_handler(signal.SIGINT)
    if times > 1:
        await asyncio.gather(task, return_exceptions=True)
        raise click.exceptions.Exit(INTERRUPTED)
    return task.result()


def ended_rows(ended: TurnEnded, outcomes: list[Outcome], folder: str, width: int) -> list[Row]:
    """Below a turn: what came of its calls, how to allow them, and why it ended early."""
    rows: list[Row] = summary_rows(outcomes, folder, width, _AFTER)
    off = [one.name for one in outcomes if one.error and one.error.code == "policy_off"]
    if off:
        said = "No call may run in this chat, because nothing allows it."
        rows += [(), *wrap((("strong", said),), width), *ways_to_allow(off[0])]
    if ended.status != "answered":
        said = why(ended.status, ended.code, ended.message)
        row: Row = (("warning", ended.status), ("plain", f": {visible_line(said)}" if said else ""))
        rows += [(), *wrap(row, width, (("plain", "  "),))]
    return rows


# --- A turn that goes on: what is on the timeline of it is shown first, and then what comes ---
#
# Calls are known by an index while they are written. Those of the timeline get indexes that no call
# has that is written now: they count down from -2.


def left_events(entries: Iterable[Entry], turn: str | None) -> list[TurnEvent]:
    """Return the events of a turn so far, without its start and end; none without a turn."""
    if turn is None:
        return []
    events = replayed(entry for entry in entries if entry.block.turn_id == turn)
    found = [_apart(event) for event in events if not isinstance(event, TurnBegan | TurnEnded)]
    # New text of the model begins on a new line.
    return [*found, ModelWrote(event=Text("\n", (0, 0)))] if found else []


def after_known(known: Sequence[TurnEvent], tell: Tell) -> Tell:
    """Tells what is known once the turn goes on, and then the rest."""
    waiting = list(known)

    def told(event: TurnEvent) -> None:
        tell(event)
        if isinstance(event, TurnBegan) and not event.member:
            for one in waiting:
                tell(one)
            waiting.clear()

    return told


def _apart(event: TurnEvent) -> TurnEvent:
    match event:
        case ModelWrote(event=CallStarted() | CallReady() | Malformed(index=int()) as written):
            own = replace(written, index=-1 - (written.index or 0))
            return replace(event, event=own)
        case _:
            return event
