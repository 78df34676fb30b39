"""Models that say what a test wants, and sessions around them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Any

from callblocks.model.turn_events import TurnEvent
from callblocks.models.model import Piece, Request, Spoken, Stopped, Usage
from callblocks.runtime.policy.policy import Policy
from callblocks.runtime.policy.rules import Rule
from callblocks.session.host import Host, HostSettings
from callblocks.session.session import Session

__all__ = ("ALLOW_ALL", "ASK_ALL", "Replies", "run_turn", "some_host")

ALLOW_ALL = Policy((Rule(decide="allow", tool=("*",)),), autoexec=True)
ASK_ALL = Policy((Rule(decide="ask", tool=("*",)),), autoexec=True)

Say = str | Exception | Callable[[Request], Any]


class Replies:
    """A model that says one text after another; an exception is raised in its place."""

    def __init__(
        self, *says: Say, size: int = 7, writes_results: bool = False, wait: float | None = None
    ) -> None:
        self.name = "replies"
        self.writes_results = writes_results
        self.requests: list[Request] = []
        self.closed = 0
        self._says = list(says)
        self._size = size
        self._wait = wait

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        self.requests.append(request)
        try:
            said: Any = self._says.pop(0) if self._says else "Nothing more."
            said = said(request) if callable(said) else said
            for piece in said if isinstance(said, list) else [said]:
                if isinstance(piece, Exception):
                    raise piece
                for at in range(0, len(piece), self._size):
                    await asyncio.sleep(self._wait or 0)
                    yield Spoken(piece[at : at + self._size])
            yield Usage(10, 5)
            yield Stopped("stop")
        finally:
            self.closed += 1

    async def close(self) -> None:
        pass


def some_host(folder: Path, model: Any, **settings: Any) -> Host:
    """A host in a folder; by default everything may run."""
    workspace = folder / "work"
    workspace.mkdir(exist_ok=True)
    given = {"policy": ALLOW_ALL, **settings}
    return Host(HostSettings(state=folder / "state", workspace=workspace, model=model, **given))


async def run_turn(session: Session, prompt: str, *files: Any) -> list[TurnEvent]:
    """All events of one turn."""
    events: list[TurnEvent] = []
    await session.run(prompt, files, tell=events.append)
    return events


def of_type(events: Sequence[TurnEvent], *types: type) -> list[Any]:
    """The events of some types."""
    return [event for event in events if isinstance(event, types)]
