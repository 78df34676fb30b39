"""The stamp of a call on its timeline: which of its paths are free, and what time it is.

    first call abc of turn_1         tc:turn_1.abc.call
    abc again, once that has ended   tc:turn_1.abc-2.call

Models number their calls anew in each text, and a turn may have many: no two calls of one turn
share a path.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count

from callblocks.model.errors import BadPath
from callblocks.model.paths import CallPath, call_segment, is_turn_id
from callblocks.timeline.plain_json import whole
from callblocks.timeline.stamp import Stamp
from callblocks.timeline.state import State

__all__ = ("moment", "stamp_of")


def stamp_of(state: State, turn: str, call_id: str | None, tool: str, seconds: float) -> Stamp:
    """The stamp of what happens now, in a turn or in a call; no turn is a `BadPath`."""
    if not is_turn_id(turn):
        raise BadPath(turn, "is no turn; use letters, digits, _ and -")
    call = "" if call_id is None else _segment(state, turn, call_id)
    return Stamp(turn, call, tool, moment(seconds))


def moment(seconds: float) -> str:
    """A time since the epoch as ISO 8601 with a Z."""
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def _segment(state: State, turn: str, id: str) -> str:
    """The id as paths write it: the first that is the call's own, and has no result yet."""
    names = (call_segment(id if number == 1 else f"{id}-{number}") for number in count(1))
    return next(name for name in names if _is_open(state, turn, name, id))


def _is_open(state: State, turn: str, segment: str, id: str) -> bool:
    calls = state.at(str(CallPath(turn, segment, "call")))
    if calls and calls[0].block.meta.get("id", segment) != whole(id):
        return False
    return not state.at(str(CallPath(turn, segment, "result")))
