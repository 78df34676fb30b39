"""The gate of a turn's events: every written call ends exactly once.

A tool that was given up may still show text, and a turn may be cut off anywhere. The gate drops
events that come after the end of their call. Calls that are left end with the turn, unless they
wait for it to be resumed.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Container, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from callblocks.core.calls import Call
from callblocks.core.errors import ModelError, TimelineError, ToolError
from callblocks.core.events import (
    CallBegan,
    CallEnded,
    CallReady,
    CallTold,
    ModelWrote,
    Status,
    TurnEnded,
    TurnEvent,
)
from callblocks.core.outcomes import Failure, Outcome
from callblocks.models.model import Usage
from callblocks.runtime.judgement import Listener, Progress
from callblocks.session.taint import taint_meta

__all__ = (
    "ANSWERED",
    "INTERRUPTED",
    "QUARANTINED",
    "STOPPED",
    "TURN_CODES",
    "Ending",
    "Logged",
    "Telling",
    "TurnLog",
)


class Telling:
    """Passes events on; it is one turn's, and called like the function that it passes them to."""

    def __init__(self, tell: Callable[[TurnEvent], None]) -> None:
        self._tell = tell
        self._written: dict[str, Call] = {}
        self._running: set[str] = set()
        self._ended: set[str] = set()
        self._shown: deque[CallTold] = deque()

    def __call__(self, event: TurnEvent) -> None:
        """Tell an event, unless it comes too late."""
        # Most events are a piece of text that a model wrote: they are passed on first.
        if type(event) is ModelWrote:
            if type(written := event.event) is CallReady:
                self._written[written.call.id] = written.call
        elif not self._take(event):
            return
        self._tell(event)

    def listener(self, loop: asyncio.AbstractEventLoop) -> Listener:
        """Return a listener for a runtime; events of worker threads are passed on in the loop's
        thread.
        """

        def listen(progress: Progress) -> None:
            match progress:
                case CallBegan():
                    self(progress)
                case CallTold():
                    self._shown.append(progress)
                    with suppress(RuntimeError):  # the loop is closed: nobody listens
                        loop.call_soon_threadsafe(self._tell_shown)

        return listen

    @property
    def begun(self) -> frozenset[str]:
        """The calls that run."""
        return frozenset(self._running)

    def close(self, why: str, waiting: Container[str] = ()) -> None:
        """End the calls that are left and do not wait: nobody else will."""
        for call in [one for one in self._written.values() if one.id not in waiting]:
            words = f"{call.name} did not run: {why}"
            failure = Failure(code="cancelled", message=words)
            self(CallEnded(outcome=Outcome(id=call.id, name=call.name, error=failure)))

    def _take(self, event: TurnEvent) -> bool:
        """Track the state of calls; return whether the event comes in time."""
        match event:
            case CallBegan(id=id):
                self._running.add(id)
            case CallTold(id=id):
                return id in self._running or id in self._written
            case CallEnded(outcome=outcome):
                self._tell_shown()
                return self._end(outcome.id)
            case _:
                pass
        return True

    def _tell_shown(self) -> None:
        while self._shown:
            self(self._shown.popleft())

    def _end(self, id: str) -> bool:
        if id in self._ended:
            return False
        self._ended.add(id)
        self._running.discard(id)
        self._written.pop(id, None)
        return True


# --- Endings of a turn: status, code and message ---

# Every code of an ended turn beside those of `ModelError` and `TimelineError`.
TURN_CODES = {
    "stopped": "the person stopped the turn",
    "round_limit": "the model was asked as often as it may be",
    "token_limit": "the replies cost as many tokens as they may",
    "time_limit": "the turn took as long as it may",
    "reply_cut": "the model's reply was cut at its largest length",
    "reply_filtered": "the model's server cut the reply by its content filter",
    "empty_reply": "the model said nothing",
    "broken_calls": "the model wrote calls that cannot be read, again and again",
    "interrupted": "the program ended while the turn ran",
    "quarantined": "each worker that ran the turn died of it, and no other will",
}


class Ending(msgspec.Struct, frozen=True):
    """The reason why a turn is over."""

    status: Status
    code: str = ""
    message: str = ""

    @classmethod
    def of(cls, status: Status, code: str) -> Ending:
        """Return one of our own endings, with the message of `TURN_CODES`."""
        return cls(status, code, TURN_CODES[code])

    @classmethod
    def by(cls, error: ModelError | TimelineError | ToolError) -> Ending:
        """Return the ending for a failure."""
        return cls("failed", error.code, error.message)

    def record(self, usage: Usage, tainted: Sequence[str] = ()) -> dict[str, Any]:
        """Return the ending as the timeline records it; `tainted` lists sources of foreign text."""
        said = msgspec.structs.asdict(self)
        return {**said, **msgspec.structs.asdict(usage), **taint_meta(tainted)}

    def event(self, turn: str, usage: Usage, member: str = "") -> TurnEnded:
        """Return the last event of the turn."""
        return TurnEnded(
            turn=turn,
            status=self.status,
            code=self.code,
            message=self.message,
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            member=member,
        )


ANSWERED = Ending("answered")
STOPPED = Ending.of("stopped", "stopped")
INTERRUPTED = Ending.of("interrupted", "interrupted")
QUARANTINED = Ending.of("failed", "quarantined")


# --- The events of a turn, kept while it runs, for whoever follows it and whoever comes later ---
#
# Each reader goes at its own pace over the same list, so a slow one costs nothing and delays
# nobody. An event is numbered by the timeline: `12.3` is the third one after block 12 was written.

# Texts of one running call that are logged; later ones are dropped.
_TOLD = 1000
_LEFT_OUT = "\n… what it shows from here on is left out\n"


class Logged(msgspec.Struct, frozen=True, gc=False):
    """An event where it stands: after which block of the timeline, and as the how-many-th."""

    seq: int
    at: int
    event: TurnEvent


class TurnLog:
    """Takes events by `tell`; `last` says the last number of the timeline. In one event loop.

    `asked_at` is how far a reader came who left because the turn waits for an answer.
    """

    def __init__(self, last: Callable[[], int]) -> None:
        self.events: list[Logged] = []
        self.is_over = False
        self.asked_at = 0
        self._last = last
        self._told: Counter[tuple[str, str]] = Counter()
        self._place = (-1, 0)
        self._more: asyncio.Future[None] | None = None

    def tell(self, event: TurnEvent) -> None:
        """Take an event; the end of the turn is the last one."""
        if isinstance(event, CallTold):
            self._told[event.member, event.id] += 1
            over = self._told[event.member, event.id] - _TOLD
            if over > 1:
                return
            event = msgspec.structs.replace(event, text=_LEFT_OUT) if over == 1 else event
        seq, (before, at) = self._last(), self._place
        at = at + 1 if seq == before else 1
        self._place = (seq, at)
        self.events.append(Logged(seq, at, event))
        if isinstance(event, TurnEnded) and not event.member:
            self.is_over = True
        if self._more is not None:
            self._wake()

    def keep(self, logged: Logged) -> None:
        """Take an event that has its number already."""
        self.events.append(logged)
        if isinstance(logged.event, TurnEnded) and not logged.event.member:
            self.is_over = True
        self._wake()

    def close(self) -> None:
        """Nothing more comes, also where the end was never told."""
        self.is_over = True
        self._wake()

    def after(self, seq: int, at: int = 0) -> int:
        """Return the index after the event of that number; an unknown number reads from there on
        again.
        """
        return bisect_right(self.events, (seq, at), key=lambda one: (one.seq, one.at))

    async def read(self, start: int = 0) -> AsyncGenerator[list[Logged], None]:
        """All from a place on: what is there at once, then what comes, until the turn is over."""
        while True:
            if batch := self.events[start:]:
                start += len(batch)
                yield batch
            elif self.is_over:
                return
            else:
                await self._next()

    async def _next(self) -> None:
        if self._more is None:
            self._more = asyncio.get_running_loop().create_future()
        # One reader that goes away must not take the others with it.
        await asyncio.shield(self._more)

    def _wake(self) -> None:
        if self._more is not None:
            self._more.set_result(None)
            self._more = None
