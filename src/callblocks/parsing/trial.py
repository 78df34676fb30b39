"""A trial: read a block without emitting, to know whether it holds a complete call.

The trial runs the dialect's own reader on a `Stage` of its own, and ends with the first call that
is complete or cannot become one. The scanner is then rewound; if it was a call, the caller reads it
again for good. Why not keep the events of the trial: they are decided with the thought's end as the
end of the text, and the real reader may see more.

The trial gets text in slices, not all that has arrived: a reader that consumed everything before it
refused would make the loop quadratic.
"""

from __future__ import annotations

from typing import NamedTuple

from callblocks.model.events import CallReady, CallStarted, Event, Malformed, Problem
from callblocks.parsing.attempts import FOUND, Attempt, Refusal
from callblocks.parsing.block import Block
from callblocks.parsing.markers import Markers
from callblocks.parsing.reader import Reader
from callblocks.parsing.scanner import Scanner
from callblocks.parsing.stage import Keep, Reading, Speak, Stage

__all__ = ("Tried", "try_call")

SLICE = 256  # a trial looks no further ahead than this beyond what it reads


class Tried(NamedTuple):
    """The result of a trial: whether the text is a complete call of a declared tool.

    Another trial by this reader before the offset `barred` would fail as well. `name` is the
    declared tool that the text began to call, `size` the length that the reader consumed, and
    `opened` the length of the opener.
    """

    is_call: bool
    barred: float
    name: str
    size: int
    opened: int


def try_call(
    stage: Stage, reader: Reader, opening: str, closing: Markers, alone: bool
) -> Reading[Tried]:
    """Try to read a call, at most up to a marker of `closing`; the scanner is rewound."""
    # The reader is driven by hand instead of `yield from`: between two steps the trial gets a slice
    # of text, and the verdict may come as the reader's return, as `_Decided` out of `say`, or as
    # `called`, once the reader asks for more text behind a complete call.
    scan, start, fresh = stage.scan, stage.scan.offset, stage.scan.fresh
    before = scan.before
    trial = _Trial(stage, alone)
    taken = [scan.take(scan.pos + len(opening))]
    trial.scan.feed(taken[0])
    block = Block(trial, reader.name, opening)
    reading, refused = reader.read(block), False
    while True:
        try:
            next(reading)
        except StopIteration as ended:
            verdict, refused = trial.called, bool(ended.value)
            barred = block.barred if refused else trial.scan.offset
            break
        except _Decided as decided:
            verdict, barred = decided.is_call, trial.scan.offset
            break
        if trial.called:
            verdict, barred = True, trial.scan.offset
            break
        taken.append((yield from _slice(stage, trial, closing)))
    scan.rewind(start, taken, fresh, before)
    if stage.attempts is not None and not verdict:
        stage.attempts.append(_attempt(block, scan, refused=refused))
    barred = float("inf") if block.retired else barred
    return Tried(verdict, barred, trial.name, trial.scan.offset - start, len(block.opening))


def _attempt(block: Block, scan: Scanner, *, refused: bool) -> Attempt:
    """Return a record of why a trial found no call.

    `found` is quoted from the real text, which goes on where the trial saw its end.
    """
    attempt = Attempt(block.dialect, block.opening, scan.offset)
    if not refused:
        block.refuse(expected="a complete call of a declared tool", at=scan.offset)
    expected, _, at = block.refusal()
    begin = at - scan.base
    attempt.refusal = Refusal(expected, scan.text[begin : begin + FOUND], at)
    return attempt


def _slice(stage: Stage, trial: _Trial, closing: Markers) -> Reading[str]:
    """Feed one slice to the trial, or close it at a marker of `closing` or at the end."""
    scan = stage.scan
    while True:
        until = min(scan.pos + SLICE, len(scan.text))
        pattern = closing.final if scan.closed and until == len(scan.text) else closing.growing
        hit = pattern.search(scan.text, scan.pos, until)
        end = hit.start() if hit else until
        if end > scan.pos:
            piece = scan.take(end)
            trial.scan.feed(piece)
            return piece
        if scan.closed or (hit and hit.lastindex):
            trial.scan.closed = True
            return ""
        yield


class _Decided(Exception):
    """The verdict of a trial, raised to end its reader wherever that stands."""

    def __init__(self, is_call: bool) -> None:
        self.is_call = is_call


class _Trial(Stage):
    """A state that records the first call, and whether its own marker closed it.

    `called`: a complete call was read. A `repaired-closing` problem behind it takes that back; it
    is emitted before the reader asks for more text, so the verdict is not premature. The start of a
    second call also ends the first.
    """

    def __init__(self, stage: Stage, alone: bool) -> None:
        super().__init__((), stage.limits, strict=stage.strict)
        self.tools, self.solid, self.fence = stage.tools, stage.solid, stage.fence
        self.alone, self.name, self.attempts = alone, "", stage.attempts
        self.called = self._heard = False
        self.scan.base = self.said = stage.scan.offset
        self.scan.fresh = stage.scan.fresh

    def say(self, event: Event) -> None:
        super().say(event)
        match event:
            case CallStarted(name=name) if self._heard or name not in self.tools:
                raise _Decided(self._heard)
            case CallStarted(name=name):
                self.name = name
            case CallReady(call=call) if call.ended:
                self.called = self._heard = True
            case CallReady() | Malformed():
                # Text behind a complete call must not change the verdict: whether the trial read
                # it depends on how the text was cut.
                raise _Decided(self.called)
            case Problem(code="repaired-closing"):
                self.called = False
            case _:
                pass

    def settle(self, search: object, speak: Speak | None, keep: Keep | None) -> None:
        """Do not park: a trial emits nothing, so each slice resumes its reader."""
