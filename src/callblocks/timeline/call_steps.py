"""Steps of a call as blocks, at a state of the timeline.

An id that a turn uses for a second call, with another tool or input or after the first has ended,
is `<id>-2` there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from callblocks.model.blocks import Block
from callblocks.model.calls import Call, CheckedCall
from callblocks.model.outcomes import Outcome
from callblocks.timeline.emitting.call_blocks import call_blocks, checked_of, params_of
from callblocks.timeline.emitting.emit import emit, result_blocks
from callblocks.timeline.emitting.holdings import Holdings
from callblocks.timeline.emitting.messages import notes_block
from callblocks.timeline.emitting.shapes import Shape, shape_of
from callblocks.timeline.rounds import CallKey
from callblocks.timeline.stamp import Stamp, with_meta
from callblocks.timeline.stamping import is_written, moment, stamp_of_call, stamp_of_next
from callblocks.timeline.state import State

__all__ = ("CallSteps",)


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
        checked: CheckedCall | None,
        origins: Mapping[str, Any],
    ) -> list[Block]:
        """Return the blocks of a call's outcome; of the call too, where it is not on the
        timeline.
        """
        stamp = self._stamp(turn, call)
        checked = checked or self._known(stamp, call)
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

    def forget(self, key: CallKey) -> None:
        """Forget a call that has ended."""
        self.brought.pop(key, None)
        self.checked.pop(key, None)

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

    def _known(self, stamp: Stamp, call: Call) -> CheckedCall | None:
        """Return the call as it runs: as this program was told, else as its block on the timeline
        says.

        The block has the kind of the results, which holds for the input as written. It does not
        have the input of a tool that the written one stands for.
        """
        checked = self.checked.get((stamp.turn, stamp.call))
        if checked is not None or not is_written(self._state, stamp):
            return checked
        said = checked_of(self._state.at(stamp.path("call"))[0].block)
        return replace(said, input=call.input) if said.name == stamp.tool else None

    def _stamp(self, turn: str, call: Call) -> Stamp:
        return stamp_of_call(self._state, turn, call, self._clock())

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
