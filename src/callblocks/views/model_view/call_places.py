r"""Places where a text would act: where some dialect reads a call of the tools at hand.

    {"name": "ls", "arguments": {}}       a call of `ls`, if there is such a tool: it acts
    {"name": "Oslo", "size": 3}           data
    Vec<u8>, <b>bold</b>, ```rust         code and HTML
    {"text": "                            at the end of a text: what comes after it could be a call

Strategy. One search over the markers of all dialects gives every place where a block may open. At
each of them every dialect whose marker stands there reads one block, on a stage of its own. A place
acts if such a block names a tool at hand, says that it is the result of a call before it, or has
not ended where the text ends: then another text, behind the next header, could complete it.

Why places and not the calls that a parser finds in the whole text: what a parser finds at a place
depends on all that was read before, on its dialects, on fences and thoughts that are open. What a
dialect reads at a place depends on the text from there on alone. So a place that does not act here
acts in no text around it, and a call in the input of another one is seen at once.

A sign that is put into one block may change how another is read. So the text with its signs is
judged again, until nothing acts. Blocks in blocks cost what they hold each; where that is too much
for the length of the text (`_WORK`), every place gets the sign, which needs no reading.

A code fence whose whole body is calls is read by none of the dialects alone. So each fence is read
as a reader of all of them does, from its opening line to the next line that could close it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from typing import NamedTuple

from callblocks.core.blocks import ESCAPE
from callblocks.core.events import CallResult, CallStarted, Event
from callblocks.core.specs import ToolSpec, ToolSpecs, specs_by_name
from callblocks.dialects import dialects
from callblocks.parser import parse
from callblocks.parsing.dialect import with_fallbacks
from callblocks.parsing.engine.block import Block, Reader
from callblocks.parsing.engine.markers import Markers
from callblocks.parsing.engine.openers import Openers, Setting
from callblocks.parsing.engine.parse_state import Keep, ParseState, Speak
from callblocks.parsing.fallbacks import Sibling
from callblocks.parsing.limits import Limits

__all__ = ("ToolsAtHand", "acting_places", "all_places", "fenced_places")

_LIMITS = Limits(depth=100, input_size=10**12, calls=10**9)
_WORK, _LEAST, _MOST = 100, 200_000, 20_000_000
"""Characters that may be read for each one of a text; but so many for any, and no more for any."""
_TRIAL = 50
"""What it costs to begin, in characters."""

# What the view puts before a text, and what may come after it: a header of the view, other words,
# or nothing at all.
_BEFORE = {True: "x\n", False: "x "}
_HEADER = "\n[TOOL RESULT a].result a\npath: a\n"
_TAILS = (_HEADER, "\nx\n", "")
# A sign goes behind no blank, no quotation mark and no other sign: so it can be told from those
# that a text has itself (see `neutral`).
_solid = re.compile(f"[^\\s\"'{ESCAPE}]").search
_GAP = "[\\W_]"
_SIGNS = re.compile(f"{_GAP}+")
_ANYTHING = re.compile("")
_ESCAPES = r"\\[uxN0-7]|&[#\w]"


class _Way(NamedTuple):
    """Parser settings for one trial: a sole dialect, strict mode, and the start of the whole text.

    With `answers`, a call precedes the block, so that the block may be read as its result. Without
    it, a dialect may read the same head as that of a call.
    """

    alone: bool
    strict: bool
    starts: bool = False
    answers: bool = True


_WAYS = (
    *(_Way(*flags) for flags in product((True, False), (False, True))),
    *(_Way(alone, False, answers=False) for alone in (True, False)),
)
_STARTING = (*_WAYS, *(_Way(*flags, starts=True) for flags in product((True, False), repeat=2)))


_FENCE_LINE = re.compile(r"^[ \t]*(?=(`{3,}|~{3,}))", re.MULTILINE)


def fenced_places(text: str, tools: ToolsAtHand) -> list[int]:
    """Return where a sign keeps a code fence from being read as calls: in its opening."""
    lines = list(_FENCE_LINE.finditer(text))
    ends = [*(line.end() for line in lines), len(text)][1:]
    found: list[int] = []
    for line, end in zip(lines, ends, strict=True):
        start = line.end()
        # The closing line belongs to it; what follows on that line cannot make it a call.
        fence = f"{text[start:end].rstrip()}\n{line[1]}\n"
        if tools.find(fence) and any(
            isinstance(event, CallStarted) and event.name in tools
            for event in parse(fence, tools=tools.listed).events
        ):
            found.append(start + 1)
    return found


class _AnyTool(Mapping[str, ToolSpec]):
    """A set of tools that contains every name, for texts whose reader is unknown."""

    def __getitem__(self, name: str) -> ToolSpec:
        return ToolSpec(name)

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 1


class ToolsAtHand:
    """The tools whose calls act; None for any."""

    def __init__(self, tools: ToolSpecs | None) -> None:
        self.specs: Mapping[str, ToolSpec] = _AnyTool() if tools is None else specs_by_name(tools)
        self._names = frozenset(map(_squeeze, self.specs))
        self.find = _ANYTHING.search if tools is None else _name_pattern(tuple(self.specs)).search
        """Finds a name of a tool in a text, or a character written as others, maybe of one."""
        self.listed = () if tools is None else tuple(self.specs.values())

    def __contains__(self, name: str) -> bool:
        return name in self.specs or _squeeze(name) in self._names


class _Acts(Exception):
    """Signal, not an error: the block names a tool at hand, or is the result of a call."""


class _Trial(ParseState):
    """One block of a text, read from a place on."""

    def __init__(self, text: str, at: int, tools: ToolsAtHand, way: _Way) -> None:
        super().__init__((), _LIMITS)
        self.tools = tools.specs
        self.scan.text, self.scan.pos, self.scan.fresh = text, at, False
        self.said = at
        self.alone, self.strict, self.solid = way.alone, way.strict, not way.starts
        if way.answers:
            self.calls, self.ready = 1, [("a", 0)]
        self._known = tools

    def say(self, event: Event) -> None:
        super().say(event)
        match event:
            case CallStarted(name=name) if name in self._known:
                raise _Acts
            case CallResult(index=0):
                raise _Acts
            case _:
                pass

    def settle(self, search: object, speak: Speak | None, keep: Keep | None) -> None:
        """Do nothing: a trial resumes its reader on every piece and emits no text."""


class _Work:
    """Reads blocks and counts the characters read; `is_over` is true once the limit is exceeded."""

    def __init__(self, text: str, tools: ToolsAtHand, fresh: bool) -> None:
        self._tools = tools
        self._end = len(_BEFORE[fresh]) + len(text)
        solid = _solid(text)
        self._start = len(_BEFORE[fresh]) + (solid.start() if solid else 0)
        self._texts = [_BEFORE[fresh] + text + tail for tail in _TAILS]
        self._left = min(max(_WORK * len(text), _LEAST), _MOST)

    @property
    def is_over(self) -> bool:
        return self._left < 0

    def acting(self) -> Iterator[int]:
        """The places that act: each is the number of the character after which a sign goes."""
        for place in _openings(self._texts[0], self._end):
            if self.is_over:
                return
            if self._acts(place):
                yield _after_first(self._texts[0], place)

    def _acts(self, place: int) -> bool:
        readers = _openers().at(self._texts[0][place], False)
        return any(
            markers.growing.match(self._texts[0], place) and self._opens(reader, markers, place)
            for reader, markers in readers
        )

    def _opens(self, reader: Reader, markers: Markers, place: int) -> bool:
        """Return whether a block of this reader opens here and acts under any of the settings.

        The first settings are the most lenient: they keep the most blocks open and read the
        farthest. If they find no name of a tool, the others find none.
        """
        first, *others = _WAYS if place > self._start else _STARTING
        acts, end = self._reads(reader, markers, place, first)
        if not acts and not self._tools.find(self._texts[0], place, end):
            return False
        return acts or any(self._reads(reader, markers, place, way)[0] for way in others)

    def _reads(self, reader: Reader, markers: Markers, place: int, way: _Way) -> tuple[bool, int]:
        """Return whether a block acts, and the offset up to which it was read."""
        end = place
        for text in self._texts:
            trial = _Trial(text, place, self._tools, way)
            trial.scan.closed = text is self._texts[-1]
            marker, certain = trial.scan.match(markers)
            if not certain:
                # The next text could complete it.
                return True, end
            if marker is None:
                continue
            acts = _acts(reader, Block(trial, reader.name, marker), can_wait=not way.starts)
            self._left -= trial.scan.offset - place + _TRIAL
            end = max(end, trial.scan.offset)
            if acts:
                return True, end
            # A block that ended before the end of the text does not depend on later text.
            if _solid(text, trial.scan.offset, self._end):
                break
        return False, end


def _acts(reader: Reader, block: Block, *, can_wait: bool) -> bool:
    """Return whether a block acts; with `can_wait`, an incomplete block acts too.

    JSON at the very start of a text stays incomplete to the end, and is then no call.
    """
    try:
        next(reader.read(block))
    except StopIteration:
        return False
    except _Acts:
        return True
    return can_wait


def acting_places(text: str, tools: ToolsAtHand, *, fresh: bool) -> list[int] | None:
    """Return the offsets after which a sign goes, or None if finding them costs too much.

    With `fresh`, the text is put at the start of a line.
    """
    first = len(_BEFORE[fresh])
    if next(_openings(_BEFORE[fresh] + text + _HEADER, first + len(text)), None) is None:
        return []
    work = _Work(text, tools, fresh)
    places = sorted({place - first for place in work.acting()})
    return None if work.is_over else places


def all_places(text: str, *, fresh: bool) -> list[int]:
    """The same for every place where any block may open, in any dialect."""
    before = _BEFORE[fresh]
    whole, end = before + text + _HEADER, len(before) + len(text)
    openings = _openings(whole, end)
    return sorted({_after_first(whole, place) - len(before) for place in openings})


@cache
def _openers() -> Openers:
    """Every dialect with all markers that open its blocks in any setting.

    Siblings are dialects themselves; the other fallbacks read what no dialect reads.
    """
    owners = dict.fromkeys(
        owner
        for dialect in dialects.values()
        for owner in with_fallbacks((dialect,), is_named=True)
        if not isinstance(owner, Sibling)
    )
    settings = [Setting(*flags) for flags in product((True, False), repeat=len(Setting._fields))]
    return Openers(
        [
            (one, tuple(dict.fromkeys(row for way in settings for row in one.openers(way))))
            for one in owners
        ]
    )


def _openings(whole: str, end: int) -> Iterator[int]:
    """Yield the offsets of markers, complete or cut off by the end; they may overlap."""
    search = _openers().markers.growing.search
    hit = search(whole, 1)
    while hit and hit.start() < end:
        solid = _solid(whole, hit.start())
        if solid and solid.start() < end:
            yield hit.start()
        hit = search(whole, hit.start() + 1)


def _after_first(whole: str, place: int) -> int:
    """Return the offset behind the first non-blank character of a marker."""
    solid = _solid(whole, place)
    return solid.end() if solid else place


def _squeeze(name: str) -> str:
    """Return a name reduced for a lenient comparison."""
    return _SIGNS.sub("", name).casefold()


def _name_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    spelled = {f"{_GAP}{{0,3}}".join(map(re.escape, _SIGNS.split(name))) for name in names}
    # In a quoted text the end of a line before a name may be written as `\\n`.
    words = f"(?:(?<![^\\W_])|(?<=\\\\[a-z]))(?:{'|'.join(spelled)})(?![^\\W_])"
    return re.compile(f"{words}|{_ESCAPES}" if names else _ESCAPES, re.IGNORECASE)
