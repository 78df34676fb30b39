"""A timeline as a chat: what was said, and the calls between with what came of them.

    Message("user", …)    Batch([ShownCall, ShownCall])    Message("assistant", …)

Calls with nothing said between them are one batch. A result finds its call by turn and id,
wherever it stands. What is hidden from the model is not hidden from a person. A block that
makes no sense here is left out: the raw view has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from callblocks.model.blocks import Block, Entry
from callblocks.timeline.stores.gaps import gap_of, missing_words
from callblocks.views.grouping import Entry as GroupEntry
from callblocks.views.grouping import Group
from callblocks.views.timeline.calls import Results, ShownCall, read_call
from callblocks.views.timeline.ending import ending_words
from callblocks.views.timeline.files import Files, ShownFile, read_digest

__all__ = (
    "LONGEST",
    "Batch",
    "Ended",
    "Lost",
    "Message",
    "ShownItem",
    "Thought",
    "grouped",
    "shown",
)

Who: TypeAlias = Literal["user", "assistant"]
LONGEST = 20_000
"""Characters of one text of a tool that stand in a page; all of it is in the timeline."""

_NAMES: dict[Who, str] = {"user": "User", "assistant": "Assistant"}


class Batch(msgspec.Struct):
    """Calls with nothing said between them."""

    turn: str
    calls: list[ShownCall]


class Message(msgspec.Struct):
    """What somebody said, and the files they gave.

    `member` is who of a team said it, and `is_cut` whether it broke off.
    """

    seq: int
    turn: str
    who: Who
    text: str
    ts: str
    files: list[ShownFile] = []
    member: str = ""
    is_cut: bool = False

    @property
    def name(self) -> str:
        """Who said it, for a heading."""
        return self.member or _NAMES[self.who]


class Lost(msgspec.Struct):
    """A block that cannot be read any more, or some that are missing; `words` say which."""

    seq: int
    turn: str
    words: str


class Ended(msgspec.Struct):
    """The end of a turn that was not answered; `words` say how it ended, and why."""

    seq: int
    turn: str
    words: str


class Thought(msgspec.Struct):
    """What a model thought before it said something or called."""

    seq: int
    turn: str
    text: str


ShownItem: TypeAlias = Message | Batch | Lost | Ended | Thought


def shown(entries: Iterable[Entry], *, thoughts: bool = False) -> list[ShownItem]:
    """A timeline, or a part of one, as a chat; with what the model thought, if asked for."""
    chat = _Chat(thoughts)
    for entry in entries:
        chat.take(entry)
    return chat.items


def grouped(batch: Batch) -> Group:
    """A batch as the chat of a text draws it; files are a result where there is no other."""
    return Group(
        [
            GroupEntry(
                call.line,
                call.result or "\n".join(file.about for file in call.files) or call.result,
                call.failed,
            )
            for call in batch.calls
        ]
    )


class _Chat:
    def __init__(self, thoughts: bool) -> None:
        self.items: list[ShownItem] = []
        self._thoughts = thoughts
        self._noted: tuple[str, str] | None = None
        self._calls: dict[tuple[str, str], Results] = {}
        self._codes: dict[tuple[str, str], str] = {}
        self._given: dict[str, Files] = {}

    def take(self, entry: Entry) -> None:
        block = entry.block
        key = (block.turn_id, block.call_id)
        match block.type:
            case "user.prompt":
                self._say(entry, "user")
            case "assistant.completion" | "react.notes":
                self._think(entry)
                self._say(entry, "assistant")
                self._noted = key
            case "user.attachment":
                self._attach(entry)
            case "react.tool.code":
                self._codes[key] = block.text or ""
            case "react.tool.call":
                self._think(entry)
                self._call(entry)
            case "react.tool.result" | "react.notice" | "timeline.approval" if key in self._calls:
                self._calls[key].take(block)
            case "timeline.damaged":
                self._lose(entry)
            case "timeline.turn":
                self._end(entry)
            case _:
                pass

    def _say(self, entry: Entry, who: Who) -> None:
        block = entry.block
        said = Message(entry.seq, block.turn_id, who, block.text or "", block.ts)
        said.member = _member(block)
        said.is_cut = block.meta.get("is_partial") is True
        self.items.append(said)

    def _think(self, entry: Entry) -> None:
        """What was thought is kept with the call, and came before what was said before the call."""
        block = entry.block
        reasoning = block.meta.get("reasoning")
        if not self._thoughts or not isinstance(reasoning, str) or not reasoning.strip():
            return
        is_noted = self._noted == (block.turn_id, block.call_id)
        is_noted = is_noted and bool(self.items) and isinstance(self.items[-1], Message)
        at = len(self.items) - is_noted
        self.items.insert(at, Thought(entry.seq, block.turn_id, reasoning))

    def _end(self, entry: Entry) -> None:
        if words := ending_words(entry.block.meta):
            self.items.append(Ended(entry.seq, entry.block.turn_id, words))

    def _lose(self, entry: Entry) -> None:
        """Nobody knows of which turn it was: it stands in the one before."""
        gap = gap_of(entry)
        words = missing_words(*gap) if gap else f"block {entry.seq} cannot be read"
        turn = self.items[-1].turn if self.items else ""
        self.items.append(Lost(entry.seq, turn, f"{words[0].upper()}{words[1:]}."))

    def _attach(self, entry: Entry) -> None:
        """The files of a turn stand where the first of them came."""
        block = entry.block
        if _member(block):
            # What a member of a team said is no file of the person.
            if read_digest(block) is None:
                self._say(entry, "assistant")
            return
        if block.turn_id not in self._given:
            self._given[block.turn_id] = files = Files()
            self.items.append(Message(entry.seq, block.turn_id, "user", "", block.ts, files.all))
        self._given[block.turn_id].take(block)

    def _call(self, entry: Entry) -> None:
        key = (entry.block.turn_id, entry.block.call_id)
        call = read_call(entry)
        call.code = self._codes.pop(key, "")
        self._calls[key] = Results(call)
        last = self.items[-1] if self.items else None
        if isinstance(last, Batch) and last.turn == entry.block.turn_id:
            last.calls.append(call)
        else:
            self.items.append(Batch(entry.block.turn_id, [call]))


def _member(block: Block) -> str:
    """Who of a team wrote a block; nobody where there is no team."""
    member = block.meta.get("member")
    return member if isinstance(member, str) else ""
