"""The stamp of a call on its timeline: the first free path, and the time.

    first call abc of turn_1         tc:turn_1.abc.call
    abc again, for another call      tc:turn_1.abc-2.call
    tool-call-1                      tc:turn_1.tc_0123456789ab.call

A call is identical to one on the timeline if tool and input are equal, and that one has no result
yet. Models number their calls anew in each text, and a turn may have many texts: no two calls of
one turn share a path.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from callblocks.model.blocks import Block
from callblocks.model.calls import Call
from callblocks.model.errors import BadPath
from callblocks.model.paths import CallPath, Part, call_segment, is_turn_id
from callblocks.timeline.emitting.call_blocks import input_digest
from callblocks.timeline.plain_json import whole
from callblocks.timeline.stamp import Stamp
from callblocks.timeline.state import State
from callblocks.timeline.uses import Uses

__all__ = (
    "is_written",
    "moment",
    "seconds_since",
    "stamp_of",
    "stamp_of_call",
    "stamp_of_next",
    "stamp_of_running",
)


def stamp_of(turn: str, seconds: float, tool: str = "") -> Stamp:
    """Return the stamp of an event in a turn, and in no call; raise `BadPath` for an
    invalid turn.
    """
    if not is_turn_id(turn):
        raise BadPath(turn, "is no turn; use letters, digits, _ and -")
    return Stamp(turn, "", tool, moment(seconds))


def stamp_of_call(state: State, turn: str, call: Call, seconds: float) -> Stamp:
    """Return the stamp of a call: where it was written before, else at the first free path."""
    stamp = stamp_of(turn, seconds, call.name)
    own = (one for one, block in _running(state, turn, call.id) if _is_of(block, call))
    return _at(stamp, next(own, None) or _free(state, turn, call.id), state)


def stamp_of_next(state: State, turn: str, id: str, seconds: float) -> Stamp:
    """Return the stamp of the next call with that id, which is not on the timeline yet."""
    return _at(stamp_of(turn, seconds), _free(state, turn, id), state)


def stamp_of_running(state: State, turn: str, id: str, tool: str, seconds: float) -> Stamp:
    """Return the stamp of a running call, for its tool, which knows only the id.

    It is the newest call with that id which has no result, and preferably of that tool: a call that
    stands for the tool has its own name on the timeline, and keeps it.
    """
    running = [(one, block.tool_id) for one, block in _running(state, turn, id)]
    own = [one for one in running if one[1] == whole(tool)] or running
    if not own:
        return _at(stamp_of(turn, seconds, tool), _free(state, turn, id), state)
    segment, name = own[-1]
    return _at(stamp_of(turn, seconds, name), segment, state)


def is_written(state: State, stamp: Stamp) -> bool:
    """Return whether the call of a stamp is on the timeline."""
    return state.has(stamp.path("call"))


def moment(seconds: float) -> str:
    """Return a time since the epoch as ISO 8601 with a Z."""
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def seconds_since(ts: str, seconds: float) -> float:
    """Return the seconds since a moment; 0 for an unreadable one."""
    try:
        return seconds - datetime.fromisoformat(ts).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def _at(stamp: Stamp, call: str, state: State) -> Stamp:
    return Stamp(stamp.turn, call, stamp.tool, stamp.ts, state.turns)


def _segment(turn: str, id: str, at: int) -> str:
    """Return the name in paths of the n-th call that uses an id."""
    return call_segment(turn, id if at == 1 else f"{id}-{at}")


def _uses(state: State, turn: str, id: str) -> Uses:
    """Return the uses of an id, up to the end of the timeline."""
    uses = state.uses[turn, id]
    # Continues where the last lookup stopped: `taken` is cached in the state, so a turn with a
    # thousand calls of one id is not scanned a thousand times.
    while _is_taken(state, turn, segment := _segment(turn, id, uses.taken + 1)):
        uses.taken += 1
        uses.running.append(segment)
    uses.running = [one for one in uses.running if not state.has(_path(turn, one, "result"))]
    return uses


def _running(state: State, turn: str, id: str) -> Iterator[tuple[str, Block]]:
    """Yield the calls of that id that have no result yet, with their places."""
    for segment in _uses(state, turn, id).running:
        block = state.at(_path(turn, segment, "call"))[0].block
        # Two ids can share a hashed segment; the id in the meta tells them apart.
        if block.meta.get("id", segment) == whole(id):
            yield segment, block


def _is_of(block: Block, call: Call) -> bool:
    """Return whether a block is of this very call; a block of another program may lack the
    input.
    """
    said = block.meta.get("input")
    return block.tool_id == whole(call.name) and (said is None or said == input_digest(call))


def _free(state: State, turn: str, id: str) -> str:
    return _segment(turn, id, _uses(state, turn, id).taken + 1)


def _is_taken(state: State, turn: str, segment: str) -> bool:
    return any(state.has(_path(turn, segment, part)) for part in ("call", "result"))


def _path(turn: str, segment: str, part: Part) -> str:
    return str(CallPath(turn, segment, part))
