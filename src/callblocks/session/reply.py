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
from callblocks.model.outcomes import Failure, Outcome
from callblocks.model.turn_events import (
    CallBroken,
    CallEnded,
    CallOpened,
    CallWriting,
    CallWritten,
    Said,
    Thought,
    TurnEvent,
)
from callblocks.parser import Parser
from callblocks.session.call_ids import CallIds
from callblocks.views.model_view.neutral import restore_input

__all__ = ("Reply", "WrittenCall")


class WrittenCall(msgspec.Struct, eq=False):
    """A call of a reply: what was said before it, and the result that the text itself carried.

    It is `carried` where that result counts: then nothing runs.
    """

    call: Call
    before: str
    result: Result | None = None
    carried: bool = False

    def outcome(self) -> Outcome:
        """What the text says came of it."""
        said = self.result or Result(id=self.call.id)
        failed = said.error is not None
        error = Failure(code="tool_error", message=said.error or "") if failed else None
        return Outcome(id=self.call.id, name=self.call.name, output=said.output, error=error)


class Reply:
    """Takes the text of one reply; `written` are all its calls.

    With `carries` a result that the text itself has counts; without, it stays beside its call.
    `keys` counts the calls of the turn, over all its replies. `signed` says that the model was
    shown texts with signs: they are taken out of what it copied.
    """

    def __init__(
        self,
        parser: Parser,
        ids: CallIds,
        tell: Callable[[TurnEvent], None],
        *,
        carries: bool = False,
        keys: int = 0,
        signed: bool = False,
    ) -> None:
        self.written: list[WrittenCall] = []
        self.is_cut = False
        self.broken: list[Malformed] = []
        self.length = 0
        self.keys = keys
        self._parser = parser
        self._ids = ids
        self._tell = tell
        self._carries = carries
        self._signed = signed
        self._prose: list[str] = []
        self._thinking: list[str] = []
        self._open: dict[int, tuple[int, str]] = {}
        self._at: dict[int, WrittenCall] = {}

    @property
    def calls(self) -> list[WrittenCall]:
        """The calls that wait for a result."""
        return [written for written in self.written if not written.carried]

    @property
    def is_empty(self) -> bool:
        """Whether nothing was said, and nothing called."""
        return not self.written and not self.rest.strip()

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
                    self._result(self._at[index], result)
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
        given = restore_input(call.input) if self._signed else call.input
        own = msgspec.structs.replace(call, id=id or self._ids.give(call.id), input=given)
        self._at[index] = written = WrittenCall(own, self.rest)
        self.written.append(written)
        self._prose.clear()
        self._tell(CallWritten(key=key, call=own))

    def _result(self, written: WrittenCall, result: Result) -> None:
        if written.result is not None:
            return
        written.result, written.carried = result, self._carries
        if written.carried:
            self._tell(CallEnded(outcome=written.outcome(), written=True))

    def _break(self, event: Malformed) -> None:
        self._prose.append(event.text)
        self.broken.append(event)
        key = None if event.index is None else self._open.pop(event.index, (None, ""))[0]
        self._tell(CallBroken(code=event.code, text=event.text, detail=event.detail, key=key))
