"""The model view of a timeline: a pure function of its entries, updated incrementally.

    view = ModelView(budget=100_000)
    view.feed(timeline.entries())
    view.parts()

The cost of feeding depends on the new entries only. Two parts carry `cache`: the one at the cache
point, and the last. The parts up to the cache point stay the same, byte for byte, when entries are
appended: only blocks after it are hidden. A view with a budget is folded from time to time, which
changes those parts too (see `fold`); `generation` counts the foldings. The view depends on the
entries and their order alone, so a restarted program shows the same bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable
from itertools import islice

import msgspec
from msgspec import structs

from callblocks.core.blocks import RECORDS, Block, Entry, Part, TextPart, binary_line
from callblocks.core.errors import CallerError
from callblocks.core.specs import ToolSpecs
from callblocks.parsing.dialect import Dialect
from callblocks.timeline.timeline import CacheSettings, State, Tokens
from callblocks.views.model_view.fold import Folding
from callblocks.views.model_view.neutral import Neutral
from callblocks.views.model_view.section import Owned, Scale, Section

__all__ = (
    "ModelView",
    "Segment",
    "Segments",
    "render",
    "segments",
)


class ModelView:
    """Fed entries, gives message parts. `budget` is a number of tokens, or None for no limit.

    The settings of the cache point are those that the timeline says, else those given. `tools` are
    those that the model can call: no text of others is a call of one (see `neutral`). Without them
    none is a call of any tool. `spoken` is the dialect in which the model writes its calls: a text
    can be copied into a call whole.
    """

    def __init__(
        self,
        settings: CacheSettings | None = None,
        tokens: Tokens | None = None,
        budget: int | None = None,
        tools: ToolSpecs | None = None,
        spoken: Dialect | None = None,
    ) -> None:
        if budget is not None and budget < 1:
            raise CallerError(f"a budget is a number of tokens, not {budget}")
        self._state = State(settings)
        self._scale = Scale(tokens or Tokens(), budget, Neutral(tools, filter(None, [spoken])))
        self._folding = Folding(self._scale)
        self._sections: list[Section] = []
        self._cost = 0
        self._frozen = 0
        """How many sections never change again, until the view is folded."""
        self._flat: list[Part] = []
        self._ends: list[int] = []
        self._marks: list[int] = []

    @property
    def last(self) -> int:
        """The number of the last entry that it was fed; 0 at first."""
        return self._state.last

    @property
    def generation(self) -> int:
        """The number of times that the view was folded."""
        return self._folding.generation

    @property
    def cost(self) -> int:
        """About how many tokens the view costs; 0 without a budget."""
        return self._cost

    @property
    def cache_point(self) -> int:
        """The number of the last entry that stays as it is shown; 0 where there is none."""
        return self._sections[self._frozen - 1].last if self._frozen else 0

    def feed(self, entries: Iterable[Entry]) -> None:
        """Take the entries that follow."""
        for entry in entries:
            known = len(self._state.hidden)
            self._state.feed((entry,))
            if entry.block.type in RECORDS:
                self._hide(len(self._state.hidden) - known)
            else:
                self._show(entry)
            limit = self._scale.limit
            if limit is not None and self._cost > limit and self._sections:
                self._fold(limit)
            self._freeze()

    def parts(self) -> list[Part]:
        """All parts. The list is the view's own: it is good until the next feed."""
        for mark in self._marks:
            if mark < len(self._flat):
                self._flat[mark] = structs.replace(self._flat[mark], cache=False)
        self._marks = []
        if not self._flat and self._folding.line:
            self._flat.append(TextPart(self._folding.line))
        for section in self._sections[len(self._ends) :]:
            self._flat += section.parts()
            self._ends.append(len(self._flat))
        if self._frozen:
            self._mark(self._ends[self._frozen - 1] - 1)
        self._mark(len(self._flat) - 1)
        return self._flat

    def owned(self) -> list[Owned]:
        """The same parts, each with the entries that it shows; without the marks of a cache."""
        line = self._folding.line
        top = [Owned((), TextPart(line))] if line else []
        return [*top, *(one for section in self._sections for one in section.owned())]

    @property
    def hidden(self) -> Collection[int]:
        """The numbers of the blocks that are hidden."""
        return self._state.hidden.keys()

    def split(self, seq: int) -> tuple[list[Part], list[Section]]:
        """The parts of what is up to an entry, and the sections after it."""
        at = bisect_right(self._sections, seq, key=lambda section: section.first)
        flat = self.parts()
        end = self._ends[at - 1] if at else bool(self._folding.line)
        return flat[:end], self._sections[at:]

    def shows(self, seq: int) -> bool:
        """Return whether a block is shown in full: neither hidden, nor folded, nor left out."""
        at = self._place(seq)
        return at is not None and seq not in self._state.hidden and self._sections[at].shows(seq)

    def _place(self, seq: int) -> int | None:
        """Return the index of the section of an entry; `None` if it is in no section."""
        at = bisect_right(self._sections, seq, key=lambda section: section.first) - 1
        return at if at >= 0 and seq <= self._sections[at].last else None

    def _mark(self, at: int) -> None:
        if at >= 0:
            self._flat[at] = structs.replace(self._flat[at], cache=True)
            self._marks.append(at)

    def _show(self, entry: Entry) -> None:
        last = self._sections[-1] if self._sections else None
        if last is not None and last.takes(entry.block):
            self._stale(len(self._sections) - 1)
            self._cost -= last.cost
            last.add(entry)
        else:
            last = Section(entry, self._scale, last)
            self._sections.append(last)
        self._cost += last.cost

    def _hide(self, count: int) -> None:
        """Lay placeholders over the blocks that were hidden last."""
        for seq in islice(reversed(self._state.hidden), count):
            at = self._place(seq)
            if at is None or at < self._frozen:
                continue
            section = self._sections[at]
            self._stale(at)
            self._cost -= section.cost
            section.hide(seq, self._state.placeholders[seq])
            self._cost += section.cost

    def _fold(self, limit: int) -> None:
        self._sections = self._folding.fold(self._sections, limit)
        self._cost = self._folding.cost(self._sections)
        self._frozen = 0
        self._ends, self._flat, self._marks = [], [], []

    def _freeze(self) -> None:
        """Move on to the cache point; the last section still grows."""
        last, point = len(self._sections) - 1, self._state.frozen
        while self._frozen < last and self._sections[self._frozen].last <= point:
            self._frozen += 1

    def _stale(self, at: int) -> None:
        """The parts of a section, and those after it, are put together anew."""
        if at < len(self._ends):
            del self._ends[at:]
            del self._flat[self._ends[-1] if self._ends else bool(self._folding.line) :]


def render(
    entries: Iterable[Entry],
    settings: CacheSettings | None = None,
    tokens: Tokens | None = None,
    budget: int | None = None,
    tools: ToolSpecs | None = None,
    spoken: Dialect | None = None,
) -> list[Part]:
    """The parts of a whole timeline."""
    view = ModelView(settings, tokens, budget, tools, spoken)
    view.feed(entries)
    return view.parts()


# --- The model view in segments: each part with the blocks that it shows ---
#
#     segments(timeline.entries())
#     →  Segment(seqs=(3,), text='[TOOL CALL c1].call list_files\npayload: {…}\n', tokens=14, …)
#
# The texts, put together, are those of the view without a budget. A record is shown by none; a
# block may be shown by two: a file stands in the summary of its call, and alone.


class Segment(msgspec.Struct, frozen=True):
    """A part: `kind` is text, image or document; `hidden` are those of its blocks that are.

    It is `frozen` up to the cache point: whatever is appended, it stays as it is.
    """

    seqs: tuple[int, ...]
    kind: str
    text: str
    tokens: int
    hidden: tuple[int, ...] = ()
    frozen: bool = False


class Segments(msgspec.Struct, frozen=True):
    """All segments. `tokens` is what they cost, `hidden_tokens` what is hidden would.

    `cache_point` is the number of the last block that stays as it is shown; 0 for none.
    """

    items: list[Segment]
    tokens: int
    hidden: list[int]
    hidden_tokens: int
    cache_point: int


def segments(entries: Iterable[Entry], tokens: Tokens | None = None) -> Segments:
    """The view of a whole timeline, by segments."""
    known, count = list(entries), tokens or Tokens()
    view = ModelView(tokens=count)
    view.feed(known)
    hidden = view.hidden
    items = [_segment(one, count, hidden, view.cache_point) for one in view.owned()]
    lost = sum(_cost(entry.block, count) for entry in known if entry.seq in hidden)
    total = sum(one.tokens for one in items)
    return Segments(items, total, sorted(hidden), lost, view.cache_point)


def _segment(one: Owned, count: Tokens, hidden: Iterable[int], point: int) -> Segment:
    part = one.part
    if isinstance(part, TextPart):
        kind, text, cost = "text", part.text, count.text(part.text)
    else:
        kind = "document" if part.mime == "application/pdf" else "image"
        text, cost = binary_line(part), count.binary(len(part.base64) * 3 // 4, part.mime)
    gone = tuple(seq for seq in one.seqs if seq in hidden)
    is_frozen = bool(one.seqs) and one.seqs[-1] <= point
    return Segment(one.seqs, kind, text, cost, gone, is_frozen)


def _cost(block: Block, count: Tokens) -> int:
    size = len(block.base64 or "") * 3 // 4
    return (count.text(block.text) if block.text else 0) + count.binary(size, block.mime)
