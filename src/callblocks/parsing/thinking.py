"""Reasoning that a pair of markers wraps: `<think>…</think>`. A mention of a call in it is none.

Some models call tools in the middle of a thought and never close it. Where a dialect says so, a
complete call of a known tool ends the thought: it is read aside first (`trial`), and nothing of
it is said before that is sure. A closing marker that comes after such a call is markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeAlias

from callblocks.model.events import Reasoning
from callblocks.parsing.block import Block, Refused
from callblocks.parsing.markers import Markers, Shape, line
from callblocks.parsing.reader import Reader
from callblocks.parsing.stage import Reading, Stage
from callblocks.parsing.trial import try_call

__all__ = ("Pairs", "Thinking", "ThoughtEnd")

Pairs: TypeAlias = tuple[tuple[str, str], ...]
"""What opens a thought, and what closes it."""


_FENCE = line("```")
_CODE = Markers(_FENCE, "`")


class Thinking:
    """Text up to a closing marker, to a call that ends it, or to the end, is what was thought."""

    name: ClassVar = "reasoning"

    def __init__(
        self,
        closings: tuple[str, ...],
        enders: Sequence[tuple[Reader, Sequence[str | Shape]]] = (),
        *,
        openings: tuple[str, ...] = (),
        only_first: bool = False,
    ) -> None:
        self._closing = Markers(*closings)
        self._openings = Markers(*openings)
        self._enders = [(reader, Markers(*openers)) for reader, openers in enders]
        calls = (opener for _, openers in enders for opener in openers)
        self._stops = Markers(*closings, *calls, *_CODE.shapes)
        self._span_end = Markers("`", "\n", *closings)
        self._fence_end = Markers(_FENCE, *closings)
        self._only_first = only_first

    def read(self, block: Block) -> Reading[Refused | None]:
        if self._only_first and not block.at_start:
            return block.refuse()
        block.stage.say(Reasoning("", block.stage.span()))
        yield from self._think(block.stage, block.at_start)
        return None

    def go_on(self, stage: Stage) -> Reading[None]:
        """Read a thought that was opened before the text; its opening may be said again."""
        opening, certain = stage.scan.match(self._openings)
        while not certain:
            yield
            opening, certain = stage.scan.match(self._openings)
        if opening:
            stage.scan.take(stage.scan.pos + len(opening))
            stage.say(Reasoning("", stage.span()))
        yield from self._think(stage, at_start=True)

    def _think(self, stage: Stage, at_start: bool) -> Reading[None]:
        stops = self._stops if stage.tools else self._closing
        barred: dict[Reader, float] = {}
        while (yield from stage.stream(stops, Reasoning)) is not None:
            marker, _ = stage.scan.match(self._closing)
            if marker is not None:
                stage.scan.take(stage.scan.pos + len(marker))
                stage.say(Reasoning("", stage.span()))
                break
            if (yield from self._calls(stage, barred)):
                stage.unclosed = True
                break
            if not (yield from self._quotes(stage)):
                _pass(stage, 1)
        # What follows a thought that came first still stands at the start of the text.
        stage.solid = not at_start
        stage.scan.fresh = at_start

    def _calls(self, stage: Stage, barred: dict[Reader, float]) -> Reading[bool]:
        """Whether a complete call of a known tool begins right here."""
        start = stage.scan.offset
        for reader, openers in self._enders:
            marker, certain = stage.scan.match(openers)
            while not certain:
                yield
                marker, certain = stage.scan.match(openers)
            if marker is None or barred.get(reader, 0) > start:
                continue
            found, barred[reader] = yield from try_call(stage, reader, marker, self._closing)
            if found:
                return True
        return False

    def _quotes(self, stage: Stage) -> Reading[bool]:
        """Whether code stands right here, where a call is only a mention; then take it."""
        opening, _ = stage.scan.match(_CODE)
        if opening is None:
            return False
        _pass(stage, len(opening))
        ends = self._span_end if opening == "`" else self._fence_end
        if (yield from stage.stream(ends, Reasoning)) is not None:
            ending, _ = stage.scan.match(_CODE)
            _pass(stage, len(ending or ""))
        return True


def _pass(stage: Stage, count: int) -> None:
    """Say so many characters as what is thought."""
    if count:
        text = stage.scan.take(stage.scan.pos + count)
        stage.say(Reasoning(text, stage.span()))


class ThoughtEnd:
    """A closing marker that carries nothing: the first of the text, or one after a call.

    Where the prompt opens a thought, a text may begin with its end. A call may have ended the
    thought before its marker came.
    """

    name: ClassVar = "reasoning"

    def read(self, block: Block) -> Reading[Refused | None]:
        yield from ()  # a reader is a generator, also one that needs no more text
        stage = block.stage
        if not stage.unclosed and not block.at_start:
            return block.refuse()
        stage.unclosed = False
        stage.say(Reasoning("", stage.span()))
        stage.solid, stage.scan.fresh = not block.at_start, block.at_start
        return None
