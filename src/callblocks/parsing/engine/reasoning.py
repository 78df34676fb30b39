"""Reasoning: text between a pair of markers, such as `<think>…</think>`, called a thought here.

Three rules, the same for every dialect:

1. A thought ends at its closing marker, or at the marker of another message in dialects whose
   messages have headers (`reasoning_breaks`). A call interrupts a thought and does not end it: the
   text behind the call is reasoning again.
2. A complete call of a declared tool is a call if the thought is never closed, or if the dialect's
   models call tools while they think (`calls_end_reasoning`).
3. Everything else stays reasoning: calls of undeclared tools, calls quoted in code, calls that
   break off. If the thought is never closed, a call of a declared tool that was not read is
   reported.

How the rules are decided while text arrives
    trial       At an opener the call is first read on a state of its own (`trial`), which emits
                nothing. Only a complete call is then read again for good: an emitted
                `CallStarted` cannot be revoked.
    waiting     Where rule 2 depends on the closing marker, the text behind the call is held back
                until that marker or the end of the text arrives (`_pass_if_closed`).
    code        A code span or fence quotes. Whether backticks are closed matters only if an opener
                stands in them, so only then the text is held back (`_pass_if_quoted`).

All three look ahead and rewind. Each rewinds over a stretch at most once (`barred`, `is_open`), so
the whole stays linear.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, NamedTuple, TypeAlias

from callblocks.core.calls import Span
from callblocks.core.events import CallReady, CallStarted, Event, Malformed, Problem, Reasoning
from callblocks.parsing.engine.block import Block, Reader, Refused
from callblocks.parsing.engine.markers import Markers, Shape, line, without_ahead
from callblocks.parsing.engine.parse_state import (
    FOUND,
    Attempt,
    Keep,
    ParseState,
    Reading,
    Refusal,
    Scanner,
    Speak,
)
from callblocks.parsing.engine.quotations import is_quoted

__all__ = (
    "Caller",
    "Pairs",
    "Thinking",
    "ThoughtEnd",
    "Tried",
    "try_call",
)

# --- A trial: read a block without emitting, to know whether it holds a complete call ---
#
# The trial runs the dialect's own reader on a `Stage` of its own, and ends with the first call that
# is complete or cannot become one. The scanner is then rewound; if it was a call, the caller reads
# it again for good. Why not keep the events of the trial: they are decided with the thought's end
# as the end of the text, and the real reader may see more.
#
# The trial gets text in slices, not all that has arrived: a reader that consumed everything before
# it refused would make the loop quadratic.

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
    stage: ParseState, reader: Reader, opening: str, closing: Markers, alone: bool
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


def _slice(stage: ParseState, trial: _Trial, closing: Markers) -> Reading[str]:
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


class _Trial(ParseState):
    """A state that records the first call, and whether its own marker closed it.

    `called`: a complete call was read. A `repaired-closing` problem behind it takes that back; it
    is emitted before the reader asks for more text, so the verdict is not premature. The start of a
    second call also ends the first.
    """

    def __init__(self, stage: ParseState, alone: bool) -> None:
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


# --- Reasoning: text between markers such as `<think>…</think>`, called a thought here ---

# Pairs of an opening and a closing marker.
Pairs: TypeAlias = tuple[tuple[str, str], ...]

# The number of characters behind an opener in which the name of a declared tool counts.
_NEAR = 64
_WORD = re.compile(r"[\w.:/-]+")
_FENCE = line("```")
_TICK = "`"
_PARAGRAPH = "\n\n"
_CODE = Markers(_FENCE, _TICK)
_TICKS = Markers(_TICK)


class Caller(NamedTuple):
    """A dialect whose calls may stand in a thought.

    `at_once`: its calls count whether or not the thought is closed. `alone`: its ambiguous openers
    are accepted without confirmation, as by `Stage.alone`.
    """

    reader: Reader
    openers: Sequence[str | Shape]
    at_once: bool
    alone: bool


class _CallerMarkers(NamedTuple):
    """The openers of a caller, and those of them with a lookahead, without that lookahead."""

    caller: Caller
    openers: Markers
    brackets: Markers


def _caller_markers(caller: Caller) -> _CallerMarkers:
    shapes = (opener for opener in caller.openers if isinstance(opener, Shape) and opener.ahead)
    return _CallerMarkers(caller, Markers(*caller.openers), Markers(*map(without_ahead, shapes)))


class _Thought:
    """One thought while it is read.

    `is_open`: it is known that no closing marker follows.

    Calls that were not read are recorded where a declared tool was called, or was named close
    behind an opener (`watch`, `look_behind`). There is at most one watched stretch at a time: a
    further opener extends it.
    """

    def __init__(self, stage: ParseState) -> None:
        self.stage = stage
        self.is_open = False
        self.has_calls = False
        self.barred: dict[Reader, float] = {}
        self._unread: list[tuple[Span, str]] = []
        self._behind: list[str] = []
        self._start = self._size = self._wanted = 0

    def say(self, text: str) -> None:
        """Emit consumed text as reasoning."""
        stage = self.stage
        stage.say(Reasoning(text, (stage.said, stage.said + len(text))))
        self.keep(text)

    def take(self, count: int) -> None:
        """Consume `count` characters, and emit them as reasoning."""
        if count:
            self.say(self.stage.scan.take(self.stage.scan.pos + count))

    def stream(self, markers: Markers) -> Reading[int | None]:
        """Emit text as it arrives up to a marker, as `Stage.stream` does."""
        # `keep` is needed only while a stretch is watched, and an opener, which starts one, ends
        # the stream first. Without `keep` the fast path of `feed` is faster.
        return self.stage.stream(markers, Reasoning, self.keep if self._wanted else None)

    def keep(self, text: str) -> None:
        """Keep emitted text while a stretch behind an opener is watched."""
        if self._wanted:
            self._behind.append(text)
            self._size += len(text)
            if self._size >= self._wanted:
                self.look_behind()

    def watch(self, size: int) -> None:
        """Watch the text behind an opener of this size at the current offset."""
        start = self.stage.scan.offset
        if not self._wanted:
            self._start, self._size, self._behind = start, 0, []
        self._wanted = start + size + _NEAR - self._start

    def look_behind(self) -> None:
        """Search the watched stretch for the name of a declared tool, and end it."""
        text = "".join(self._behind)[: self._wanted]
        words = (word[0].strip(".:/-") for word in _WORD.finditer(text))
        name = next((word for word in words if word in self.stage.tools), "")
        if name:
            self.miss(self._start, len(text), name)
        self._behind, self._wanted = [], 0

    def miss(self, start: int, size: int, name: str) -> None:
        """Record that a call of a declared tool was not read."""
        self._unread.append(((start, start + size), name))

    def tell_unread(self) -> None:
        """Emit a problem for each call that was not read; the thought was never closed."""
        self.look_behind()
        # `set`: several readers may have tried the same call.
        for place, name in sorted(set(self._unread)):
            said = self.stage.said
            detail = f"{name!r:.80} in a thought that is never closed"
            self.stage.say(Problem("unread-call", detail, (said, said), place))


class Thinking:
    """A reader of thoughts; `breaks` begin another message, which ends an unclosed thought."""

    name: ClassVar = "reasoning"

    def __init__(
        self,
        closings: tuple[str, ...],
        callers: Sequence[Caller] = (),
        *,
        openings: tuple[str, ...] = (),
        breaks: tuple[str, ...] = (),
        turn_ends: tuple[Reader, Sequence[str | Shape]] | None = None,
        only_first: bool = False,
    ) -> None:
        ends = (*closings, *breaks)
        self._turn_end, tokens = turn_ends or (None, ())
        self._closing, self._ends = Markers(*closings), Markers(*ends)
        self._openings, self._turn_ends = Markers(*openings), Markers(*tokens)
        self._callers = [_caller_markers(caller) for caller in callers]
        self._callers_by_char: dict[tuple[str, bool], list[_CallerMarkers]] = {}
        openers = (opener for caller in callers for opener in caller.openers)
        calls = tuple(dict.fromkeys(map(without_ahead, openers)))
        self._plain_stops = Markers(*ends, *tokens)
        # A code span ends with its paragraph, closed or not, so a blank line is a stop. Code spans
        # use the same set of stops: compiling one with all dialects takes a tenth of a second.
        self._stops = Markers(*ends, *tokens, *calls, *_CODE.shapes, _PARAGRAPH)
        self._span_ends = Markers(_TICK, _PARAGRAPH, *ends)
        self._fence_ends = Markers(_FENCE, *ends)
        self._only_first = only_first

    def read(self, block: Block) -> Reading[Refused | None]:
        if self._only_first and not block.at_start:
            return block.refuse(expected="the start of the text", at=block.start)
        return (yield from self.read_opened(block))

    def read_opened(self, block: Block) -> Reading[None]:
        """Read a thought whose opening marker was consumed."""
        block.stage.say(Reasoning("", block.stage.span()))
        yield from self._think(block.stage, block.at_start)

    def go_on(self, stage: ParseState) -> Reading[None]:
        """Read a thought that the prompt opened; the text may repeat the opening marker."""
        opening = yield from _match(stage, self._openings)
        if opening:
            stage.scan.take(stage.scan.pos + len(opening))
            stage.say(Reasoning("", stage.span()))
        yield from self._think(stage, at_start=True)

    def _think(self, stage: ParseState, at_start: bool) -> Reading[None]:
        # At each stop, in this order: the closing marker; a marker that ends the thought without
        # closing it; the end of the turn; a call; code. If none applies, one character is reasoning
        # and the stream goes on behind it. Without declared tools no call can count (rule 2), so
        # neither calls nor code are stops.
        thought, stops = _Thought(stage), self._stops if stage.tools else self._plain_stops
        start, is_over = stage.said, False
        stage.solid = True  # nothing in a thought stands at the start of the text
        while (yield from thought.stream(stops)) is not None:
            if (closing := stage.scan.match(self._closing)[0]) is not None:
                stage.scan.take(stage.scan.pos + len(closing))
                stage.say(Reasoning("", stage.span()))
                break
            is_ended = stage.scan.match(self._ends)[0] is not None
            is_over = not is_ended and (yield from self._is_turn_over(thought))
            if is_ended or is_over:
                thought.tell_unread()
                break
            if not stage.tools or not (
                (yield from self._read_call(thought)) or (yield from self._pass_code(thought))
            ):
                thought.take(1)
        else:
            is_over = True
            thought.tell_unread()
        if stage.prose_log is not None and (is_over or thought.has_calls):
            stage.prose_log.open_thought(start, stage.said)
        # Text behind a leading thought still counts as the start of the text: dialects that open
        # only there (bare JSON) must work behind `<think>…</think>`.
        is_first = at_start and not thought.has_calls
        stage.solid, stage.scan.fresh = not is_first, is_first

    def _is_turn_over(self, thought: _Thought) -> Reading[bool]:
        """Consume tokens that end the turn, if nothing follows them; return whether."""
        stage, reader = thought.stage, self._turn_end
        token = yield from _match(stage, self._turn_ends)
        start, fresh, before = _place(stage)
        if token is None or reader is None or thought.barred.get(reader, 0) > start:
            return False
        block = Block(stage, reader.name, token)
        if not (yield from reader.read(block)):
            return True
        thought.barred[reader] = block.barred
        stage.scan.rewind(start, block.taken, fresh, before)
        return False

    def _read_call(self, thought: _Thought) -> Reading[bool]:
        """Read the call at the current offset, or the rest of a closed thought that mentions it.

        Return whether text was consumed.
        """
        # For each caller: try the call without emitting; if it is complete, decide rule 2, which
        # may hold back the text up to the closing marker; then read the call for good. `is_open`
        # remembers that no closing marker follows, so the lookahead to the end runs only once.
        stage, start = thought.stage, thought.stage.scan.offset
        scan = stage.scan
        callers = self._callers_at(scan.text[scan.pos], scan.fresh)
        if callers and stage.quotes and (yield from is_quoted(stage, stage.scan.before)):
            return False
        for caller, openers, brackets in callers:
            marker = yield from _match(stage, openers)
            if marker is None and (bracket := (yield from _match(stage, brackets))):
                thought.watch(len(bracket) - 1)
            if marker is None or thought.barred.get(caller.reader, 0) > start:
                continue
            tried = yield from try_call(stage, caller.reader, marker, self._ends, caller.alone)
            thought.barred[caller.reader] = tried.barred
            if not tried.is_call:
                if tried.name:
                    thought.miss(start, tried.size, tried.name)
                else:
                    thought.watch(tried.opened)
                continue
            if not caller.at_once and not thought.is_open:
                if (yield from self._pass_if_closed(thought)):
                    _note_mention(thought, caller, marker, start)
                    return True
                thought.is_open = True
            if (yield from _read(thought, caller, marker)):
                return True
        return False

    def _callers_at(self, char: str, fresh: bool) -> list[_CallerMarkers]:
        """Return the callers with an opener that may begin with this character."""
        found = self._callers_by_char.get((char, fresh))
        if found is None:
            found = [one for one in self._callers if one.openers.may_begin(char, fresh)]
            self._callers_by_char[char, fresh] = found
        return found

    def _pass_if_closed(self, thought: _Thought) -> Reading[bool]:
        """Emit the text up to the closing marker as reasoning, if there is one; return whether."""
        scan, taken = thought.stage.scan, list[str]()
        start, fresh, before = _place(thought.stage)
        end = yield from thought.stage.stream(self._ends, None, taken.append)
        if end is not None and scan.match(self._closing)[0] is not None:
            thought.say("".join(taken))
            return True
        scan.rewind(start, taken, fresh, before)
        return False

    def _pass_code(self, thought: _Thought) -> Reading[bool]:
        """Consume a code span or fence, in which a call is a mention; return whether one begins."""
        scan = thought.stage.scan
        opening, _ = scan.match(_CODE)
        if opening is None:
            return False
        if opening == _TICK:
            yield from self._pass_span(thought)
            return True
        thought.take(len(opening))
        if (yield from thought.stream(self._fence_ends)) is not None:
            thought.take(len(scan.match(_CODE)[0] or ""))
        return True

    def _pass_span(self, thought: _Thought) -> Reading[None]:
        """Consume a code span up to its end, or up to an opener that turns out to stand in none.

        Backticks that are not closed open no span. That matters only at an opener, so only the text
        behind one is held back. CommonMark wants closing runs of equal length; here all runs of two
        and more count as equal, so that a paragraph is searched in vain at most twice.
        """
        stage = thought.stage
        is_long = len((yield from _take_ticks(thought))) > 1
        while (yield from thought.stream(self._stops)) is not None:
            if stage.scan.match(_TICKS)[0]:
                if (len((yield from _take_ticks(thought))) > 1) == is_long:
                    return
            elif stage.scan.match(self._span_ends)[0] or not (
                yield from self._pass_if_quoted(thought, is_long)
            ):
                return

    def _pass_if_quoted(self, thought: _Thought, is_long: bool) -> Reading[bool]:
        """Consume the rest of a code span, without its end, if it is closed; return whether."""
        scan, taken = thought.stage.scan, list[str]()
        start, fresh, before = _place(thought.stage)
        while (yield from thought.stage.stream(self._span_ends, None, taken.append)) is not None:
            if not scan.match(_TICKS)[0]:
                break
            end = _place(thought.stage)
            ticks = yield from _ticks(thought.stage)
            if (len(ticks) > 1) == is_long:
                scan.rewind(end[0], [ticks], *end[1:])
                thought.say("".join(taken))
                return True
            taken.append(ticks)
        scan.rewind(start, taken, fresh, before)
        return False


def _place(stage: ParseState) -> tuple[int, bool, str]:
    """Return what `Scanner.rewind` needs to return here: the offset, `fresh` and `before`."""
    scan = stage.scan
    return scan.offset, scan.fresh, scan.before


def _match(stage: ParseState, markers: Markers) -> Reading[str | None]:
    """Return the marker at the current offset, or None, without consuming it."""
    marker, certain = stage.scan.match(markers)
    while not certain:
        yield
        marker, certain = stage.scan.match(markers)
    return marker


def _read(thought: _Thought, caller: Caller, marker: str) -> Reading[bool]:
    """Read the call that a trial found; return whether its reader accepted it.

    The reader may refuse although the trial succeeded: it sees text behind the thought's end, which
    was hidden from the trial.
    """
    stage = thought.stage
    (start, fresh, before), alone = _place(stage), stage.alone
    block = Block(stage, caller.reader.name, marker)
    stage.alone = caller.alone
    refused = yield from caller.reader.read(block)
    stage.alone = alone
    if refused:
        stage.scan.rewind(start, block.taken, fresh, before)
        return False
    thought.look_behind()
    thought.has_calls = True
    return True


def _note_mention(thought: _Thought, caller: Caller, marker: str, start: int) -> None:
    """Record why a call in a closed thought does not count, if attempts are kept."""
    stage = thought.stage
    if stage.attempts is not None:
        attempt = Attempt(caller.reader.name, marker, start)
        found = stage.scan.text[stage.scan.pos : stage.scan.pos + FOUND]
        expected = "a thought that is never closed"
        attempt.refusal = Refusal(expected, found, stage.scan.offset)
        stage.attempts.append(attempt)


def _take_ticks(thought: _Thought) -> Reading[str]:
    """Consume a run of backticks, emit it, and return it."""
    ticks = yield from _ticks(thought.stage)
    thought.say(ticks)
    return ticks


def _ticks(stage: ParseState) -> Reading[str]:
    """Consume a run of backticks, and return it."""
    ticks = ""
    while (yield from _match(stage, _TICKS)):
        ticks += stage.scan.take(stage.scan.pos + 1)
    return ticks


class ThoughtEnd:
    """A reader of a closing marker at the start of a text: the prompt had opened the thought."""

    name: ClassVar = "reasoning"

    def read(self, block: Block) -> Reading[Refused | None]:
        yield from ()  # a reader is a generator, also one that needs no more text
        if not block.at_start:
            return block.refuse(expected="the start of the text", at=block.start)
        stage = block.stage
        stage.say(Reasoning("", stage.span()))
        stage.solid, stage.scan.fresh = False, True
        return None
