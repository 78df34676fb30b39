"""The state of one parse: the scanner, the emitted events, and counters that all readers share.

`say` is the only way to emit an event, and each event starts at `said`, the end of the previous
one. So the spans tile the input by construction.

A reader that waits for a marker is *parked* (`settle`): it leaves a search, and callbacks that emit
and keep text. `Engine.feed` then handles pieces without the marker itself. Resuming a chain of
generators for each token costs several times as much as one regex search, and most tokens are free
text or lie inside of a long string.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from itertools import islice
from typing import NamedTuple, Protocol, TypeAlias, TypeVar, cast

from callblocks.core.calls import Span
from callblocks.core.events import Event, Reasoning, Text
from callblocks.core.specs import ToolSpecs, specs_by_name
from callblocks.parsing.engine.ids import Ids
from callblocks.parsing.engine.markers import Markers
from callblocks.parsing.engine.unread import ProseLog
from callblocks.parsing.limits import Limits

__all__ = (
    "FOUND",
    "SIGHT",
    "Attempt",
    "Hit",
    "Hurry",
    "Keep",
    "ParseState",
    "Reading",
    "Refusal",
    "Scanner",
    "Search",
    "Speak",
    "end_of",
)

# --- Records of which reader was asked to read which opener, to explain why a text was read so ---

# The number of characters of the text that a refusal quotes.
FOUND = 20


class Refusal(NamedTuple):
    """The reason of a refusal: the text that was expected at an offset, and the text found there.

    `found` is a few characters, as many as had arrived; `""` is the end of the text.
    """

    expected: str
    found: str
    offset: int


class Attempt:
    """One reader that was asked to read an opener; `refusal` is None if it accepted the block."""

    __slots__ = ("marker", "offset", "owner", "refusal")

    def __init__(self, owner: str, marker: str, offset: int) -> None:
        self.owner = owner
        self.marker = marker
        self.offset = offset
        self.refusal: Refusal | None = None

    def to_record(self) -> dict[str, object]:
        """Return the attempt as a JSON-like record; `refusal` is null if the block was accepted."""
        refusal = None if self.refusal is None else self.refusal._asdict()
        head = {"type": "attempt", "dialect": self.owner, "marker": self.marker}
        return {**head, "offset": self.offset, "refusal": refusal}


# --- The scanner: a buffer of text that has arrived and is not consumed yet ---
#
# Guarantees that the engine relies on
#     1. Text is released as soon as no marker can begin in it.
#     2. The cost is linear in the text, whatever the pieces are. Consuming text moves `pos`; the
#        rest of the buffer is copied only when the next piece arrives, and by then it is shorter
#        than a marker, unless a reader looks ahead.
#     3. `find` and `match` give an answer that more text cannot change, or say that it is
#        uncertain.
#
# Offsets and positions: `offset` counts from the start of the input, `pos` from the start of the
# buffer, and `offset == base + pos`.

# The length of the lookbehind: so many characters before an opener decide whether it is quoted.
SIGHT = 200


class Scanner:
    """A buffer: `text[pos:]` is pending; `base` is the offset of `text[0]` in the whole input.

    `fresh` says that `pos` is the start of a line although no newline stands before it in the
    pending text: at the start of the input, and behind a line that was consumed with its end. Line
    markers then match without their newline.

    `tail` is the text before `text[0]`, up to `SIGHT` characters. It is kept only if `looks_back`
    is set, since it costs a slice per piece.
    """

    __slots__ = ("base", "closed", "fresh", "looks_back", "pos", "tail", "text")

    def __init__(self) -> None:
        self.text = ""
        self.pos = 0
        self.base = 0
        self.closed = False
        self.fresh = True
        self.looks_back = False
        self.tail = ""

    @property
    def offset(self) -> int:
        """The number of characters of the input that were consumed."""
        return self.base + self.pos

    @property
    def empty(self) -> bool:
        return self.pos == len(self.text)

    @property
    def before(self) -> str:
        """The lookbehind: the last `SIGHT` characters before `pos`, or all that there are."""
        pos = self.pos
        if not pos or not self.looks_back:
            return self.tail
        if pos >= SIGHT:
            return self.text[pos - SIGHT : pos]
        return (self.tail + self.text[:pos])[-SIGHT:]

    def feed(self, piece: str) -> None:
        if self.looks_back:
            self.tail = self.before
        self.base += self.pos
        self.text = self.text[self.pos :] + piece
        self.pos = 0

    def find(self, markers: Markers) -> tuple[int, re.Match[str] | None]:
        """Return the position where the free text ends, and the marker there if it is certain.

        Without a certain marker, the text from that position on may be the beginning of one.
        """
        if self.pos == len(self.text):
            return self.pos, None
        # A line marker at a fresh position has no newline before it, so the usual patterns cannot
        # find it. It is tried first: it begins at `pos`, before anything that a search can find.
        hit = self._match_fresh(markers) if self.fresh else None
        if hit is None:
            if self.closed:
                hit = markers.search_at_end(self.text, self.pos)
            else:
                hit = markers.growing.search(self.text, self.pos)
        if hit is None:
            return len(self.text), None
        return hit.start(), hit if hit.lastindex else None

    def match(self, markers: Markers) -> tuple[str | None, bool]:
        """Return the marker at `pos`, or None, and whether more text cannot change that."""
        hit = self._match_fresh(markers) if self.fresh else None
        if hit is None:
            pattern = markers.final if self.closed else markers.growing
            hit = pattern.match(self.text, self.pos)
        if hit is None:
            return None, self.closed or self.pos < len(self.text)
        return (hit[0], True) if hit.lastindex else (None, False)

    def take(self, end: int) -> str:
        """Consume the text up to a position, and return it."""
        if end > self.pos:
            self.fresh = False
        text = self.text[self.pos : end]
        self.pos = end
        return text

    def rewind(self, start: int, taken: list[str], fresh: bool, before: str) -> None:
        """Return to the offset `start`; `taken` is the text that was consumed since.

        `fresh` and `before` are the values that the scanner had there.
        """
        # While the buffer still holds `start`, moving `pos` is enough. Otherwise pieces arrived in
        # between and the buffer was cut: it is built again from what the reader kept.
        if start >= self.base:
            self.pos = start - self.base
        else:
            self.text = "".join(taken) + self.text[self.pos :]
            self.base, self.pos, self.tail = start, 0, before
        self.fresh = fresh

    def _match_fresh(self, markers: Markers) -> re.Match[str] | None:
        pattern = markers.fresh_final if self.closed else markers.fresh
        return pattern.match(self.text, self.pos) if pattern else None


def end_of(parts: Iterable[str]) -> str:
    """Return the last `SIGHT` characters of a text in parts; the last part comes first."""
    end = ""
    for part in parts:
        end = part[-SIGHT:] + end
        if len(end) >= SIGHT:
            break
    return end[-SIGHT:]


# --- The state of one parse: the scanner, the emitted events, and shared counters ---

T = TypeVar("T")
# A reader is a generator. It yields whenever it needs more text, and returns its result.
Reading: TypeAlias = Generator[None, None, T]
Speak: TypeAlias = Callable[[str, Span], Event]
Keep: TypeAlias = Callable[[str], object]


class Hit(Protocol):
    """The match of a search: a complete marker if `lastindex` is set, else a possible beginning."""

    @property
    def lastindex(self) -> int | None:
        """None while more text may still complete the marker, or rule it out."""
        ...

    def start(self) -> int:
        """Return the offset up to which the text is free of markers."""
        ...

    def end(self) -> int:
        """Return the offset at which the marker ends."""
        ...


Search: TypeAlias = Callable[[str], Hit | None]
Hurry: TypeAlias = Callable[[Search], None]


class ParseState:
    """The state that all readers of one text share.

    `said`: the offset up to which events cover the text.
    `strict`: nothing is repaired; text that breaks a dialect's grammar is malformed.
    `alone`: a single dialect is read, so ambiguous openers are accepted without confirmation.
    `quotes`: a call in quotation marks or in code is a mention, as in a guessed dialect.
    `ready`: the id and the index of each call that was read.
    `solid`: something other than blanks was emitted.
    `fence`: the run of backticks or tildes that opened the current Markdown code fence, or `""`.
    """

    # Slots, since CPython keeps at most 30 attributes of an object beside its dictionary: with more
    # of them, each piece of text costs a seventh more.
    __slots__ = (
        "alone",
        "attempts",
        "call_dialects",
        "calls",
        "fast",
        "fence",
        "held",
        "hit",
        "ids",
        "limits",
        "out",
        "parked",
        "passed",
        "prose_log",
        "quotes",
        "ready",
        "said",
        "scan",
        "since",
        "skips",
        "solid",
        "strict",
        "tool_names",
        "tools",
        "unclosed",
    )

    def __init__(self, tools: ToolSpecs, limits: Limits, *, strict: bool = False) -> None:
        self.scan = Scanner()
        self.tools = specs_by_name(tools)
        self.tool_names = tuple(self.tools)
        self.limits = limits
        self.strict = strict
        self.alone = True
        self.quotes = False
        self.ids = Ids()
        self.calls: int = 0
        # The dialect of each call that was started, by its index.
        self.call_dialects: dict[int, str] = {}
        self.ready: list[tuple[str, int]] = []
        self.fence = ""
        self.said = 0
        self.solid = False
        self.out: list[Event] = []
        # A record of which reader was asked to read which opener; None unless a caller wants it.
        self.attempts: list[Attempt] | None = None
        # The emitted prose and reasoning, which `unread` searches for calls that no dialect read.
        self.prose_log: ProseLog | None = None
        # For each closing tag, the offset behind which it does not occur. It is filled only when
        # the text is over, and saves one search to the end per unclosed value.
        self.unclosed: dict[str, int] = {}
        # Set while a reader is parked: the search that wakes it, a callback that keeps the free
        # text, and the constructor of the events that this becomes. `held` is the end of the last
        # piece, which may be the beginning of a marker; `fast` is `parked` if nothing is held.
        self.parked: tuple[Search, Keep, Speak | None] | None = None
        self.fast: tuple[Search, Keep, Speak | None] | None = None
        self.held = ""
        # Openers that begin no block in this text; set while prose is read, empty otherwise.
        self.skips: Collection[str] = ()
        # The last texts that nobody else keeps: at least `SIGHT` characters, because no text but
        # the first is empty. `since` tells where the texts are that passed the parked reader, for
        # the lookbehind: a list, and the number of those before.
        self.passed: deque[str] = deque(maxlen=SIGHT + 1)
        self.since: tuple[Sequence[str], int] = (), 0
        # The match that resumed a parked reader; None where the end of the text did.
        self.hit: Hit | None = None

    def span(self, end: int | None = None) -> Span:
        """Return the span from the last event to `end`, or to the end of the consumed text."""
        return self.said, self.scan.base + self.scan.pos if end is None else end

    def say(self, event: Event) -> None:
        self.out.append(event)
        if self.prose_log is not None:
            self.prose_log.add(event, fenced=bool(self.fence))
        self.said = event.span[1]

    def prose(self, text: str) -> None:
        """Emit consumed text as prose."""
        self.solid = self.solid or not text.isspace()
        self.say(Text(text, (self.said, self.said + len(text))))

    def stream(
        self,
        markers: Markers,
        speak: Speak | None,
        keep: Keep | None = None,
    ) -> Reading[int | None]:
        """Emit text as it arrives up to a marker; return where that marker ends, None at the end.

        The marker is not consumed. Without `speak` the text is kept and not emitted.
        """
        scan, hit = self.scan, None
        # The reader may be parked only where `feed` can emit a whole piece without looking at it:
        # prose that is still blank decides `solid`, and a fresh line may begin with a marker that
        # has no newline before it. Until then the reader is resumed for each piece.
        while True:
            end, hit = scan.find(markers) if hit is None else (hit.start(), hit)
            if end > scan.pos:
                text = scan.take(end)
                if keep:
                    keep(text)
                if speak:
                    self.solid = self.solid or not text.isspace()
                    self.say(speak(text, (self.said, self.said + len(text))))
            if hit:
                return hit.end()
            if scan.closed:
                return None
            if (self.solid or speak is not Text) and not scan.fresh:
                kept = keep if self.prose_log is None else self._logging(speak, keep)
                self.settle(markers.growing.search, speak, kept)
                yield
                hit = self.hit
            else:
                yield

    def _logging(self, speak: Speak | None, keep: Keep | None) -> Keep | None:
        """Return a `keep` that also logs prose and reasoning: the fast path bypasses `say`."""
        if self.prose_log is None or not (speak is Text or speak is Reasoning):
            return keep
        log = self.prose_log.begin(speak, self.said, fenced=bool(self.fence)).append
        return log if keep is None else lambda text: (keep(text), log(text))

    def settle(self, search: Search, speak: Speak | None, keep: Keep | None) -> None:
        """Park the reader: until `search` matches, `feed` handles text without resuming it."""
        scan, pos = self.scan, self.scan.pos
        if self.quotes:
            scan.tail = scan.before
        if keep is None:
            self.passed.clear()
            keep = self.passed.append
        elif self.quotes and not isinstance(getattr(keep, "__self__", None), list):
            self.passed.clear()
            keep = _both(keep, self.passed.append)
        if self.quotes:
            parts = cast("Sequence[str]", getattr(keep, "__self__", self.passed))
            self.since = parts, len(parts)
        self.held = scan.text[pos:]
        scan.base += pos
        scan.text, scan.pos = "", 0
        self.parked = search, keep, speak
        self.fast = None if self.held else self.parked

    def sight(self) -> str:
        """Return the lookbehind behind the texts that passed the parked reader."""
        parts, first = self.since
        seen = end_of(islice(reversed(parts), len(parts) - first))
        return seen if len(seen) == SIGHT else (self.scan.tail + seen)[-SIGHT:]

    def hurry(self, search: Search) -> None:
        """Replace the search of a parked reader with one that is faster for the text to come."""
        assert self.parked is not None
        _, keep, speak = self.parked
        self.parked = search, keep, speak
        self.fast = self.fast and self.parked


def _both(one: Keep, other: Keep) -> Keep:
    return lambda text: (one(text), other(text))
