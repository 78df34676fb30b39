"""Reading a block aside, to know whether it holds a complete call before anything is said.

The trial reads the same text on a stage of its own and is over with the first call that ends, or
that cannot be one. The text is then given back as it was: if it is a call, it is read for good.
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
    """What a trial found: a complete call of a declared tool, or none.

    No other trial by this reader is worth while before `barred`. `name` is the declared tool
    that the text began to call, `size` how much of the text its reader took, and `opened` how much
    of that is its opening.
    """

    is_call: bool
    barred: float
    name: str
    size: int
    opened: int


def try_call(
    stage: Stage, reader: Reader, opening: str, closing: Markers, alone: bool
) -> Reading[Tried]:
    """Read a call aside, up to any `closing`; the text is given back."""
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
    """Say why a trial found no call: by its reader, or since what that read is none to run.

    The text goes on where the trial saw its end: at a closing marker.
    """
    attempt = Attempt(block.dialect, block.opening, scan.offset)
    if not refused:
        block.refuse(expected="a complete call of a declared tool", at=scan.offset)
    expected, _, at = block.refusal()
    begin = at - scan.base
    attempt.refusal = Refusal(expected, scan.text[begin : begin + FOUND], at)
    return attempt


def _slice(stage: Stage, trial: _Trial, closing: Markers) -> Reading[str]:
    """Give the trial a little more text, or tell it that there is no more."""
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
    """An answer, no error: it ends the trial wherever its reader stands."""

    def __init__(self, is_call: bool) -> None:
        self.is_call = is_call


class _Trial(Stage):
    """A stage that hears no more than the first call, and how it was closed.

    `called` says that a call was read that its own marker closed: that it did not is said before
    more text is asked for. Another call right behind it closes it too.
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
                # What follows a call that is complete cannot make it another one: the trial may
                # have read on, or not, by how the text was cut.
                raise _Decided(self.called)
            case Problem(code="repaired-closing"):
                self.called = False
            case _:
                pass

    def settle(self, search: object, speak: Speak | None, keep: Keep | None) -> None:
        """Every piece resumes the reader: nobody hears what it says."""
