"""Steps of a call as blocks, at a state of the timeline.

An id that a turn uses for a second call, with another tool or input or after the first has ended,
is `<id>-2` there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from msgspec.structs import replace

from callblocks.core.blocks import Block
from callblocks.core.calls import Call, CheckedCall
from callblocks.core.errors import BadPath
from callblocks.core.json_values import whole
from callblocks.core.outcomes import Outcome
from callblocks.core.paths import CALL_PATH, Part, call_segment, is_turn_id
from callblocks.timeline.codec.call_blocks import (
    Shape,
    Stamp,
    call_blocks,
    checked_of,
    input_digest,
    params_of,
    shape_of,
    with_meta,
)
from callblocks.timeline.codec.ended_call import Holdings, notes_block
from callblocks.timeline.codec.outcome_blocks import emit, result_blocks
from callblocks.timeline.timeline import CallKey, State, Uses

__all__ = (
    "CallSteps",
    "Check",
    "is_written",
    "moment",
    "seconds_since",
    "stamp_of",
    "stamp_of_call",
    "stamp_of_next",
    "stamp_of_running",
)

Check: TypeAlias = Callable[[Call], CheckedCall | None]
"""Checks the input of a call; `None` where its tool is unknown or refuses the input."""

# --- The stamp of a call on its timeline: the first free path, and the time ---
#
#     first call abc of turn_1         tc:turn_1.abc.call
#     abc again, for another call      tc:turn_1.abc-2.call
#     tool-call-1                      tc:turn_1.tc_0123456789ab.call
#
# A call is identical to one on the timeline if tool and input are equal, and that one has no result
# yet. Models number their calls anew in each text, and a turn may have many texts: no two calls of
# one turn share a path.


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
    uses.free = uses.free or _segment(turn, id, uses.taken + 1)
    while _is_taken(state, turn, uses.free):
        uses.taken += 1
        uses.running.append(uses.free)
        uses.free = _segment(turn, id, uses.taken + 1)
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
    return _uses(state, turn, id).free


def _is_taken(state: State, turn: str, segment: str) -> bool:
    return any(state.has(_path(turn, segment, part)) for part in ("call", "result"))


def _path(turn: str, segment: str, part: Part) -> str:
    return CALL_PATH.format(turn=turn, call=segment, part=part)


# --- Steps of a call as blocks, at a state of the timeline ---


class CallSteps:
    """A maker of blocks, which writes none.

    `brought` are the blocks that running calls will bring; `checked` are those calls as they were
    checked, as far as the caller passed that when they started.
    """

    def __init__(
        self,
        state: State,
        holdings: Holdings,
        shapes: Mapping[str, Shape] | None,
        clock: Callable[[], float],
    ) -> None:
        self.brought: dict[CallKey, list[Block]] = {}
        self.checked: dict[CallKey, CheckedCall] = {}
        self._started: dict[tuple[str, str], tuple[Call, str]] = {}
        # The call that was named last, at which end of the timeline, and its name in paths.
        self._named: tuple[str, Call, int, str] | None = None
        self._state = state
        self._holdings = holdings
        self._shapes = shapes
        self._clock = clock

    def notes(self, turn: str, call: Call | str, text: str, meta: Mapping[str, Any]) -> list[Block]:
        """Return the block of the model's text before a call, once."""
        if isinstance(call, Call):
            stamp = self._stamp(turn, call)
        else:
            stamp = stamp_of_next(self._state, turn, call, self._clock())
        block = with_meta(notes_block(stamp, text, self._holdings), meta)
        written = self._state.at(block.path)
        return [] if written and written[-1].block.text == block.text else [block]

    def started(
        self, turn: str, call: Call, meta: Mapping[str, Any], checked: CheckedCall | None
    ) -> list[Block]:
        """Return the blocks of a call before it runs; none where it is on the timeline already."""
        stamp = self._stamp(turn, call)
        key = (stamp.turn, stamp.call)
        # Blocks that an earlier run of the call left do not belong to this one.
        self.brought.pop(key, None)
        if checked is not None:
            self.checked[key] = checked
        self._started[turn, call.id] = call, stamp.call
        if is_written(self._state, stamp):
            return []
        shape, keep = self._shape(call, checked), self._holdings.artifacts
        return _marked(call_blocks(stamp, call, shape, keep, checked), meta)

    def ended(
        self,
        turn: str,
        call: Call,
        outcome: Outcome,
        meta: Mapping[str, Any],
        checked: CheckedCall | Check | None,
        origins: Mapping[str, Any],
    ) -> list[Block]:
        """Return the blocks of a call's outcome; of the call too, where it is not on the
        timeline.
        """
        stamp = self._stamp(turn, call)
        if not isinstance(checked, CheckedCall):
            checked = self._known(stamp, call, checked)
        # A call that was recorded before it ran needs only its results; one that was refused at
        # once was never recorded, so call and results are written together.
        write = result_blocks if is_written(self._state, stamp) else emit
        blocks = write(
            call,
            outcome,
            stamp=stamp,
            shape=self._shape(call, checked),
            holdings=self._holdings,
            checked=checked,
            brought=self.brought.get((stamp.turn, stamp.call), []),
        )
        return _with_origins(_marked(blocks, meta), origins)

    def forget(self, key: CallKey, id: str) -> None:
        """Forget a call that has ended."""
        self.brought.pop(key, None)
        self.checked.pop(key, None)
        self._started.pop((key[0], id), None)

    def settled(
        self,
        block: Block,
        outcome: Outcome,
        checked: CheckedCall | None,
        origins: Mapping[str, Any],
    ) -> list[Block]:
        """Return the outcome blocks of a call that another program left, by its block."""
        call = Call(id=block.call_id, name=block.tool_id, input=params_of(block))
        turn, now = block.turn_id, moment(self._clock())
        stamp = Stamp(turn, block.call_id, block.tool_id, now, self._state.turns)
        if self._state.has(stamp.path("result")):
            return []
        checked = checked or checked_of(block)
        blocks = result_blocks(
            call,
            outcome,
            stamp=stamp,
            shape=self._shape(call, checked),
            holdings=self._holdings,
            checked=checked,
        )
        return _with_origins(blocks, origins)

    def _known(self, stamp: Stamp, call: Call, check: Check | None) -> CheckedCall | None:
        """Return the call as it runs: as `started` was told, else as `check` finds it, else as its
        block on the timeline says.

        The block has the kind of the results, which holds for the input as written. It does not
        have the input of a tool that the written one stands for.
        """
        checked = self.checked.get((stamp.turn, stamp.call))
        if checked is None and check is not None:
            checked = check(call)
        if checked is not None or not is_written(self._state, stamp):
            return checked
        said = checked_of(self._state.at(stamp.path("call"))[0].block)
        return replace(said, input=call.input) if said.name == stamp.tool else None

    def _stamp(self, turn: str, call: Call) -> Stamp:
        """Return the stamp of a call; that of a running call which this program started is
        remembered.
        """
        started, segment = self._started.get((turn, call.id), (None, ""))
        if started is call:
            stamp = Stamp(turn, segment, call.name, moment(self._clock()), self._state.turns)
            has = self._state.has
            if has(stamp.path("call")) and not has(stamp.path("result")):
                return stamp
        # The notes of a call and the call itself are written together: it is named once for both.
        named, last = self._named, self._state.last
        if named is not None and named[:3] == (turn, call, last) and named[1] is call:
            return Stamp(turn, named[3], call.name, moment(self._clock()), self._state.turns)
        stamp = stamp_of_call(self._state, turn, call, self._clock())
        self._named = turn, call, last, stamp.call
        return stamp

    def _shape(self, call: Call, checked: CheckedCall | None) -> Shape:
        return shape_of(call.name, self._shapes, checked)


def _marked(blocks: Iterable[Block], meta: Mapping[str, Any]) -> list[Block]:
    """Return the blocks of a call, with more in the meta of the call itself."""
    is_call = "react.tool.call"
    return [with_meta(block, meta) if block.type == is_call else block for block in blocks]


def _with_origins(blocks: Iterable[Block], origins: Mapping[str, Any]) -> list[Block]:
    """Return the blocks of a call, with `origins` in the meta of the first result."""
    listed = list(blocks)
    results = (at for at, block in enumerate(listed) if block.type == "react.tool.result")
    at = next(results, None)
    if origins and at is not None:
        listed[at] = with_meta(listed[at], origins)
    return listed
