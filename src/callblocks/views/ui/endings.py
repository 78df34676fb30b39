"""How a turn ended, as the last chunks of its message.

    answered                       message-metadata  finish
    stopped                        message-metadata  abort  finish
    limited, failed, interrupted   message-metadata  error  finish

A client reads nothing after an `error`, and keeps all that came before it. How a member of a team
stands is a part of the message, which the next one replaces:

    data-member   {"name": "critic", "status": "speaking"}
"""

from __future__ import annotations

from typing import Any

from callblocks.model.turn_events import Status, TurnEnded
from callblocks.timeline.codes import TIMELINE_CODES
from callblocks.timeline.plain_json import whole
from callblocks.views.ui.chunks import Chunk

__all__ = ("ending", "member_part")

_FAULTS: dict[Status, str] = {
    "limited": "The turn reached a limit",
    "failed": "The turn failed",
    "interrupted": "The turn was interrupted",
}


def ending(event: TurnEnded) -> list[Chunk]:
    """The last chunks, after all parts are ended."""
    chunks: list[Chunk] = [{"type": "message-metadata", "messageMetadata": _metadata(event)}]
    if event.status == "stopped":
        chunks.append({"type": "abort"})
    elif event.status in _FAULTS:
        message = _told(event)
        why = f": {message}" if message else ""
        words = whole(f"{_FAULTS[event.status]}{why}".rstrip("."))
        chunks.append({"type": "error", "errorText": f"{words}."})
    return [*chunks, {"type": "finish"}]


def member_part(name: str, ended: TurnEnded | None = None) -> Chunk:
    """How a member stands: it speaks, or how that ended."""
    told = {"name": whole(name), "status": "speaking"}
    if ended is not None:
        why = {"code": whole(ended.code), "message": whole(_told(ended))}
        told |= {"status": ended.status, **{key: said for key, said in why.items() if said}}
    return {"type": "data-member", "id": whole(name), "data": told}


def _told(event: TurnEnded) -> str:
    """Why it ended; the words of a store name places on its machine, which are not for a client."""
    return TIMELINE_CODES.get(event.code, event.message)


def _metadata(event: TurnEnded) -> dict[str, Any]:
    metadata: dict[str, Any] = {"turn": whole(event.turn), "status": event.status}
    if event.code:
        metadata["code"] = whole(event.code)
    if event.tokens_in or event.tokens_out:
        metadata["tokens"] = {"in": event.tokens_in, "out": event.tokens_out}
    return metadata
