"""The messages of a chat, for a page that loads it: what was said, and what came of the calls.

    [{"id": "turn_1.user", "role": "user", "parts": […]}, {"id": "turn_1", "role": "assistant", …}]

The message of the turn that runs is left out: its stream brings all of it, and a client of version
5 would have it twice. A turn that was interrupted is shown as far as the timeline has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import to_builtins

from callblocks.core.blocks import Block, Entry
from callblocks.core.events import TurnEnded, TurnEvent
from callblocks.timeline.branches import Branches, Versions
from callblocks.timeline.codec.outcome_blocks import read_digest
from callblocks.views.replay import Replay, replayed
from callblocks.views.ui.ai_sdk.stream import UiStream
from callblocks.views.ui.ai_sdk.ui_chunks import Chunk, Version

__all__ = (
    "prompt_id",
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
