"""The messages of a chat, for a page that loads it: what was said, and what came of the calls.

    [{"id": "turn_1.user", "role": "user", "parts": […]}, {"id": "turn_1", "role": "assistant", …}]

The message of the turn that runs is left out: its stream brings all of it, and a client of version
5 would have it twice. A turn that was interrupted is shown as far as the timeline has it.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import to_builtins

from callblocks.core.blocks import Block, Entry
from callblocks.core.errors import CallerError
from callblocks.core.events import TurnEnded, TurnEvent
from callblocks.core.text import brief
from callblocks.timeline.branches import Branches, Versions
from callblocks.timeline.codec.outcome_blocks import read_digest
from callblocks.views.replay import Replay, replayed
from callblocks.views.ui.ai_sdk.stream import UiStream
from callblocks.views.ui.ai_sdk.tool_parts import Chunk, Version

__all__ = (
    "Posted",
    "PostedAnswer",
    "PostedFile",
    "prompt_id",
    "read_posted",
    "reduced",
    "reply_id",
    "turn_of_message",
    "ui_messages",
)

# --- Chunks put together to the message that a client has after them ---
#
# It is what the clients themselves do, for a page that loads a chat: the message is the same,
# whether a client read the stream or got it whole.


def reduced(chunks: Iterable[Chunk]) -> dict[str, Any]:
    """The assistant's message of a stream, without what stands only in passing."""
    message = _Message()
    for chunk in chunks:
        message.take(chunk)
    return {"id": message.id, "role": "assistant", **message.metadata, "parts": message.parts}


class _Message:
    def __init__(self) -> None:
        self.id = ""
        self.metadata: dict[str, Any] = {}
        self.parts: list[dict[str, Any]] = []
        # Parts by what chunks call them.
        self._texts: dict[str, dict[str, Any]] = {}
        self._calls: dict[str, dict[str, Any]] = {}
        self._asked: dict[str, dict[str, Any]] = {}
        self._data: dict[tuple[str, str], dict[str, Any]] = {}

    def take(self, chunk: Chunk) -> None:
        if chunk["type"].startswith("data-"):
            self.set_data(chunk)
        elif (take := _TAKES.get(chunk["type"])) is not None:
            take(self, chunk)

    def start(self, chunk: Chunk) -> None:
        self.id = chunk["messageId"]
        if "messageMetadata" in chunk:
            self.describe(chunk)

    def describe(self, chunk: Chunk) -> None:
        known = self.metadata.get("metadata", {})
        self.metadata = {"metadata": {**known, **chunk["messageMetadata"]}}

    def step(self, _: Chunk) -> None:
        self._add({"type": "step-start"})

    def begin_text(self, chunk: Chunk) -> None:
        part = {"type": chunk["type"].removesuffix("-start"), "text": "", "state": "streaming"}
        self._texts[chunk["id"]] = self._add({**part, **_metadata(chunk, "providerMetadata")})

    def add_text(self, chunk: Chunk) -> None:
        self._texts[chunk["id"]]["text"] += chunk["delta"]

    def end_text(self, chunk: Chunk) -> None:
        self._texts.pop(chunk["id"])["state"] = "done"

    def begin_call(self, chunk: Chunk) -> None:
        named = {key: chunk[key] for key in ("toolCallId", "toolName", "providerExecuted")}
        part = self._add({"type": "dynamic-tool", **named, "state": "input-streaming"})
        self._calls[chunk["toolCallId"]] = part

    def fill_call(self, chunk: Chunk) -> None:
        if chunk["toolCallId"] not in self._calls:
            self.begin_call(chunk)
        part = self._calls[chunk["toolCallId"]]
        part |= {key: chunk[key] for key in ("input", "providerExecuted")}
        part["state"] = "input-available"
        part |= _metadata(chunk, "callProviderMetadata")

    def end_call(self, chunk: Chunk) -> None:
        part = self._calls[chunk["toolCallId"]]
        part["state"] = chunk["type"].removeprefix("tool-")
        part |= {key: chunk[key] for key in ("output", "errorText") if key in chunk}

    def ask(self, chunk: Chunk) -> None:
        part = self._calls[chunk["toolCallId"]]
        part |= {"state": "approval-requested", "approval": {"id": chunk["approvalId"]}}
        self._asked[chunk["approvalId"]] = part

    def answer(self, chunk: Chunk) -> None:
        part = self._asked[chunk["approvalId"]]
        part["state"] = "approval-responded"
        part["approval"] |= {key: chunk[key] for key in ("approved", "reason") if key in chunk}

    def set_data(self, chunk: Chunk) -> None:
        if chunk.get("transient"):
            return
        name = (chunk["type"], chunk["id"])
        if name in self._data:
            self._data[name]["data"] = chunk["data"]
        else:
            self._data[name] = self._add(dict(chunk))

    def _add(self, part: dict[str, Any]) -> dict[str, Any]:
        self.parts.append(part)
        return part


def _metadata(chunk: Chunk, name: str) -> dict[str, Any]:
    return {name: chunk["providerMetadata"]} if "providerMetadata" in chunk else {}


_TAKES: dict[str, Callable[[_Message, Chunk], None]] = {
    "start": _Message.start,
    "message-metadata": _Message.describe,
    "start-step": _Message.step,
    "text-start": _Message.begin_text,
    "text-delta": _Message.add_text,
    "text-end": _Message.end_text,
    "reasoning-start": _Message.begin_text,
    "reasoning-delta": _Message.add_text,
    "reasoning-end": _Message.end_text,
    "tool-input-start": _Message.begin_call,
    "tool-input-available": _Message.fill_call,
    "tool-output-available": _Message.end_call,
    "tool-output-error": _Message.end_call,
    "tool-output-denied": _Message.end_call,
    "tool-approval-request": _Message.ask,
    "tool-approval-response": _Message.answer,
}


# --- The messages of a chat, for a page that loads it: what was said, and what came of the calls
# ---


def prompt_id(turn: str) -> str:
    """The id of what the person said in a turn."""
    return f"{turn}.user"


def reply_id(turn: str) -> str:
    """The id of the message that a turn is, in its stream as well."""
    return turn


def ui_messages(
    entries: Iterable[Entry],
    version: Version = 5,
    replay: Replay = replayed,
    *,
    running: str = "",
    interrupted: str = "",
    branches: Branches | None = None,
    branch: str = "",
) -> list[dict[str, Any]]:
    """The messages of the turns in these entries; `replay` may know of more than they say.

    `running` is the turn that a stream brings, `interrupted` one that was, and has no end. With
    `branches` only the turns are shown that lead to `branch`; each message has its versions, and
    an answer the model, the dialect and the time that it took.
    """
    hidden = frozenset[str]() if branches is None else branches.hidden(branch)
    turns: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.block.turn_id not in hidden:
            turns.setdefault(entry.block.turn_id, []).append(entry)
    found: list[dict[str, Any]] = []
    for turn, of_turn in turns.items():
        place = len(found)
        found += _prompt(turn, [entry.block for entry in of_turn])
        if branches is not None and turn in branches:
            facts = {"at": of_turn[0].block.ts, **_versions(branches.prompts(turn))}
            for message in found[place:]:
                message["metadata"] |= facts
        events = list(replay(of_turn))
        if not _is_over(events) and turn == running:
            continue
        if not _is_over(events) and turn == interrupted:
            events.append(TurnEnded(turn=turn, status="interrupted", code="interrupted"))
        replies = _reply(turn, events, version)
        if branches is not None and turn in branches:
            facts = {**_facts(of_turn), **_versions(branches.answers(turn))}
            took = _took(of_turn)
            for message in replies:
                message["metadata"] = {**message.get("metadata", {}), **facts}
                _note_seconds(message["parts"], took)
        found += replies
    return found


def turn_of_message(id: str) -> str:
    """The turn of a message with an id that `prompt_id` or `reply_id` gave."""
    return id.removesuffix(".user")


def _versions(versions: Versions) -> dict[str, Any]:
    """Return the versions of a message, where there are several."""
    return {"versions": to_builtins(versions)} if len(versions.turns) > 1 else {}


def _facts(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return what is known of an answer: when it ended, how long it took, who wrote it."""
    first, last = entries[0].block, entries[-1].block
    facts: dict[str, Any] = {"at": last.ts, "seconds": _seconds(first.ts, last.ts)}
    for entry in entries:
        for name in ("model", "dialect"):
            if isinstance(said := entry.block.meta.get(name), str) and said:
                facts[name] = said
    return facts


def _took(entries: Sequence[Entry]) -> dict[str, float]:
    """Return how long each call took, from its block, or the answer of a person, to its result."""
    began: dict[str, str] = {}
    took: dict[str, float] = {}
    for entry in entries:
        block = entry.block
        if block.type in ("react.tool.call", "timeline.approval"):
            began[block.call_id] = block.ts
        elif block.type == "react.tool.result" and block.call_id in began:
            took.setdefault(block.call_id, _seconds(began[block.call_id], block.ts))
    return took


def _note_seconds(parts: Sequence[dict[str, Any]], took: Mapping[str, float]) -> None:
    for part in parts:
        if part["type"] == "dynamic-tool" and part["toolCallId"] in took:
            known = part.get("callProviderMetadata", {})
            own = {**known.get("callblocks", {}), "seconds": took[part["toolCallId"]]}
            part["callProviderMetadata"] = {**known, "callblocks": own}


def _seconds(begin: str, end: str) -> float:
    """Return the seconds between two times; 0 where one of them cannot be read."""
    try:
        took = datetime.fromisoformat(end) - datetime.fromisoformat(begin)
    except ValueError:
        return 0.0
    return max(round(took.total_seconds(), 3), 0.0)


def _prompt(turn: str, blocks: Sequence[Block]) -> list[dict[str, Any]]:
    """The files first, as a client itself puts them."""
    parts = [part for block in blocks for part in _given(block)]
    if not parts:
        return []
    return [{"id": prompt_id(turn), "role": "user", "metadata": {"turn": turn}, "parts": parts}]


def _given(block: Block) -> list[dict[str, Any]]:
    if block.type == "user.prompt":
        return [{"type": "text", "text": block.text or ""}]
    # What a member of a team said is no file of the person.
    is_given = block.type == "user.attachment" and not block.meta.get("member")
    digest = read_digest(block) if is_given else None
    if digest is None or not isinstance(digest.get("sha256"), str):
        return []
    name = digest["artifact_path"].rpartition("/")[2]
    url = f"/api/artifacts/{digest['sha256']}"
    return [{"type": "file", "mediaType": str(digest.get("mime")), "filename": name, "url": url}]


def _reply(turn: str, events: Sequence[TurnEvent], version: Version) -> list[dict[str, Any]]:
    stream = UiStream(version, message_id=reply_id(turn), is_over=True)
    chunks = [chunk for event in events for chunk in stream.feed(event)]
    message = reduced([*chunks, *stream.close()])
    _note_answers(message["parts"])
    return [message] if message["parts"] or _is_over(events) else []


def _note_answers(parts: Sequence[dict[str, Any]]) -> None:
    """Put into each call what was answered: no chunk of version 6 says it, the client knows it."""
    asked = {part["toolCallId"]: part for part in parts if "approval" in part}
    for part in parts:
        said: dict[str, Any] = part["data"] if part["type"] == "data-approval" else {}
        if "approved" in said and said["toolCallId"] in asked:
            words = {"reason": said["answer"]} if "answer" in said else {}
            asked[said["toolCallId"]]["approval"] |= {"approved": said["approved"], **words}


def _is_over(events: Sequence[TurnEvent]) -> bool:
    return any(isinstance(event, TurnEnded) and not event.member for event in events[-1:])


# --- The body that a client posts: the person's last message, and their answers to approvals ---
#
#     {"id": "chat", "trigger": "submit-message", "messages": [… {"role": "user", "parts": […]}]}
#
# A client posts its whole history. The rest of it is not trusted: earlier messages and calls are
# read from the timeline.


_MAX_PARTS = 1000
_MAX_FILES = 50


class PostedFile(msgspec.Struct, frozen=True):
    """A file that the person gives; `mime` is what the client says it is."""

    name: str
    mime: str
    content: bytes


class PostedAnswer(msgspec.Struct, frozen=True):
    """The person's answer to an approval."""

    approval: str
    approved: bool
    reason: str = ""


class Posted(msgspec.Struct, frozen=True, kw_only=True):
    """`text` is None where the person said nothing new; `trigger` is why the client posts."""

    chat: str = ""
    trigger: str = ""
    message_id: str = ""
    text: str | None = None
    files: tuple[PostedFile, ...] = ()
    answers: tuple[PostedAnswer, ...] = ()


def read_posted(body: object) -> Posted:
    """Read a body, as JSON or decoded; what is none raises `CallerError`."""
    said = _object(_decoded(body), "the body")
    messages = [
        _object(one, f"messages[{at}]")
        for at, one in enumerate(_list(said, "messages", "messages"))
    ]
    if not messages:
        raise CallerError("messages is empty: it ends with what the person says")
    last, place = messages[-1], f"messages[{len(messages) - 1}]"
    answers = tuple(_answers(messages))
    text, files = _posted_prompt(last, place) if last.get("role") == "user" else (None, ())
    if text is None and not answers:
        raise CallerError("there is nothing to answer: the last message is not of the user")
    return Posted(
        chat=_text(said, "id"),
        trigger=_text(said, "trigger"),
        message_id=_text(said, "messageId"),
        text=text,
        files=files,
        answers=answers,
    )


def _posted_prompt(message: dict[str, Any], place: str) -> tuple[str, tuple[PostedFile, ...]]:
    where = f"{place}.parts"
    given = _list(message, "parts", where, ' such as [{"type": "text", "text": "Hello"}]')
    parts = [_object(part, f"{where}[{at}]") for at, part in enumerate(given)]
    _check_count(len(parts), _MAX_PARTS, "parts")
    _check_count(sum(map(_is_file, parts)), _MAX_FILES, "files")
    text = "\n\n".join(_text(part, "text") for part in parts if part.get("type") == "text")
    files = tuple(_file(part, at) for at, part in enumerate(parts, 1) if _is_file(part))
    if not text.strip() and not files:
        raise CallerError("the last message says nothing: give it a text part, or a file")
    return text, files


def _check_count(count: int, limit: int, what: str) -> None:
    if count > limit:
        raise CallerError(f"the last message has {count} {what}; send at most {limit} at once")


def _is_file(part: dict[str, Any]) -> bool:
    return part.get("type") == "file"


def _file(part: dict[str, Any], at: int) -> PostedFile:
    url = _text(part, "url")
    name = _text(part, "filename") or f"file-{at}"
    head, comma, content = url.removeprefix("data:").partition(",")
    if not url.startswith("data:") or not comma:
        raise CallerError(f"the file {brief(name)} has no data: URL; send its content in one")
    mime, *settings = head.split(";")
    try:
        raw = content.encode("ascii")
        is_base64 = settings[-1:] == ["base64"]
        read = b64decode(raw, validate=True) if is_base64 else unquote_to_bytes(raw)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise CallerError(f"the file {brief(name)} cannot be read: {error}") from None
    return PostedFile(name, _text(part, "mediaType") or mime, read)


def _answers(messages: Sequence[dict[str, Any]]) -> list[PostedAnswer]:
    """The answers in all messages: the one that asked need not be the last."""
    found: dict[str, PostedAnswer] = {}
    for message in messages:
        parts: Any = message.get("parts") if message.get("role") == "assistant" else None
        for part in cast("list[Any]", parts) if isinstance(parts, list) else ():
            if isinstance(part, dict):
                found |= _answer(cast("dict[str, Any]", part))
    return list(found.values())


def _answer(part: dict[str, Any]) -> dict[str, PostedAnswer]:
    """The answer that a part holds; one that was used up has another state."""
    said: Any = part.get("approval")
    if part.get("state") != "approval-responded" or not isinstance(said, dict):
        return {}
    approval = cast("dict[str, Any]", said)
    id, approved = approval.get("id"), approval.get("approved")
    if not isinstance(id, str) or not isinstance(approved, bool):
        words = "an approval that is answered has an id, and `approved` true or false"
        raise CallerError(f"{words}, not {brief(approval)}")
    reason = approval.get("reason")
    return {id: PostedAnswer(id, approved, reason if isinstance(reason, str) else "")}


def _decoded(body: object) -> object:
    if not isinstance(body, bytes | bytearray | str):
        return body
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise CallerError(f"the body is no JSON: {error}") from None


def _object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise CallerError(f"{what} is a JSON object, not {brief(value)}")
    return cast("dict[str, Any]", value)


def _list(said: dict[str, Any], key: str, where: str, such: str = "") -> list[Any]:
    value: Any = said.get(key)
    if value is None:
        raise CallerError(f"{where} is missing: it is a list{such}")
    if not isinstance(value, list):
        raise CallerError(f"{where} is a list{such}, not {brief(cast('object', value))}")
    return cast("list[Any]", value)


def _text(said: dict[str, Any], key: str) -> str:
    """A text that may be missing."""
    value = said.get(key)
    if value is not None and not isinstance(value, str):
        raise CallerError(f"{key} is a text, not {brief(cast('object', value))}")
    return value or ""
