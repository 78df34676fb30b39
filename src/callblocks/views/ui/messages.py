"""The messages of a chat, for a page that loads it: what was said, and what came of the calls.

    [{"id": "turn_1.user", "role": "user", "parts": […]}, {"id": "turn_1", "role": "assistant", …}]

The message of the turn that runs is left out: its stream brings all of it, and a client of version
5 would have it twice. A turn that was interrupted is shown as far as the timeline has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from callblocks.model.blocks import Block, Entry
from callblocks.model.turn_events import TurnEnded, TurnEvent
from callblocks.views.replay import Replay, replayed
from callblocks.views.timeline.files import read_digest
from callblocks.views.ui.chunks import Version
from callblocks.views.ui.reduced import reduced
from callblocks.views.ui.stream import UiStream

__all__ = ("prompt_id", "reply_id", "ui_messages")


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
) -> list[dict[str, Any]]:
    """The messages of the turns in these entries; `replay` may know of more than they say.

    `running` is the turn that a stream brings, `interrupted` one that was, and has no end.
    """
    turns: dict[str, list[Entry]] = {}
    for entry in entries:
        turns.setdefault(entry.block.turn_id, []).append(entry)
    found: list[dict[str, Any]] = []
    for turn, of_turn in turns.items():
        found += _prompt(turn, [entry.block for entry in of_turn])
        events = list(replay(of_turn))
        if not _is_over(events) and turn == running:
            continue
        if not _is_over(events) and turn == interrupted:
            events.append(TurnEnded(turn=turn, status="interrupted", code="interrupted"))
        found += _reply(turn, events, version)
    return found


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
