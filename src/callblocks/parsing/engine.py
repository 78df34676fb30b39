"""The one parse loop.

The loop is a generator that stops wherever it needs more text. It streams prose up to the
first marker that opens a block, hands the text to whoever owns that marker until the block
ends, and goes on. An owner may find that this was no block after all: then the text is given
back and the next owner is asked; if nobody wants it, its first character is prose.

A refusal may name a place before which its owner opens nothing more. So every character is
read at most once by each owner, and the whole is linear.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache

from msgspec.structs import replace

from callblocks.model.errors import CallerError, NotText, ParserClosed
from callblocks.model.events import Event, Problem, Text
from callblocks.model.specs import ToolSpecs
from callblocks.parsing.attempts import Attempt
from callblocks.parsing.block import Block, UnlikelyName
from callblocks.parsing.fallbacks import Fallback
from callblocks.parsing.ids import Ids
from callblocks.parsing.limits import USUAL, Limits
from callblocks.parsing.openers import BEGINNING, InFences, Openers, Owner, Setting, choose
from callblocks.parsing.quotations import is_quoted
from callblocks.parsing.reader import Reader
from callblocks.parsing.scanner import end_of
from callblocks.parsing.shapes.fence_forms import FENCE_FORMS
from callblocks.parsing.stage import Hit, Reading, Stage
from callblocks.parsing.turn_end import closers_of, read_strays
from callblocks.parsing.unread import UNREAD, ProseLog, find_unread

__all__ = ("Engine", "Owner", "Reader", "Setting")


class Engine(Stage):
    """Fed pieces of text, answers with events. It does no I/O and raises only for the caller."""

    __slots__ = (
        "_barred",
        "_how",
        "_inside",
        "_loop",
        "_named",
        "_opened",
        "_outside",
        "_owners",
        "_preferred",
    )

    def __init__(
        self,
        owners: Sequence[Owner],
        *,
        preferred: Owner | None = None,
        tools: ToolSpecs = (),
        strict: bool = False,
        in_code_fences: InFences = True,
        reasoning: Sequence[tuple[str, str]] = (),
        in_reasoning: bool = False,
        limits: Limits | None = None,
    ) -> None:
        if limits is None:
            limits = USUAL
        elif not isinstance(limits, Limits):  # pyright: ignore[reportUnnecessaryIsInstance] callers err
            raise CallerError(f"limits are `Limits(…)`, not {limits!r:.60}")
        super().__init__(tools, limits, strict=strict)
        self._owners = tuple(owners)
        self._named = _named(self._owners)
        self.alone = len(self._named) == 1
        self._preferred = self._named[0] if self.alone else preferred
        fences: InFences = "whole" if in_code_fences == "whole" else bool(in_code_fences)
        self._how = self._preferred, fences, _pairs(reasoning) if reasoning else ()
        self._outside, self._inside, thinking = choose(self._owners, *self._how)
        self.quotes = self.scan.looks_back = fences is not True
        if in_reasoning and thinking is None:
            raise CallerError("in_reasoning needs `reasoning`: no dialect here names its markers")
        self._opened = thinking if in_reasoning else None
        self._barred: dict[Reader, float] = {}
        if self.tools:
            self.prose_log = ProseLog()
        self._loop = self._run()

    def feed(self, piece: str) -> list[Event]:
        """Take more text; return what it settled."""
        search = self.search
        if search is None:
            return self._feed_reader(piece)
        # A stream without its marker is settled here: this is the path of most pieces.
        text = piece
        try:
            if self.held:
                text, self.held = self.held + piece, ""
            hit = search(text)
        except TypeError:
            raise NotText(piece) from None
        if hit is not None:
            if hit.lastindex:
                return self._advance(text, hit)
            start = hit.start()
            if not start and text:
                self.held = text
                return []
            text, self.held = text[:start], text[start:]
        if not text:
            if not isinstance(piece, str):  # pyright: ignore[reportUnnecessaryIsInstance] callers err
                raise NotText(piece)
            return []
        if self.quotes:
            self.passed.append(text)
        keep, speak = self.keep, self.speak
        if keep is not None:
            keep(text)
        if speak is None:
            self.scan.base += len(text)
            return []
        start = self.said
        self.said = end = start + len(text)
        return [speak(text, (start, end))]

    def close(self) -> list[Event]:
        """The text is over; return what was waiting."""
        if self.scan.closed:
            raise ParserClosed("close() after close(): a new text needs a new parser")
        self.scan.closed = True
        self._advance(self.scan.text if self.search is None else self.held)
        log, self.prose_log = self.prose_log, None
        if log is not None:
            self._report_unread(log)
        return self.out

    def _report_unread(self, log: ProseLog) -> None:
        """Say where a call was meant that nobody read."""
        fences = self._how[1] is not False
        closed = not self.calls and any(owner.calls_end_reasoning for owner in self._owners)
        open_fence = self.said if self.fence else None
        for name, place in find_unread(
            log, self.tools, open_fence, fences=fences, closed_thoughts=closed, quotes=self.quotes
        ):
            detail = f"{name} stands here in the form of a call, and was not read as one"
            self.say(Problem(UNREAD, detail, (self.said, self.said), place))

    def fork(self) -> Engine:
        """A parser for the body of a code fence that begins here; it counts on from this one.

        It has no limit of calls: whoever joins it looks at that.
        """
        owners = _in_fence_bodies(self._owners)
        limits = replace(self.limits, calls=sys.maxsize)
        preferred = self._preferred if self._preferred in owners else None
        inner = Engine(
            (*FENCE_FORMS, *owners), preferred=preferred, strict=self.strict, limits=limits
        )
        inner.tools, inner.ids = self.tools, Ids(self.ids)
        inner.calls, inner.scan.base = self.calls, self.scan.offset
        inner.said = inner.scan.base
        return inner

    def join(self, inner: Engine) -> None:
        """Take over the account of a fork whose calls are said here."""
        self.ids.join(inner.ids)
        self.calls, self.solid = inner.calls, True
        self.ready += inner.ready

    def _feed_reader(self, piece: str) -> list[Event]:
        if not isinstance(piece, str):  # pyright: ignore[reportUnnecessaryIsInstance] callers err
            raise NotText(piece)
        if self.scan.closed:
            raise ParserClosed("feed() after close(): a new text needs a new parser")
        self.scan.feed(piece)
        self.out = []
        next(self._loop, None)
        return self.out

    def _advance(self, text: str, hit: Hit | None = None) -> list[Event]:
        """Let the reader go on with the text that waits."""
        scan = self.scan
        if self.search is not None:
            if self.quotes:
                scan.tail = end_of(reversed(self.passed))
            if self.speak is not None:
                scan.base = self.said
        scan.text, self.search, self.hit = text, None, hit
        self.out = []
        next(self._loop, None)
        return self.out

    def _run(self) -> Reading[None]:
        if self._opened:
            yield from self._opened.go_on(self)
        while True:
            openers = self._inside if self.fence else self._outside
            if (yield from self.stream(openers.markers, Text)) is None:
                return
            yield from self._open(openers)

    def _open(self, openers: Openers) -> Reading[None]:
        scan, start, fresh = self.scan, self.scan.offset, self.scan.fresh
        before, unlikely, longest = scan.before, None, ""
        quoted = self.quotes and (yield from is_quoted(self, before))
        beginning = scan.text[scan.pos : scan.pos + BEGINNING]
        for reader, markers in openers.at(beginning, fresh, quoted=quoted):
            marker, certain = scan.match(markers)
            while not certain:
                yield
                marker, certain = scan.match(markers)
            if marker is None:
                continue
            longest = max(longest, marker, key=len)
            if self._barred.get(reader, 0) > start:
                continue
            block, attempt, calls = Block(self, reader.name, marker), None, len(self.ready)
            if self.attempts is not None:
                attempt = Attempt(reader.name, marker, start)
                self.attempts.append(attempt)
            self.alone = reader is self._preferred or self._named == (reader,)
            try:
                refused = yield from reader.read(block)
            except UnlikelyName as error:
                name = "a name that a tool could have"
                refused = block.refuse(block.offset, expected=name, at=start + len(marker))
                unlikely = error
            self._barred[reader] = block.barred
            if block.retired:
                self._retire(reader)
            if not refused:
                is_call = len(self.ready) > calls and not self.strict
                if is_call and (closers := closers_of(reader)) is not None:
                    yield from read_strays(self, reader.name, closers)
                return
            if attempt:
                attempt.refusal = block.refusal()
            scan.rewind(start, block.taken, fresh, before)
        if self.prose_log is not None and not quoted:
            self.prose_log.refuse(longest, start)
        self.prose(scan.take(scan.pos + 1))
        if unlikely:
            end = self.said
            self.say(Problem("unlikely-name", str(unlikely), (end, end), (start, end)))

    def _retire(self, reader: Reader) -> None:
        self._owners = tuple(owner for owner in self._owners if owner is not reader)
        self._named = _named(self._owners)
        self._outside, self._inside, _ = choose(self._owners, *self._how)


@lru_cache(maxsize=256)
def _in_fence_bodies(owners: tuple[Owner, ...]) -> tuple[Owner, ...]:
    """Return the owners whose calls may be the whole body of a code fence."""
    return tuple(owner for owner in owners if owner.in_fence_bodies)


@lru_cache(maxsize=256)
def _named(owners: tuple[Owner, ...]) -> tuple[Owner, ...]:
    """Return the owners of the first rank: where there is one, it is taken at its word."""
    return tuple(owner for owner in owners if not isinstance(owner, Fallback))


def _pairs(reasoning: Sequence[Sequence[object]]) -> tuple[tuple[str, str], ...]:
    pairs = tuple(map(tuple, reasoning))
    if not all(len(pair) == 2 and all(isinstance(m, str) and m for m in pair) for pair in pairs):
        raise CallerError(f"reasoning is pairs like ('<think>', '</think>'), not {reasoning!r:.80}")
    return tuple((str(open_), str(close)) for open_, close in pairs)
