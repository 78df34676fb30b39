"""The gate of a turn's events: every written call ends exactly once.

A tool that was given up may still show text, and a turn may be cut off anywhere. The gate drops
events that come after the end of their call. Calls that are left end with the turn, unless they
wait for it to be resumed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Container
from contextlib import suppress

from callblocks.model.calls import Call
from callblocks.model.outcomes import Failure, Outcome
from callblocks.model.turn_events import (
    PROSE,
    CallBegan,
    CallEnded,
    CallTold,
    CallWritten,
    TurnEvent,
)
from callblocks.runtime.progress import Began, Listener, Progress, Said

__all__ = ("Telling",)


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
        if isinstance(event, PROSE) or self._take(event):
            self._tell(event)

    def listener(self, loop: asyncio.AbstractEventLoop) -> Listener:
        """Return a listener for a runtime; events of worker threads are passed on in the loop's
        thread.
        """

        def listen(progress: Progress) -> None:
            match progress:
                case Began(id=id):
                    self(CallBegan(id=id))
                case Said(id=id, text=text):
                    self._shown.append(CallTold(id=id, text=text))
                    with suppress(RuntimeError):  # the loop is closed: nobody listens
                        loop.call_soon_threadsafe(self._tell_shown)
                case _:
                    pass

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
            case CallWritten(call=call):
                self._written[call.id] = call
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
