"""What every reader of one text shares: the text that waits, and account of what was said.

Each event continues where the last one ended, so the spans tile the input by construction.
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
# A reader: it yields whenever it needs more text, and returns what it read.
Reading: TypeAlias = Generator[None, None, T]
Speak: TypeAlias = Callable[[str, Span], Event]
Keep: TypeAlias = Callable[[str], object]


class Hit(Protocol):
    """Where a search stopped: at a marker, if `lastindex` says so, or at what may become one."""

    @property
    def lastindex(self) -> int | None:
        """None while the text may still go on either way."""
        ...

    def start(self) -> int:
        """Up to where the text is free."""
        ...

    def end(self) -> int:
        """Where the marker ends."""
        ...


Search: TypeAlias = Callable[[str], Hit | None]
Hurry: TypeAlias = Callable[[Search], None]


class Stage:
    """`said` is the offset up to which events own the text.

    `strict` says that nothing is repaired: what breaks the grammar is malformed. `alone` says
    that one dialect is read: what a guess would need to be sure of is then taken at its word.
    `quotes` says that a call in quotation marks or in code is a mention, as in a guessed dialect.
    `ready` holds the id and index of each call that was read. `solid` says that something
    other than blanks has been said. `fence` is the run of backticks or tildes that opened the
    Markdown code fence we are in, if any.
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
        # Who was asked to read what; kept where a list is put here.
        self.attempts: list[Attempt] | None = None
        # What was said as prose and thoughts, to look for calls in it that nobody read.
        self.prose_log: ProseLog | None = None
        # The offset by closing tag after which the tag does not occur; the text is over.
        self.unclosed: dict[str, int] = {}
        # While a reader waits in `stream` or for JSON, most pieces need no reader: these say
        # how they are settled without resuming it.
        self.search: Search | None = None
        self.speak: Speak | None = None
        self.keep: Keep | None = None
        self.held = ""
        # The last texts that were settled so, enough of them to hold what `SIGHT` asks for.
        self.passed: deque[str] = deque(maxlen=SIGHT + 1)
        # What the search found that resumed the reader; None where the text is over.
        self.hit: Hit | None = None

    def span(self, end: int | None = None) -> Span:
        """From what was said last to the given offset, or to all that was taken."""
        return self.said, self.scan.base + self.scan.pos if end is None else end

    def say(self, event: Event) -> None:
        self.out.append(event)
        if self.prose_log is not None:
            self.prose_log.add(event, fenced=bool(self.fence))
        self.said = event.span[1]

    def prose(self, text: str) -> None:
        """Say text that was taken, as prose."""
        self.solid = self.solid or not text.isspace()
        self.say(Text(text, (self.said, self.said + len(text))))

    def stream(
        self,
        markers: Markers,
        speak: Speak | None,
        keep: Keep | None = None,
    ) -> Reading[int | None]:
        """Say text as it comes until a marker; return where it ends, or None if the text did.

        The marker is not taken. Without `speak` the text is only kept.
        """
        scan, hit = self.scan, None
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
        """Return a `keep` that also logs prose and thoughts, which `say` does not see."""
        if self.prose_log is None or not (speak is Text or speak is Reasoning):
            return keep
        log = self.prose_log.begin(speak, self.said, fenced=bool(self.fence)).append
        return log if keep is None else lambda text: (keep(text), log(text))

    def settle(self, search: Search, speak: Speak | None, keep: Keep | None) -> None:
        """Until the search hits, text is said or kept without resuming the reader."""
        self.held = self.scan.drain()
        if self.quotes:
            self.passed.clear()
            self.passed.append(self.scan.tail)
        self.search, self.speak, self.keep = search, speak, keep

    def hurry(self, search: Search) -> None:
        """Go on with a search that is quicker for what comes now."""
        self.search = search

    def _release(self, text: str, speak: Speak | None, keep: Keep | None) -> None:
        if keep:
            keep(text)
        if speak:
            self.solid = self.solid or not text.isspace()
            self.say(speak(text, (self.said, self.said + len(text))))
