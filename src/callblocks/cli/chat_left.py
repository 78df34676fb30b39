"""A turn that goes on: what is on the timeline of it is shown first, and then what comes.

Calls are known by a key while they are written. Those of the timeline get keys that no call has
that is written now: they count down from -2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from callblocks.model.blocks import Entry
from callblocks.model.turn_events import (
    CallBroken,
    CallOpened,
    CallWritten,
    Said,
    TurnBegan,
    TurnEnded,
    TurnEvent,
)
from callblocks.session.session import Tell
from callblocks.views.replay import replayed

__all__ = ("after_known", "left_events")


def left_events(entries: Iterable[Entry], turn: str | None) -> list[TurnEvent]:
    """What happened in a turn so far, but for its start and its end; nothing without a turn."""
    if turn is None:
        return []
    events = replayed(entry for entry in entries if entry.block.turn_id == turn)
    found = [_apart(event) for event in events if not isinstance(event, TurnBegan | TurnEnded)]
    # What the model says now begins a line of its own.
    return [*found, Said(text="\n")] if found else []


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
        case CallOpened(key=int(key)) | CallWritten(key=int(key)) | CallBroken(key=int(key)):
            return msgspec.structs.replace(event, key=-1 - key)
        case _:
            return event
