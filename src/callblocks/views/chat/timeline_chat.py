"""A timeline as a chat: messages, and the calls between them with their results.

    Message("user", …)    Batch([ShownCall, ShownCall])    Message("assistant", …)

Calls with no message between them are one batch. A result is matched to its call by turn and id,
wherever it stands. Blocks that are hidden from the model are shown to a person. A block that
cannot be interpreted is left out; the raw view has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, cast

import msgspec

from callblocks.core.blocks import Block, Entry
from callblocks.core.call_text import format_size, show_call
from callblocks.core.json_values import json_text
from callblocks.core.outcomes import without_managed
from callblocks.timeline.codec.outcome_blocks import read_digest, read_object
from callblocks.timeline.log.transfer import gap_of, missing_words
from callblocks.views.chat.chat import CallGroup
from callblocks.views.chat.chat import GroupedCall as GroupEntry
from callblocks.views.rows import visible_line

__all__ = (
    "LONGEST",
    "Batch",
    "Files",
    "Lost",
    "Message",
    "Results",
    "ShownCall",
    "ShownFile",
    "ShownItem",
    "ThoughtEntry",
    "TurnEnded",
    "ending_words",
    "grouped",
    "read_call",
    "shown",
    "why",
)

# --- The end of a turn in one line, from the record of the turn ---
#
# ✗ failed: model_unreachable: no connection to 127.0.0.1:9
# ✗ limited: round_limit: the model was asked as often as it may be
# ■ stopped
# ✗ interrupted: the program ended while the turn ran

_STOPPED = "stopped"


def ending_words(meta: dict[str, Any]) -> str:
    """Return one line about the end of a turn, from its record; "" if it was answered."""
    status = _text(meta, "status") or "failed"
    if status == "answered":
        return ""
    if status == _STOPPED:
        return f"■ {_STOPPED}"
    reason = why(status, _text(meta, "code"), _text(meta, "message"))
    return visible_line(f"✗ {status}: {reason}" if reason else f"✗ {status}")


def why(status: str, code: str, message: str) -> str:
    """Return the reason of an end; a code that only repeats the status is left out."""
    return ": ".join(word for word in (code, message) if word and word != status)


def _text(meta: dict[str, Any], name: str) -> str:
    value = meta.get(name)
    return value if isinstance(value, str) else ""


# --- Files on a timeline: a digest that names one, and the content block at its path ---
#
# The meta of a block marks it as a digest: JSON of a tool that only looks like one does not count.


class ShownFile(msgspec.Struct):
    """A file that a call made, or that the person gave; `image` is its base64."""

    path: str
    mime: str
    size: int | None = None
    text: str = ""
    image: str = ""

    @property
    def about(self) -> str:
        """The path, the type and the size in one line."""
        size = "" if self.size is None else f", {format_size(self.size)}"
        return visible_line(f"{self.path} ({self.mime}{size})")


class Files:
    """Takes blocks in order; `all` are the files that they name, each once."""

    def __init__(self) -> None:
        self.all: list[ShownFile] = []
        self._known: dict[str, ShownFile] = {}

    def take(self, block: Block) -> None:
        """Take a block of a file: its digest or its content."""
        digest = read_digest(block)
        if digest is None:
            self.fill(block)
        else:
            self.name(digest)

    def name(self, digest: dict[str, Any]) -> None:
        """Take what a digest says."""
        size, mime = digest.get("size_bytes"), digest.get("mime")
        file = self._file(str(digest.get("artifact_path")))
        file.size = size if isinstance(size, int) else file.size
        file.mime = mime if isinstance(mime, str) else file.mime

    def fill(self, block: Block) -> None:
        """Take a content."""
        file = self._file(block.path)
        file.mime, file.text = block.mime, block.text or ""
        file.image = (block.base64 or "") if block.mime.startswith("image/") else ""

    def _file(self, path: str) -> ShownFile:
        if path not in self._known:
            self._known[path] = ShownFile(path, "application/octet-stream")
            self.all.append(self._known[path])
        return self._known[path]


# --- A call on a timeline as a chat shows it: one line, and its results ---
#
# Result blocks and notices are taken in any order. The digest of a file is no result, and a failure
# is shown once.

_ERRORS = ("tool_call_error", "tool_result_error")
_RUNTIME_ERROR, _NO_ERROR = "Runtime error: ", "Runtime error: none"


class ShownCall(msgspec.Struct):
    """A call in one line, and its results; `result` is None while there is none.

    `approved` is true if the call ran because a person approved it.
    """

    seq: int
    name: str
    line: str
    code: str = ""
    result: str | None = None
    failed: bool = False
    approved: bool = False
    granted: int = 0
    notices: list[str] = []
    files: list[ShownFile] = []


class Results:
    """Puts result blocks and notices into the fields of a shown call."""

    def __init__(self, call: ShownCall) -> None:
        self._call = call
        self._files = Files()
        call.files = self._files.all

    def take(self, block: Block) -> None:
        """Take a result, a digest or a notice of the call, or a person's answer to its approval."""
        if block.type == "timeline.approval":
            self._answered(block)
        elif block.type == "react.notice":
            self._notice(block)
        elif (digest := read_digest(block)) is not None:
            self._digest(digest)
        elif block.path.startswith("fi:"):
            self._files.fill(block)
        else:
            self._content(block.text or "")

    def _answered(self, block: Block) -> None:
        minutes, is_yes = block.meta.get("minutes"), block.meta.get("approved") is True
        if is_yes and isinstance(minutes, int):
            self._call.granted = minutes
        self._call.approved |= is_yes

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
        words = str(said.get("message") or _words(said) or block.text or "")
        if said.get("code") not in _ERRORS:
            self._call.notices.append(words)
        elif not self._call.failed:
            self._fail(words)

    def _fail(self, words: str) -> None:
        self._call.failed, self._call.result = True, words


def _words(notice: dict[str, Any]) -> str:
    """A notice that has no message, as JSON."""
    return json_text(without_managed(notice)) if notice else ""


def read_call(entry: Entry) -> ShownCall:
    """Return the call of a block, without its results."""
    said = read_object(entry.block)
    name, params = said.get("tool_id"), said.get("params")
    name = name if isinstance(name, str) and name else entry.block.tool_id or "call"
    known = cast("dict[str, Any]", params) if isinstance(params, dict) else {}
    return ShownCall(entry.seq, name, show_call(name, known)[0])


# --- A timeline as a chat: messages, and the calls between them with their results ---

Who: TypeAlias = Literal["user", "assistant"]
LONGEST = 20_000
"""Characters of one text of a tool that stand in a page; all of it is in the timeline."""

_NAMES: dict[Who, str] = {"user": "User", "assistant": "Assistant"}


class Batch(msgspec.Struct):
    """Consecutive calls, with no message between them."""

    turn: str
    calls: list[ShownCall]


class Message(msgspec.Struct):
    """A message of the person or a model, and the files attached to it.

    `member` names the member of a team that wrote it; `is_cut` is true if the message broke off.
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
        """The name of the author, for a heading."""
        return self.member or _NAMES[self.who]


class Lost(msgspec.Struct):
    """An unreadable block, or a gap where blocks are missing; `words` say which."""

    seq: int
    turn: str
    words: str


class TurnEnded(msgspec.Struct):
    """The end of a turn that was not answered; `words` give its status and the reason."""

    seq: int
    turn: str
    words: str


class ThoughtEntry(msgspec.Struct):
    """The reasoning of a model before a message or a call."""

    seq: int
    turn: str
    text: str


ShownItem: TypeAlias = Message | Batch | Lost | TurnEnded | ThoughtEntry


def shown(entries: Iterable[Entry], *, thoughts: bool = False) -> list[ShownItem]:
    """Return a timeline, or a part of one, as a chat; with `thoughts`, include the reasoning."""
    chat = _Chat(thoughts)
    for entry in entries:
        chat.take(entry)
    return chat.items


def grouped(batch: Batch) -> CallGroup:
    """Return a batch as the group of calls that a chat draws.

    Without any other result, the files of a call stand for its result.
    """
    return CallGroup(
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
        """Insert the reasoning of a call block before the message that precedes the call."""
        block = entry.block
        reasoning = block.meta.get("reasoning")
        if not self._thoughts or not isinstance(reasoning, str) or not reasoning.strip():
            return
        is_noted = self._noted == (block.turn_id, block.call_id)
        is_noted = is_noted and bool(self.items) and isinstance(self.items[-1], Message)
        at = len(self.items) - is_noted
        self.items.insert(at, ThoughtEntry(entry.seq, block.turn_id, reasoning))

    def _end(self, entry: Entry) -> None:
        if words := ending_words(entry.block.meta):
            self.items.append(TurnEnded(entry.seq, entry.block.turn_id, words))

    def _lose(self, entry: Entry) -> None:
        """Add a lost block to the turn before it: its own turn is unknown."""
        gap = gap_of(entry)
        words = missing_words(*gap) if gap else f"block {entry.seq} cannot be read"
        turn = self.items[-1].turn if self.items else ""
        self.items.append(Lost(entry.seq, turn, f"{words[0].upper()}{words[1:]}."))

    def _attach(self, entry: Entry) -> None:
        """Put all files of a turn where the first of them came."""
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
    """Return the member of a team that wrote a block; "" without a team."""
    member = block.meta.get("member")
    return member if isinstance(member, str) else ""
