"""A model's reply, read as it arrives: told at once, and put together for the timeline.

    prose · call · prose · call · prose      each call has what was said before it

Nothing of the text is lost: what opened like a call and is none stays in the prose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from callblocks.model.calls import Call, Result
from callblocks.model.events import (
    CallInput,
    CallReady,
    CallResult,
    CallStarted,
    Event,
    Malformed,
    Reasoning,
    Text,
)
from callblocks.model.turn_events import (
    CallBroken,
    CallOpened,
    CallWriting,
    CallWritten,
    Said,
    Thought,
    TurnEvent,
)
from callblocks.parser import Parser
from callblocks.session.call_ids import CallIds

__all__ = ("Reply", "WrittenCall")


class WrittenCall(msgspec.Struct):
    """A call of a reply: what was said before it, and the result that the text itself carried."""

    call: Call
    before: str
    result: Result | None = None


class Reply:
    """Takes the text of one reply; `calls` are those that wait for a result.

    `carry` takes those whose result the text itself carries; without it such a result stays beside
    its call. `keys` counts the calls of the turn, over all its replies.
    """

    def __init__(
        self,
        parser: Parser,
        ids: CallIds,
        tell: Callable[[TurnEvent], None],
        carry: Callable[[WrittenCall], None] | None = None,
        keys: int = 0,
    ) -> None:
        self.calls: list[WrittenCall] = []
        self.carried = 0
        self.is_cut = False
        self.broken: list[Malformed] = []
        self.length = 0
        self.keys = keys
        self._parser = parser
        self._ids = ids
        self._tell = tell
        self._carry = carry
        self._prose: list[str] = []
        self._thinking: list[str] = []
        self._open: dict[int, tuple[int, str]] = {}
        self._written: dict[int, WrittenCall] = {}

    @property
    def rest(self) -> str:
        """What was said after the last call."""
        return "".join(self._prose)

    @property
    def reasoning(self) -> str:
        """What the model marked as thinking."""
        return "".join(self._thinking)

    def feed(self, text: str) -> None:
        """Take a piece of text."""
        self.length += len(text)
        self._take(self._parser.feed(text))

    def think(self, text: str) -> None:
        """Take a piece of reasoning that came apart from the text."""
        self.length += len(text)
        self._think(text)

    def close(self) -> None:
        """No more text comes."""
        self._take(self._parser.close())

    def _take(self, events: Iterable[Event]) -> None:
        for event in events:
            match event:
                case Text(text=text):
                    self._say(text)
                case Reasoning(text=text):
                    self._think(text)
                case CallStarted():
                    self._start(event)
                case CallInput(index=index, text=text):
                    self._tell(CallWriting(key=self._open[index][0], text=text))
                case CallReady(index=index, call=call):
                    self._ready(index, call)
                case CallResult(index=index, result=result):
                    self._result(self._written[index], result)
                case Malformed():
                    self._break(event)
                case _:
                    pass

    def _say(self, text: str) -> None:
        if text:
            self._prose.append(text)
            self._tell(Said(text=text))

    def _think(self, text: str) -> None:
        if text:
            self._thinking.append(text)
            self._tell(Thought(text=text))

    def _start(self, event: CallStarted) -> None:
        self.keys += 1
        id = "" if event.id is None else self._ids.give(event.id)
        self._open[event.index] = (self.keys, id)
        self._tell(CallOpened(key=self.keys, name=event.name, id=id))

    def _ready(self, index: int, call: Call) -> None:
        key, id = self._open.pop(index)
        own = msgspec.structs.replace(call, id=id or self._ids.give(call.id))
        self._written[index] = written = WrittenCall(own, self.rest)
        self.calls.append(written)
        self._prose.clear()
        self._tell(CallWritten(key=key, call=own))

    def _result(self, written: WrittenCall, result: Result) -> None:
        written.result = result
        if self._carry is not None:
            self.calls.remove(written)
            self.carried += 1
            self._carry(written)

    def _break(self, event: Malformed) -> None:
        self._prose.append(event.text)
        self.broken.append(event)
        key = None if event.index is None else self._open.pop(event.index, (None, ""))[0]
        self._tell(CallBroken(code=event.code, text=event.text, detail=event.detail, key=key))
