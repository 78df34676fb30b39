"""A timeline as a chat: what was said, and the calls between with what came of them.

    Message("user", …)    Batch([ShownCall, ShownCall])    Message("assistant", …)

Calls with nothing said between them are one batch. A result finds its call by turn and id,
wherever it stands. What is hidden from the model is not hidden from a person. A block that
makes no sense here is left out: the raw view has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, cast

import msgspec

from callblocks.model.blocks import Block, Entry
from callblocks.model.shown import show_call
from callblocks.timeline.stores.gaps import gap_of, missing_words
from callblocks.views.grouping import Entry as GroupEntry
from callblocks.views.grouping import Group
from callblocks.views.timeline.files import Files, ShownFile, read_digest, read_object

__all__ = (
    "LONGEST",
    "Batch",
    "Lost",
    "Message",
    "ShownCall",
    "ShownItem",
    "grouped",
    "shown",
)

Who: TypeAlias = Literal["user", "assistant"]
LONGEST = 20_000
"""Characters of one text of a tool that stand in a page; all of it is in the timeline."""

_ERRORS = ("tool_call_error", "tool_result_error")
_RUNTIME_ERROR, _NO_ERROR = "Runtime error: ", "Runtime error: none"


class ShownCall(msgspec.Struct):
    """A call in one line, and what came of it; `result` is None while nothing came."""

    seq: int
    name: str
    line: str
    code: str = ""
    result: str | None = None
    failed: bool = False
    notices: list[str] = []
    files: list[ShownFile] = []


class Batch(msgspec.Struct):
    """Calls with nothing said between them."""

    turn: str
    calls: list[ShownCall]


class Message(msgspec.Struct):
    """What somebody said, and the files they gave."""

    seq: int
    turn: str
    who: Who
    text: str
    ts: str
    files: list[ShownFile] = []


class Lost(msgspec.Struct):
    """A block that cannot be read any more, or some that are missing; `words` say which."""

    seq: int
    turn: str
    words: str


ShownItem: TypeAlias = Message | Batch | Lost


def shown(entries: Iterable[Entry]) -> list[ShownItem]:
    """A timeline, or a part of one, as a chat."""
    chat = _Chat()
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
    def __init__(self) -> None:
        self.items: list[ShownItem] = []
        self._calls: dict[tuple[str, str], _Results] = {}
        self._codes: dict[tuple[str, str], str] = {}
        self._given: dict[tuple[str, Who], Files] = {}

    def take(self, entry: Entry) -> None:
        block = entry.block
        key = (block.turn_id, block.call_id)
        match block.type:
            case "user.prompt":
                self._say(entry, "user")
            case "assistant.completion" | "react.notes":
                self._say(entry, "assistant")
            case "user.attachment":
                self._attach(entry)
            case "react.tool.code":
                self._codes[key] = block.text or ""
            case "react.tool.call":
                self._call(entry)
            case "react.tool.result" | "react.notice" if key in self._calls:
                self._calls[key].take(block)
            case "timeline.damaged":
                self._lose(entry)
            case _:
                pass

    def _say(self, entry: Entry, who: Who) -> None:
        block = entry.block
        self.items.append(Message(entry.seq, block.turn_id, who, block.text or "", block.ts))

    def _lose(self, entry: Entry) -> None:
        """Nobody knows of which turn it was: it stands in the one before."""
        gap = gap_of(entry)
        words = missing_words(*gap) if gap else f"block {entry.seq} cannot be read"
        turn = self.items[-1].turn if self.items else ""
        self.items.append(Lost(entry.seq, turn, f"{words[0].upper()}{words[1:]}."))

    def _attach(self, entry: Entry) -> None:
        """The files of a turn stand where the first of them came."""
        block = entry.block
        # What a member of a team said is no file of the person.
        who: Who = "assistant" if block.meta.get("member") else "user"
        key = (block.turn_id, who)
        if key not in self._given:
            self._given[key] = files = Files()
            self.items.append(Message(entry.seq, block.turn_id, who, "", block.ts, files.all))
        self._given[key].take(block)

    def _call(self, entry: Entry) -> None:
        key = (entry.block.turn_id, entry.block.call_id)
        call = _read_call(entry)
        call.code = self._codes.pop(key, "")
        self._calls[key] = _Results(call)
        last = self.items[-1] if self.items else None
        if isinstance(last, Batch) and last.turn == entry.block.turn_id:
            last.calls.append(call)
        else:
            self.items.append(Batch(entry.block.turn_id, [call]))


class _Results:
    """Puts result blocks and notices where they belong in a shown call."""

    def __init__(self, call: ShownCall) -> None:
        self._call = call
        self._files = Files()
        call.files = self._files.all

    def take(self, block: Block) -> None:
        if block.type == "react.notice":
            self._notice(block)
        elif (digest := read_digest(block)) is not None:
            self._digest(digest)
        elif block.path.startswith("fi:"):
            self._files.fill(block)
        else:
            self._content(block.text or "")

    def _digest(self, digest: dict[str, Any]) -> None:
        if isinstance(digest.get("error"), dict):
            error = cast("dict[str, Any]", digest["error"])
            self._fail(f"{error.get('code', '')}: {error.get('message', '')}")
        elif digest["artifact_path"].startswith("fi:"):
            self._files.name(digest)

    def _content(self, text: str) -> None:
        call = self._call
        call.result = f"{call.result}\n{text}" if call.result else text
        call.failed |= text.startswith(_RUNTIME_ERROR) and not text.startswith(_NO_ERROR)

    def _notice(self, block: Block) -> None:
        said = read_object(block)
        words = str(said.get("message") or block.text or "")
        if said.get("code") not in _ERRORS:
            self._call.notices.append(words)
        elif not self._call.failed:
            self._fail(words)

    def _fail(self, words: str) -> None:
        self._call.failed, self._call.result = True, words


def _read_call(entry: Entry) -> ShownCall:
    said = read_object(entry.block)
    name, params = said.get("tool_id"), said.get("params")
    name = name if isinstance(name, str) and name else entry.block.tool_id or "call"
    known = cast("dict[str, Any]", params) if isinstance(params, dict) else {}
    return ShownCall(entry.seq, name, show_call(name, known)[0])
