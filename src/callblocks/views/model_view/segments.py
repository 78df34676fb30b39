"""What a model is shown of a timeline, each part with the blocks that it shows.

    segments(timeline.entries())
    →  Segment(seqs=(3,), text='[TOOL CALL c1].call list_files\\npayload: {…}\\n', tokens=14, …)

The texts, put together, are those of the view without a budget. A record is shown by none; a
block may be shown by two: a file stands in the summary of its call, and alone.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from callblocks.model.blocks import Block, Entry
from callblocks.model.parts import TextPart, binary_line
from callblocks.timeline.tokens import Tokens
from callblocks.views.model_view.section import Owned
from callblocks.views.model_view.view import ModelView

__all__ = ("Segment", "Segments", "segments")


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
