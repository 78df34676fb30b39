"""Scripted models, and sessions around them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from callblocks.core.blocks import Block, text_of
from callblocks.core.calls import Call, Item
from callblocks.core.events import (
    CallEnded,
    CallInput,
    CallReady,
    CallStarted,
    CallTold,
    Malformed,
    ModelWrote,
    RoundBegan,
    TurnBegan,
    TurnEnded,
    TurnEvent,
)
from callblocks.dialects import dialects
from callblocks.models.model import (
    Message,
    NativeDelta,
    Piece,
    Request,
    Spoken,
    Stopped,
    Thinking,
    Usage,
)
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.session.host import Host, HostSettings
from callblocks.session.session import Session
from callblocks.tools.registry import Registry
from support.model_events import inner

__all__ = (
    "ALLOW_ALL",
    "ASK_ALL",
    "TAUGHT",
    "Never",
    "Replies",
    "blocks_of",
    "check_grammar",
    "check_shape",
    "of_type",
    "run_turn",
    "some_host",
    "texts",
    "write",
)

ALLOW_ALL = Policy((Rule(decide="allow", tool=("*",)),), autoexec=True)
ASK_ALL = Policy((Rule(decide="ask", tool=("*",)),), autoexec=True)
TAUGHT = ("tool-fence", "scissors-cat", "emoji-bracket", "emoji-bracket+", "auto")

Say = str | Exception | Callable[[Request], Any] | list[Any]


class Never:
    """In a reply: from here on the model is silent."""


class Replies:
    """A model that says one text after another; an exception is raised in its place.

    A list is said one by one: texts, pieces, exceptions, and `Never`.
    """

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

    def begin(self, *says: Say) -> None:
        """Forget all, and say these from now on."""
        self._says = list(says)
        self.requests = []

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        self.requests.append(request)
        try:
            said: Any = self._says.pop(0) if self._says else "Nothing more."
            said = said(request) if callable(said) else said
            is_stopped = False
            for one in said if isinstance(said, list) else [said]:
                if isinstance(one, Exception):
                    raise one
                if one is Never:
                    await asyncio.Event().wait()
                elif isinstance(one, Spoken | Thinking | NativeDelta | Usage | Stopped):
                    is_stopped = is_stopped or isinstance(one, Stopped)
                    yield one
                else:
                    for at in range(0, len(one), self._size):
                        await asyncio.sleep(self._wait or 0)
                        yield Spoken(one[at : at + self._size])
            yield Usage(10, 5)
            if not is_stopped:
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
    """The events of some types, and what the parser read of these types."""
    return [event for event in map(inner, events) if isinstance(event, types)]


def write(dialect: str, *items: Item, tools: Iterable[Any] = ()) -> str:
    """A reply as a model that was taught this dialect writes it."""
    return dialects["tool-fence" if dialect == "auto" else dialect].write(items, Registry(tools))


def texts(messages: Iterable[Message]) -> list[tuple[str, str]]:
    """Role and text of each message but the first, which teaches."""
    return [(one.role, text_of(list(one.parts))) for one in list(messages)[1:]]


def blocks_of(session: Session, *types: str) -> list[Block]:
    """The blocks on the timeline of a session, of some types or all."""
    blocks = [entry.block for entry in session.recorder.timeline.entries()]
    return [block for block in blocks if not types or block.type in types]


def check_shape(messages: Sequence[Message]) -> None:
    """Messages that any model takes: system, then user and assistant in turn, none empty."""
    roles = [message.role for message in messages]
    assert roles[0] == "system"
    assert roles[1] == roles[-1] == "user"
    assert all(one != two for one, two in pairwise(roles))
    assert all(text_of(list(message.parts)).strip() for message in messages)


def check_grammar(events: Sequence[TurnEvent]) -> None:
    """The events of one turn, as `callblocks.core.events` says they come."""
    first, *middle, last = events
    assert isinstance(first, TurnBegan)
    assert isinstance(last, TurnEnded)
    assert first.turn == last.turn
    opened: set[int] = set()
    written: dict[str, Call] = {}
    ended: set[str] = set()
    rounds = 0
    for event in middle:
        assert not isinstance(event, TurnBegan | TurnEnded)
        match event:
            case RoundBegan(number=number):
                assert number > rounds
                assert not opened
                assert ended >= set(written)
                rounds = number
            case ModelWrote(event=CallStarted(index=key)):
                assert key not in opened
                opened.add(key)
            case ModelWrote(event=CallInput(index=key)):
                assert key in opened
            case ModelWrote(event=CallReady(index=key, call=call)):
                opened.remove(key)
                assert call.id not in written
                written[call.id] = call
            case ModelWrote(event=Malformed(index=key)):
                opened.discard(key if key is not None else -1)
            case CallEnded(outcome=outcome):
                assert outcome.id not in ended
                ended.add(outcome.id)
            case CallTold(id=id):
                assert id not in ended
            case _:
                pass
    assert not opened
    # Calls of a turn that was interrupted may wait until it goes on.
    assert last.status == "interrupted" or set(written) <= ended
