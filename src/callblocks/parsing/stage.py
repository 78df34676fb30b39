"""The state of one parse: the scanner, the emitted events, and counters that all readers share.

`say` is the only way to emit an event, and each event starts at `said`, the end of the previous
one. So the spans tile the input by construction.

A reader that waits for a marker is *parked* (`settle`): it leaves a search, and callbacks that emit
and keep text. `Engine.feed` then handles pieces without the marker itself. Resuming a chain of
generators for each token costs several times as much as one regex search, and most tokens are free
text or lie inside of a long string.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from typing import Protocol, TypeAlias, TypeVar

from callblocks.model.calls import Span
from callblocks.model.events import Event, Reasoning, Text
from callblocks.model.specs import ToolSpecs, specs_by_name
from callblocks.parsing.attempts import Attempt
from callblocks.parsing.ids import Ids
from callblocks.parsing.limits import Limits
from callblocks.parsing.markers import Markers
from callblocks.parsing.scanner import SIGHT, Scanner
from callblocks.parsing.unread import ProseLog

__all__ = ("Hit", "Hurry", "Keep", "Reading", "Search", "Speak", "Stage")

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


class Stage:
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
        "calls",
        "fence",
        "held",
        "hit",
        "ids",
        "keep",
        "limits",
        "out",
        "passed",
        "prose_log",
        "quotes",
        "ready",
        "said",
        "scan",
        "search",
        "solid",
        "speak",
        "strict",
        "tools",
        "unclosed",
    )

    def __init__(self, tools: ToolSpecs, limits: Limits, *, strict: bool = False) -> None:
        self.scan = Scanner()
        self.tools = specs_by_name(tools)
        self.limits = limits
        self.strict = strict
        self.alone = True
        self.quotes = False
        self.ids = Ids()
        self.calls: int = 0
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
        # Set while a reader is parked: the search that wakes it, the constructor of the events
        # that free text becomes, and a callback that keeps the text. `held` is the end of the last
        # piece, which may be the beginning of a marker.
        self.search: Search | None = None
        self.speak: Speak | None = None
        self.keep: Keep | None = None
        self.held = ""
        # The last texts that were emitted while parked: at least `SIGHT` characters, because no
        # text but the first is empty.
        self.passed: deque[str] = deque(maxlen=SIGHT + 1)
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
                self._release(scan.take(end), speak, keep)
            if hit:
                return hit.end()
            if scan.closed:
                return None
            if (self.solid or speak is not Text) and not scan.fresh:
                self.settle(markers.growing.search, speak, self._logging(speak, keep))
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
        self.held = self.scan.drain()
        if self.quotes:
            self.passed.clear()
            self.passed.append(self.scan.tail)
        self.search, self.speak, self.keep = search, speak, keep

    def hurry(self, search: Search) -> None:
        """Replace the search of a parked reader with one that is faster for the text to come."""
        self.search = search

    def _release(self, text: str, speak: Speak | None, keep: Keep | None) -> None:
        if keep:
            keep(text)
        if speak:
            self.solid = self.solid or not text.isspace()
            self.say(speak(text, (self.said, self.said + len(text))))
