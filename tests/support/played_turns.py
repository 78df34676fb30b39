"""A turn of a text model: its prompts, its events, its timeline."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from callblocks.core.blocks import Block
from callblocks.core.calls import Call
from callblocks.core.errors import ToolError
from callblocks.core.events import CallEnded, TurnEnded, TurnEvent
from callblocks.core.outcomes import Outcome
from callblocks.session.model_choice import SessionSettings
from callblocks.session.session import Session
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from support.scripted_sessions import (
    Replies,
    blocks_of,
    check_grammar,
    check_shape,
    of_type,
    run_turn,
    some_host,
    texts,
    write,
)

__all__ = ("BAD", "GOOD", "LOOKING", "Played", "calls", "play")


@tool(read_only=True)
def look(place: str) -> str:
    """Look."""
    if place == "nowhere":
        raise ToolError("path_not_found", "'nowhere': nothing is there; look elsewhere")
    return f"a {place}"


LOOKING = Registry([look])
GOOD = Call(id="c1", name="look", input={"place": "garden"})
BAD = Call(id="c2", name="look", input={"place": "nowhere"})


class Played:
    """What came of a turn; every law of events and messages holds of it."""

    def __init__(self, model: Replies, events: list[TurnEvent], session: Session) -> None:
        check_grammar(events)
        for request in model.requests:
            check_shape(request.messages)
        last = events[-1]
        assert isinstance(last, TurnEnded)
        self.requests = model.requests
        self.events = events
        self.end = last
        self.blocks: list[Block] = blocks_of(session)
        self.outcomes: list[Outcome] = [one.outcome for one in of_type(events, CallEnded)]

    @property
    def ended(self) -> tuple[str, str]:
        """Status and code."""
        return self.end.status, self.end.code

    @property
    def codes(self) -> list[str]:
        """What came of each call: the code of its failure, or ""."""
        return [one.error.code if one.error else "" for one in self.outcomes]

    def of(self, *types: str) -> list[Block]:
        """The blocks of some types."""
        return [block for block in self.blocks if block.type in types]

    def texts(self, *types: str) -> list[str]:
        """The texts of the blocks of some types."""
        return [block.text or "" for block in self.of(*types)]

    def sent(self, at: int) -> list[tuple[str, str]]:
        """Role and text of what the model was sent in a round."""
        return texts(self.requests[at].messages)


def play(folder: Path, *says: Any, dialect: str = "tool-fence", **given: Any) -> Played:
    """A turn with these replies; `host` and `limits` are settings of those."""
    settings = {"tools": LOOKING, **given.pop("host", {})}
    limits = SessionSettings(**given.pop("limits", {}))
    model = Replies(*says, **given)
    with some_host(folder, model, dialect=dialect, session=limits, **settings) as host:
        session = host.session("talk")
        return Played(model, asyncio.run(run_turn(session, "Look around.")), session)


def calls(dialect: str, *items: Any) -> str:
    """A reply in a dialect that calls `look`."""
    return write(dialect, *items, tools=LOOKING.tools)
