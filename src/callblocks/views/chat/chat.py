"""A text as a chat shows it: prose, and calls with their results in groups.

A chat is fed events. It holds back everything that a later event may change: an unfinished line, a
group that the next call may join, and everything from a pending call on, whose result may come
later. Items that no later event can change are settled, and are drawn once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias, cast

import msgspec

from callblocks.core.call_text import show_call, show_result
from callblocks.core.calls import Call, Result
from callblocks.core.events import (
    CallReady,
    CallResult,
    CallStarted,
    Event,
    Malformed,
    Reasoning,
    Text,
)
from callblocks.views.chat.groups import CallGroup, GroupedCall, Part, Validation, group

__all__ = ("BY_ID", "BrokenBlock", "Chat", "Item", "Speaker", "ThoughtLine", "call_line")

BY_ID = -1
"""The index of a result that is known by the id of its call alone."""

_VALIDATION = "chat-blocks.validation"
_DISPLAY = "chat-blocks"
# The input keys of a positional call whose tool is not declared; an empty value is not shown.
_RAW_INPUT = {"args", "body"}
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class ThoughtLine(msgspec.Struct, frozen=True):
    """A line, or the part of one, that the model marked as thinking."""

    text: str


class BrokenBlock(msgspec.Struct, frozen=True):
    """Text that opened like a block but is not one."""

    text: str
    code: str
    detail: str


class Speaker(msgspec.Struct, frozen=True):
    """The speaker of the items that follow, in a team; "" is the team as a whole.

    `fault` is the reason why the speaker's turn failed.
    """

    name: str
    fault: str = ""


Item: TypeAlias = str | ThoughtLine | BrokenBlock | Speaker | CallGroup | Validation
"""What is drawn: a line of prose, or one of the others."""
_Held: TypeAlias = Part | ThoughtLine | BrokenBlock | Speaker


class Chat:
    """Groups events into items; `settle` hands out the final ones, `items` returns the others."""

    def __init__(self) -> None:
        self._held: list[_Held] = []
        # Where the entry of a call is held; the entries that left without their result; the
        # calls of a display, whose results are shown as they were; and the last call of an id.
        self._places: dict[int, int] = {}
        self._left: dict[int, GroupedCall] = {}
        self._displayed: set[int] = set()
        self._indexes: dict[str, int] = {}

    @property
    def items(self) -> list[Item]:
        """Return the items that may still change, in their current state."""
        return _grouped(self._held)

    def feed(self, events: Iterable[Event | Speaker]) -> None:
        """Take more events."""
        for event in events:
            self._take(event)

    def settle(self) -> list[Item]:
        """Hand out the items that no later event can change."""
        end = len(self._held)
        while end and _is_open(self._held[end - 1]):
            end -= 1
        for at in range(end):
            if _is_pending(self._held[at]):
                end = _group_start(self._held, at)
                break
        return self._hand_out(end)

    def give_up(self) -> list[Item]:
        """Hand out the first item held, although it may still change."""
        end = 1
        while end < len(self._held) and _in_group(self._held[end]):
            end += 1
        return self._hand_out(end)

    def close(self) -> list[Item]:
        """Hand out all remaining items."""
        return self._hand_out(len(self._held))

    def _hand_out(self, count: int) -> list[Item]:
        if not count:
            return []
        leaving, self._held = self._held[:count], self._held[count:]
        places, self._places = self._places, {}
        for index, at in places.items():
            if at >= count:
                self._places[index] = at - count
            elif (entry := cast("GroupedCall", leaving[at])).pending:
                self._left[index] = entry
        return _grouped(leaving)

    def _take(self, event: Event | Speaker) -> None:
        match event:
            case Speaker():
                self._held.append(event)
            case Text(text=text):
                self._say(text)
            case Reasoning(text=text):
                self._think(text)
            case CallStarted(index=index, name=name, id=id_):
                self._places[index] = len(self._held)
                self._held.append(GroupedCall(f"{name}(…)", id=id_))
            case CallReady(index=index, call=call):
                self._ready(index, call)
            case CallResult(index=index, id=id_, result=result):
                self._complete(self._indexes.get(id_, index) if index == BY_ID else index, result)
            case Malformed():
                self._break(event)
            case _:
                pass

    def _say(self, text: str) -> None:
        for line in _LINE.findall(text):
            last = self._held[-1] if self._held else None
            if isinstance(last, str) and not last.endswith("\n"):
                self._held[-1] = last + line
            else:
                self._held.append(line)

    def _think(self, text: str) -> None:
        for line in _LINE.findall(text):
            last = self._held[-1] if self._held else None
            if isinstance(last, ThoughtLine) and not last.text.endswith("\n"):
                self._held[-1] = ThoughtLine(last.text + line)
            else:
                self._held.append(ThoughtLine(line))

    def _ready(self, index: int, call: Call) -> None:
        self._indexes[call.id] = index
        if call.dialect == _DISPLAY:
            self._displayed.add(index)
        # The entry may have left the screen while its input still came.
        self._left.pop(index, None)
        at = self._places.setdefault(index, len(self._held))
        self._held[at : at + 1] = [GroupedCall(call_line(call), id=call.id)]

    def _complete(self, index: int, result: Result) -> None:
        if index in self._left:
            # Drawn for good without its result: it is shown once more, with it.
            self._places[index] = len(self._held)
            self._held.append(self._left.pop(index))
        if index not in self._places:
            return
        failed = result.error is not None
        given = result.error if failed else result.output
        shown = str(given) if index in self._displayed else show_result(given)[0]
        at = self._places[index]
        entry = cast("GroupedCall", self._held[at])
        self._held[at] = msgspec.structs.replace(entry, result=shown, failed=failed)

    def _break(self, event: Malformed) -> None:
        if event.index is not None:
            self._left.pop(event.index, None)
            self._drop(event.index)
        if event.code == _VALIDATION:
            inner = event.text.removeprefix("<validation>").removesuffix("</validation>")
            self._held.append(Validation(inner))
        else:
            self._held.append(BrokenBlock(event.text, event.code, event.detail))

    def _drop(self, index: int) -> None:
        at = self._places.pop(index, None)
        if at is not None:
            del self._held[at]
            self._places = {one: was - (was > at) for one, was in self._places.items()}


def call_line(call: Call) -> str:
    """A call in one line, as a chat shows it; what a display showed stays as it was."""
    if call.dialect == _DISPLAY:
        return f"{call.name}({call.input.get('shown', '')})"
    said = {key: value for key, value in call.input.items() if value != ""}
    return show_call(call.name, said if call.input.keys() == _RAW_INPUT else call.input)[0]


def _is_pending(part: _Held) -> bool:
    return isinstance(part, GroupedCall) and part.pending


def _is_blank(part: _Held) -> bool:
    return isinstance(part, str) and not part.strip()


def _in_group(part: _Held) -> bool:
    return isinstance(part, GroupedCall) or _is_blank(part)


def _is_open(part: _Held) -> bool:
    """Return whether the last part held may still grow: a call in a group, or an unended line."""
    if isinstance(part, str | ThoughtLine):
        text = part if isinstance(part, str) else part.text
        return not text.endswith("\n") or not text.strip()
    return isinstance(part, GroupedCall)


def _group_start(held: Sequence[_Held], at: int) -> int:
    while at and _in_group(held[at - 1]):
        at -= 1
    return at


def _grouped(held: Sequence[_Held]) -> list[Item]:
    # `group` passes items of unknown types through, as it does with prose.
    return cast("list[Item]", group(cast("Sequence[Part]", held)))
