"""One line of a text with its number, and under it what is wrong with it.

      7 │ Done. 🛠️[/end]
        │       ^^^^^^^^
        │       ⚠ emoji-bracket.stray-end: no block is open here

A line that is too wide goes on in the next row; carets stay under what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from callblocks.model.calls import Span
from callblocks.views.rows import Bit, Kind, Row, columns, plain, runs, wrap
from callblocks.views.safe import visible

__all__ = ("GUTTER", "Fault", "SourceLine", "draw_source")

GUTTER = 8
"""The columns of a number and its bar."""
_IN_BLOCK = ("mark", "code", "error")


class Fault(msgspec.Struct, frozen=True):
    """Something wrong in a span; a `grave` one is why there is no call."""

    span: Span
    code: str
    detail: str
    grave: bool


class SourceLine(msgspec.Struct, frozen=True):
    """A line with its end, or a part of a long one, which then has no number."""

    number: int | None
    start: int
    bits: Row
    faults: list[Fault]


def draw_source(line: SourceLine, width: int) -> list[Row]:
    """Draw a line and its faults."""
    text, room = plain(line.bits), max(20, width - GUTTER)
    bare = text.removesuffix("\n").removesuffix("\r")
    bar: Bit = ("mark", "┃ ") if _in_block(line.bits, bool(bare)) else ("quiet", "│ ")
    number: Row = (("quiet", f"{line.number or '':>{GUTTER - 3}} "), bar)
    if not line.faults and bare.isprintable() and columns(bare) <= room:
        return [(*number, *((kind, part.rstrip("\r\n")) for kind, part in line.bits))]
    chars: list[Bit] = [(kind, visible(char)) for kind, part in line.bits for char in part]
    return _draw_rows(line, chars[: len(bare)], number, width)


def _draw_rows(line: SourceLine, chars: list[Bit], number: Row, width: int) -> list[Row]:
    """Draw a line in as many rows as it takes, each with the faults that begin in it."""
    gutter: Row = (("quiet", " " * (GUTTER - 2)), number[1])
    shown = [text for _, text in chars]
    rows: list[Row] = []
    start = 0
    for end in _breaks(shown, max(20, width - GUTTER)):
        rows.append((*(gutter if start else number), *runs(chars[start:end])))
        for place, faults in _in_row(line, start, end, len(shown)):
            rows += _draw_faults(faults, place, shown[start:end], gutter, width)
        start = end
    return rows


def _in_block(bits: Row, solid: bool) -> bool:
    """Whether a line has a part of a block in it; a blank line, whether it stands in one."""
    return any(kind in _IN_BLOCK for kind, text in bits if not solid or text.strip("\r\n"))


def _in_row(
    line: SourceLine, start: int, end: int, length: int
) -> Iterator[tuple[Span, list[Fault]]]:
    """The faults that begin in a row, together where they look the same."""
    here: dict[Span, list[Fault]] = {}
    for fault in line.faults:
        at = max(fault.span[0] - line.start, 0)
        if start <= at and (at < end or end == length):
            stop = min(max(at, fault.span[1] - line.start), end)
            here.setdefault((at - start, stop - start), []).append(fault)
    yield from here.items()


def _breaks(shown: list[str], room: int) -> list[int]:
    """Where each row of a line ends."""
    ends: list[int] = []
    start = 0
    while start < len(shown):
        row = "".join(shown[start : start + room + 1])
        fits = sum(len(text) for _, text in wrap((("plain", row),), room)[0])
        end = start + 1
        used = len(shown[start])
        while end < len(shown) and used + len(shown[end]) <= fits:
            used += len(shown[end])
            end += 1
        # The blank at which a row breaks ends that row rather than begin the next.
        start = end + (end < len(shown) and shown[end] == " ")
        ends.append(start)
    return ends or [0]


def _draw_faults(
    faults: list[Fault], place: Span, row: list[str], gutter: Row, width: int
) -> list[Row]:
    """Carets under a place of a row, and below them what is wrong there."""
    before = columns("".join(row[: place[0]]))
    carets = "^" * max(1, columns("".join(row[place[0] : place[1]]).rstrip()))
    kind: Kind = "error" if any(fault.grave for fault in faults) else "warning"
    rows: list[Row] = [(*gutter, ("plain", " " * before), (kind, carets))]
    for fault in faults:
        rows += _draw_message(fault, before, gutter, width)
    return rows


def _draw_message(fault: Fault, before: int, gutter: Row, width: int) -> list[Row]:
    kind: Kind = "error" if fault.grave else "warning"
    head, room = f"{'✗' if fault.grave else '⚠'} {fault.code}", width - GUTTER
    # A message far to the right would be squeezed: it moves left until it has room.
    wide = min(columns(head + fault.detail), room)
    indent: Bit = ("plain", " " * max(0, min(before, room - max(24, wide))))
    hang: Row = (*gutter, indent, ("plain", "  "))
    return wrap((*gutter, indent, (kind, head), ("plain", fault.detail)), width, hang)
