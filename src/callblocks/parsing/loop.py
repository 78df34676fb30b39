"""The parse loop.

Text arrives in pieces of any size. The loop (`_run`) is a generator: it suspends whenever the text
so far cannot decide what comes next, and `feed` resumes it.

States
    prose    Emit text up to the first offset where an opener could begin; the rest stays pending.
    opening  The pending text begins with an opener. `_open` asks the readers of that opener, in
             order, to read a block.
    block    One reader consumes the block up to its end, or refuses. A refusal restores the
             scanner to the start of the block, and the next reader is asked. If all refuse, one
             character becomes prose and the loop is in `prose` again.
    parked   `Stage.parked` is set. The suspended reader waits for a marker and needs no other
             text, so `feed` emits whole pieces without resuming it (see `Stage.settle`).

Invariants
    - Each event starts where the previous one ended, so the spans tile the input.
    - A reader that refuses may name an offset before which it would refuse again (`_barred`). So
      each reader consumes each character a bounded number of times, and the loop is linear.
    - No event depends on how the text was cut: a decision that needs more text suspends.

Why generators: a dialect then reads like its grammar, and no reader keeps a state table of its own.
Why not parse the whole text again for each piece: that is quadratic in the number of pieces.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import cast

from msgspec.structs import replace

from callblocks.core.errors import CallerError, NotText, ParserClosed
from callblocks.core.events import Event, Problem, Text
from callblocks.core.specs import ToolSpecs
from callblocks.parsing.engine.block import Block, Reader, UnlikelyName
from callblocks.parsing.engine.fences import CodeFences, FencedCalls, fence_behind
from callblocks.parsing.engine.ids import Ids
from callblocks.parsing.engine.openers import (
    BEGINNING,
    InFences,
    Openers,
    Owner,
    Setting,
    choose,
    closers_of,
    read_strays,
)
from callblocks.parsing.engine.parse_state import Attempt, Hit, ParseState, Reading
from callblocks.parsing.engine.quotations import is_quoted
from callblocks.parsing.engine.unread import UNREAD, ProseLog, find_unread, is_common
from callblocks.parsing.fallbacks import Fallback
from callblocks.parsing.limits import USUAL, Limits
from callblocks.parsing.readers.foreign_body import FENCE_FORMS

__all__ = ("Engine", "Owner", "Reader", "Setting")

# The opening of a line of a code fence, the line with its end, and a search that waits for that.
_FENCE_LINE = re.compile(r"\r?\n {0,3}(?:```|~~~)")
_WHOLE_LINE = re.compile(rf"({_FENCE_LINE.pattern}[^\r\n]*)\r?\n")
_ANY = re.compile("()").match
_LINE_GROWS = re.compile(rf"{_FENCE_LINE.pattern}[^\r\n]{{0,200}}\r?\Z|()").match
# The number of openers that are remembered: a hostile text could have any number.
_MOST_GLANCED = 500


class Engine(ParseState):
    """A parser for one text: `feed` takes pieces and returns events, `close` ends the text.

    It does no I/O, and raises only for a mistake of the caller, never for what the text holds.
    """

    __slots__ = (
        "_barred",
        "_dead",
        "_glanced",
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
        # Openers that were refused, and those of them that begin no block in this text.
        self._glanced: set[str] = {""}
        self._dead: set[str] = set()
        if self.tools:
            self.prose_log = ProseLog()
        self._loop = self._run()

    def feed(self, piece: str) -> list[Event]:
        """Take more text; return the events that are certain now."""
        # Most pieces come while a reader is parked (see `ParseState.settle`), and one search
        # decides. Three cases:
        #   no hit               the whole piece is free text: emit it and stay parked;
        #   hit, lastindex set   a marker is complete: resume the reader with that hit;
        #   hit, no lastindex    the piece stops inside a possible marker: emit the text before it,
        #                        and hold the rest back until the next piece decides.
        # `fast` has what the first case needs, if nothing is held back. A piece is type-checked
        # only where the search did not do it (`search` raises TypeError).
        fast, text = self.fast, piece
        if fast is not None:
            search, keep, speak = fast
            try:
                hit = search(piece)
            except TypeError:
                raise NotText(piece) from None
            if hit is None and piece:
                keep(piece)
                if speak is None:
                    self.scan.base += len(piece)
                    return []
                start = self.said
                self.said = end = start + len(piece)
                return [speak(piece, (start, end))]
        else:
            if self.parked is None:
                return self._feed_reader(piece)
            try:
                text = self.held + piece
                hit = self.parked[0](text)
            except TypeError:
                raise NotText(piece) from None
        if hit is not None and hit.lastindex and self.skips:
            hit = self._skip(text, hit)
        if hit is None:
            self.held, self.fast = "", self.parked
            return self._pass(text) if text else self._check_empty(piece)
        if hit.lastindex:
            return self._advance(text, hit)
        start, self.fast = hit.start(), None
        self.held = text[start:]
        return self._pass(text[:start]) if start else []

    def _skip(self, text: str, hit: Hit | None) -> Hit | None:
        """Return the first hit that is not one of the openers that begin no block.

        Such an opener is prose, and is logged as `_open` logs it: where calls may be quoted, the
        log has no use for common openers.
        """
        assert self.parked is not None
        search = cast("Callable[[str, int], Hit | None]", self.parked[0])
        log = None if self.quotes else self.prose_log
        while hit is not None and hit.lastindex:
            opener = text[hit.start() : hit.end()]
            if opener not in self.skips:
                break
            if log is not None:
                log.refuse(opener, self.said + hit.start())
            hit = search(text, hit.start() + 1)
        return hit

    def _pass(self, text: str) -> list[Event]:
        """Emit free text for the parked reader."""
        assert self.parked is not None
        _, keep, speak = self.parked
        keep(text)
        if speak is None:
            self.scan.base += len(text)
            return []
        start = self.said
        self.said = end = start + len(text)
        return [speak(text, (start, end))]

    def _check_empty(self, piece: str) -> list[Event]:
        if not isinstance(piece, str):  # pyright: ignore[reportUnnecessaryIsInstance] callers err
            raise NotText(piece)
        return []

    def close(self) -> list[Event]:
        """End the text; return the events that were pending."""
        if self.scan.closed:
            raise ParserClosed("close() after close(): a new text needs a new parser")
        self.scan.closed = True
        self._advance(self.scan.text if self.parked is None else self.held)
        log, self.prose_log = self.prose_log, None
        if log is not None:
            self._report_unread(log)
        return self.out

    def _report_unread(self, log: ProseLog) -> None:
        """Emit a problem for each place in the prose that has the form of an unread call."""
        if log.is_plain(self.tool_names):
            return
        fences = self._how[1] is not False
        closed = not self.calls and any(owner.calls_end_reasoning for owner in self._owners)
        open_fence = self.said if self.fence else None
        for name, place in find_unread(
            log, self.tools, open_fence, fences=fences, closed_thoughts=closed, quotes=self.quotes
        ):
            detail = f"{name} stands here in the form of a call, and was not read as one"
            self.say(Problem(UNREAD, detail, (self.said, self.said), place))

    def fork(self) -> Engine:
        """Return a parser for the body of a code fence that begins at the current offset.

        Its offsets, ids and call indexes continue those of this parser. It has no limit on the
        number of calls: the caller of `join` checks the limit.
        """
        # The fork reads the inside of a fence, so calls in it count as if no fence were there
        # (`in_code_fences` is True by default): it quotes nothing and tracks no fences. The
        # caller's reasoning pairs are not passed on, since a thought makes the fence prose anyway.
        limits = replace(self.limits, calls=sys.maxsize)
        owners, preferred = self._in_fences()
        inner = Engine(owners, preferred=preferred, strict=self.strict, limits=limits)
        inner.tools, inner.tool_names, inner.ids = self.tools, self.tool_names, Ids(self.ids)
        inner.calls, inner.scan.base = self.calls, self.scan.offset
        inner.call_dialects = self.call_dialects
        inner.said = inner.scan.base
        return inner

    def _in_fences(self) -> tuple[tuple[Owner, ...], Owner | None]:
        """Return the owners that read the body of a fence, and the preferred one of them."""
        owners = _in_fence_bodies(self._owners)
        return (*FENCE_FORMS, *owners), self._preferred if self._preferred in owners else None

    def is_prose(self, body: str) -> bool | None:
        """Return whether a fence's body begins as no call does; None if more text decides.

        It is what the first event of a fork would tell, at the cost of one match. A body that
        begins with a blank is left to the fork.
        """
        if not body or body[0].isspace():
            return False if body else None
        owners, preferred = self._in_fences()
        named = _named(owners)
        sole = named[0] if len(named) == 1 else preferred
        markers = choose(owners, sole, True, ()).outside.markers
        hit = (markers.fresh and markers.fresh.match(body)) or markers.growing.match(body)
        return None if hit and not hit.lastindex else hit is None

    def join(self, inner: Engine) -> None:
        """Take over the ids and the call count of a fork whose calls were emitted here."""
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
        """Resume the suspended reader with the pending text, and with the hit that woke it."""
        scan = self.scan
        # While a reader was parked, pieces bypassed the scanner. Bring its offset and its
        # lookbehind up to date before the reader sees it again.
        if self.parked is not None:
            if self.quotes:
                scan.tail = self.sight()
            if self.parked[2] is not None:
                scan.base = self.said
        scan.text, self.parked, self.fast, self.hit = text, None, None, hit
        self.out = []
        next(self._loop, None)
        return self.out

    def _run(self) -> Reading[None]:
        if self._opened:
            yield from self._opened.go_on(self)
        has_cr, scan = False, self.scan
        while True:
            openers = self._inside if self.fence else self._outside
            markers = openers.with_crlf if has_cr else openers.markers
            self.skips = () if self.fence else self._dead
            if (yield from self.stream(markers, Text)) is None:
                return
            self.skips = ()
            if not has_cr and scan.text[scan.pos] == "\r":
                has_cr = True
            elif not (yield from self._pass_fence(openers)):
                yield from self._open(openers)

    def _pass_fence(self, openers: Openers) -> Reading[bool]:
        """Read the line of a code fence if it is prose for all readers; return whether it was.

        Markdown is full of such lines. `_open` would find the same: it asks each reader of fences,
        in a block of its own, and `CodeFences` last.
        """
        scan = self.scan
        if self.attempts is not None or not _FENCE_LINE.match(scan.text, scan.pos):
            return False
        line, is_prose = yield from self._fence_line()
        if not line or not self._is_tracked_only(openers, line, is_prose=is_prose):
            return False
        self.fence = fence_behind(line, self.fence)
        self.prose(scan.take(scan.pos + len(line)))
        return True

    def _fence_line(self) -> Reading[tuple[str, bool]]:
        """Wait for the line of a fence; return it, and whether the fence holds no calls.

        A fence of calls is known by its body: a few characters of it decide. The line is `""` if it
        is long or does not end.
        """
        scan = self.scan
        may_hold_calls = bool(self.tools) and not self.fence and self._how[1] == "whole"
        while True:
            if hit := _WHOLE_LINE.match(scan.text, scan.pos):
                is_prose = not may_hold_calls or self.is_prose(scan.text[hit.end() :])
                if is_prose is not None:
                    return hit[1], is_prose
                search = _ANY
            else:
                search, grows = _LINE_GROWS, _LINE_GROWS(scan.text[scan.pos :])
                if grows is None or grows.lastindex:
                    return "", False
            if scan.closed:
                return "", False
            self.settle(search, None, None)
            yield

    def _is_tracked_only(self, openers: Openers, line: str, *, is_prose: bool) -> bool:
        """Return whether no reader but `CodeFences` takes the line of a fence."""
        is_tracked = False
        for reader, markers in openers.at(line[:BEGINNING], fresh=False):
            if isinstance(reader, CodeFences):
                is_tracked = True
            elif isinstance(reader, FencedCalls):
                if not is_prose:
                    return False
            elif self.scan.match(markers) != (None, True):
                declines = getattr(reader, "declines_line", None)
                if declines is None or not declines(line, self):
                    return False
        return is_tracked

    def _open(self, openers: Openers) -> Reading[None]:
        # Ask the readers that own an opener at this offset, in order, until one accepts. `start`,
        # `fresh` and `before` are all that a rewind needs, so they are saved before any reader
        # consumes text. `beginning` only narrows the candidates; `scan.match` decides.
        scan = self.scan
        start, fresh = scan.base + scan.pos, scan.fresh
        before, unlikely, longest = scan.before if scan.looks_back else "", None, ""
        quoted = self.quotes and (yield from is_quoted(self, before))
        beginning = scan.text[scan.pos : scan.pos + BEGINNING]
        for reader, markers in openers.at(beginning, fresh, quoted=quoted):
            marker, certain = scan.match(markers)
            while not certain:
                yield
                marker, certain = scan.match(markers)
            if marker is None:
                continue
            longest = marker if len(marker) > len(longest) else longest
            # This reader refused an earlier opener after it had read beyond this offset, and said
            # that it opens nothing before. Asking it again would be quadratic.
            if self._barred.get(reader, 0) > start:
                continue
            block, attempt, calls = Block(self, reader.name, marker), None, len(self.ready)
            if self.attempts is not None:
                attempt = Attempt(reader.name, marker, start)
                self.attempts.append(attempt)
            # An ambiguous opener counts for a dialect that the caller named alone, or that the
            # model is known to write; a guessed dialect must be certain.
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
        self._note_refused(longest, start, quoted=quoted)
        # Only one character becomes prose: another opener may begin inside this one, as `[{` does
        # inside `[[{`.
        self.prose(scan.take(scan.pos + 1))
        if unlikely:
            end = self.said
            self.say(Problem("unlikely-name", str(unlikely), (end, end), (start, end)))

    # HTML in prose is full of tags that open calls in some dialects if a tool has that name. The
    # first of each kind goes through `_open`; the others are prose without waking the loop.
    def _note_refused(self, opener: str, start: int, *, quoted: bool) -> None:
        """Log an opener that all readers refused; find out once whether it ever begins a block."""
        if self.prose_log is not None and not quoted:
            self.prose_log.refuse(opener, start)
        if opener in self._glanced or len(self._glanced) >= _MOST_GLANCED:
            return
        self._glanced.add(opener)
        is_told = self.attempts is None and is_common(opener)
        if is_told and self._outside.declines(opener, self):
            self._dead.add(opener)

    # A dialect may open nothing more (`Block.refuse` with `forever`, or scissors-cat behind its
    # delimiter). Without its openers the search is faster, and a single remaining dialect counts as
    # read alone.
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
    """Return the owners that are no fallbacks; a single one accepts its ambiguous openers."""
    return tuple(owner for owner in owners if not isinstance(owner, Fallback))


def _pairs(reasoning: Sequence[Sequence[object]]) -> tuple[tuple[str, str], ...]:
    pairs = tuple(map(tuple, reasoning))
    if not all(len(pair) == 2 and all(isinstance(m, str) and m for m in pair) for pair in pairs):
        raise CallerError(f"reasoning is pairs like ('<think>', '</think>'), not {reasoning!r:.80}")
    return tuple((str(open_), str(close)) for open_, close in pairs)
