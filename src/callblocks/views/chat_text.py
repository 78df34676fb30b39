r"""A turn as chat text: prose, and a `<tool>` block for each call, pending and then completed.

    chat = ChatText()
    chat.feed(event)
    chat.text                   what is said so far
    chat.members                the same for each member of a team; `text` is their consensus

A result goes into the block of its own call, wherever that stands. Every `<tool>` in the text is
ours: prose is escaped. What is said in another round is another paragraph.
"""

from __future__ import annotations

import msgspec

from callblocks.model.calls import Call
from callblocks.model.outcomes import Failure, Outcome
from callblocks.model.shown import escape_prose
from callblocks.model.turn_events import (
    CallBroken,
    CallEnded,
    CallWritten,
    RoundBegan,
    Said,
    TurnEvent,
)
from callblocks.timeline.plain_json import whole
from callblocks.views.tool_events import (
    ToolTrace,
    complete_pending_tool_block,
    format_tool_combined,
    format_tool_started,
)

__all__ = ("ChatText",)

_CUT = Failure(code="cancelled", message="the turn ended before this call did")


class ChatText:
    """Takes the events of a turn; `trace` has what happened to its calls."""

    def __init__(self) -> None:
        self.trace = ToolTrace()
        self._texts: dict[str, _Text] = {"": _Text()}
        self._pending: dict[str, tuple[_Text, _Block]] = {}

    @property
    def text(self) -> str:
        """What the one who answers said, or all of a team together."""
        return self._texts[""].text

    @property
    def members(self) -> dict[str, str]:
        """What each member of a team said."""
        return {name: text.text for name, text in self._texts.items() if name}

    def feed(self, event: TurnEvent) -> None:
        """Take the next event."""
        match event:
            case RoundBegan(member=member) if member in self._texts:
                self._texts[member].pause()
            case Said(text=text) | CallBroken(text=text):
                self._text(event.member).say(text)
            case CallWritten(call=call):
                self._start(self._text(event.member), call)
            case CallEnded():
                self._end(event)
            case _:
                pass

    def close(self) -> None:
        """No more events come: a call that still waits gets no result."""
        for id, (_, block) in list(self._pending.items()):
            self._end(CallEnded(outcome=Outcome(id=id, name=block.name, error=_CUT)))

    def _text(self, member: str) -> _Text:
        return self._texts.setdefault(whole(member), _Text())

    def _start(self, text: _Text, call: Call) -> None:
        written, trace = format_tool_started(call.name, call.input, call.id)
        block = _Block(call.name, written)
        text.add(block)
        self._pending[call.id] = (text, block)
        self.trace.append(trace)

    def _end(self, event: CallEnded) -> None:
        outcome, error = event.outcome, _words(event)
        text, block = self._pending.pop(outcome.id, (None, None))
        if text is None or block is None:
            text, name = self._text(event.member), outcome.name
            given = outcome.output
            written, trace = format_tool_combined(name, None, given, outcome.id, error=error)
            text.add(_Block(name, written))
        else:
            block.text, trace = complete_pending_tool_block(
                block.text, block.name, outcome.output, outcome.id, error=error
            )
            text.changed()
        self.trace.append(trace)


class _Block(msgspec.Struct, eq=False):
    name: str
    text: str


class _Text:
    """Prose and blocks in their order. Prose is escaped as a whole: a tag can come in pieces."""

    def __init__(self) -> None:
        self._parts: list[str | _Block] = []
        self._prose: list[str] = []
        self._text: str | None = ""
        self._pauses = False

    @property
    def text(self) -> str:
        if self._text is None:
            parts = [part if isinstance(part, str) else part.text for part in self._parts]
            self._text = "".join((*parts, escape_prose("".join(self._prose))))
        return whole(self._text)

    def say(self, text: str) -> None:
        if not text:
            return
        if self._pauses and self._prose and not self._prose[-1].endswith("\n"):
            self._prose.append("\n\n")
        self._pauses = False
        self._prose.append(text)
        self.changed()

    def pause(self) -> None:
        self._pauses = True

    def add(self, block: _Block) -> None:
        if self._prose:
            self._parts.append(escape_prose("".join(self._prose)))
            self._prose.clear()
        self._parts.append(block)
        self.changed()

    def changed(self) -> None:
        self._text = None


def _words(event: CallEnded) -> str | None:
    """Why a call failed; what a text itself carried stays in its own words."""
    error = event.outcome.error
    if error is None:
        return None
    return error.message if event.written else f"{error.code}: {error.message}"
