"""Height estimates for slide parts, and the split of content over several slides.

Heights are estimates in inches, from average letter widths, because no layout engine runs here: the
program that shows the slide decides. First the largest scale at which everything fits on one slide
is tried; if none does, parts are packed at the smallest scale, and text, code and tables are split
between lines or rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from callblocks.toolkits.rendering.grids import Grid
from callblocks.toolkits.rendering.highlighting import Piece
from callblocks.toolkits.rendering.letters import room_of
from callblocks.toolkits.rendering.slides import Code, Image, Line, Part, Slide, Table, Text

__all__ = (
    "AREA",
    "GAP",
    "LEFT",
    "RIGHT",
    "Area",
    "Page",
    "beside",
    "height_of",
    "pages_of",
    "sizes",
)

# Font sizes in points at scale 1.
TEXT, CODE, TABLE = 20.0, 14.0, 14.0
GAP = 0.2
_SCALES = (1.2, 1.1, 1.0, 0.9, 0.8)
_POINT = 1 / 72
# Average width of a letter relative to its height.
_LETTER = 0.49
# The ratio of a monospaced letter's width to that.
_WIDER = 0.61 / _LETTER
_CODE_EDGE = 0.25
_LEAST_IMAGE = 2.0
_FORMULA = 0.9


class Area(msgspec.Struct, frozen=True):
    """A rectangle on a slide."""

    left: float
    top: float
    width: float
    height: float


# The content area of a slide.
AREA = Area(0.7, 1.5, 11.93, 5.2)
LEFT = Area(AREA.left, AREA.top, AREA.width * 0.54, AREA.height)
# The right half, where a single picture stands beside the rest.
RIGHT = Area(AREA.left + LEFT.width + 0.35, AREA.top, AREA.width - LEFT.width - 0.35, AREA.height)


class Page(msgspec.Struct, frozen=True):
    """The content of one slide, and its scale."""

    title: str
    parts: list[Part]
    scale: float


def pages_of(slide: Slide) -> Iterator[Page]:
    """Split a slide into as many pages as it needs."""
    for scale in _SCALES:
        if _total(slide.parts, scale) <= AREA.height:
            yield Page(slide.title, slide.parts, scale)
            return
    scale = _SCALES[-1]
    pages = [*_packed(slide.parts, scale)]
    for number, parts in enumerate(pages, 1):
        more = f" ({number} of {len(pages)})" if len(pages) > 1 else ""
        yield Page(f"{slide.title}{more}", parts, scale)


def sizes(scale: float) -> tuple[float, float, float]:
    """Return the font sizes of text, code and tables in points."""
    return TEXT * scale, CODE * scale, TABLE * scale


def height_of(part: Part, scale: float, width: float = AREA.width) -> float:
    """Estimate the height of a part; pictures have a minimum and grow into free space."""
    match part:
        case Text():
            return sum(_line(line, scale, width) for line in part.lines)
        case Code():
            return sum(_code_line(line, scale, width) for line in part.lines) + _CODE_EDGE
        case Table():
            return sum(
                _row(part.grid, number, scale, width) for number in range(len(part.grid.rows))
            )
        case Image():
            return _FORMULA * scale if part.formula else _LEAST_IMAGE


def _total(parts: list[Part], scale: float) -> float:
    image, rest = beside(parts)
    area = LEFT if image else AREA
    return sum(height_of(part, scale, area.width) for part in rest) + GAP * max(0, len(rest) - 1)


def beside(parts: list[Part]) -> tuple[Image | None, list[Part]]:
    """Return the single picture for the right half, if there is one, and the other parts."""
    images = [part for part in parts if isinstance(part, Image) and not part.formula]
    rest = [part for part in parts if part not in images]
    if len(images) != 1 or not rest or any(isinstance(part, Code) for part in rest):
        return None, parts
    return images[0], rest


def _packed(parts: list[Part], scale: float) -> Iterator[list[Part]]:
    page, room = list[Part](), AREA.height
    rest = list(parts)
    while rest:
        # Progress is guaranteed: `_split` with `alone` places at least one line, row or picture.
        part = rest.pop(0)
        size = height_of(part, scale)
        if size <= room:
            page.append(part)
            room -= size + GAP
            continue
        fitting, more = _split(part, room, scale, alone=not page)
        if fitting is not None:
            page.append(fitting)
        yield page
        page, room = [], AREA.height
        if more is not None:
            rest.insert(0, more)
    if page:
        yield page


def _split(
    part: Part, room: float, scale: float, *, alone: bool
) -> tuple[Part | None, Part | None]:
    """Split a part into what fits and the rest; alone on a page, at least one line must fit."""
    match part:
        case Text():
            count = _fitting([_line(line, scale, AREA.width) for line in part.lines], room)
            count = max(count, int(alone))
            return _cut(Text(part.lines[:count]), count), _cut(
                Text(part.lines[count:]), count < len(part.lines)
            )
        case Code():
            heights = [_code_line(line, scale, AREA.width) for line in part.lines]
            count = max(_fitting(heights, room - _CODE_EDGE), int(alone))
            return _cut(Code(part.lines[:count]), count), Code(part.lines[count:])
        case Table():
            return _split_table(part.grid, room, scale, alone=alone)
        case Image():
            return (part, None) if alone else (None, part)


def _split_table(
    grid: Grid, room: float, scale: float, *, alone: bool
) -> tuple[Part | None, Part | None]:
    heads, rows = grid.rows[: grid.heads], grid.rows[grid.heads :]
    heights = [_row(grid, number, scale, AREA.width) for number in range(len(grid.rows))]
    count = _fitting(heights[grid.heads :], room - sum(heights[: grid.heads]))
    count = max(count, int(alone))
    first = replace(grid, rows=[*heads, *rows[:count]]) if count else None
    more = replace(grid, rows=[*heads, *rows[count:]]) if rows[count:] else None
    return first and Table(first), more and Table(more)


def _cut(part: Part, keep: object) -> Part | None:
    return part if keep else None


def _fitting(heights: list[float], room: float) -> int:
    count = 0
    for height in heights:
        room -= height
        if room < 0:
            break
        count += 1
    return count


def _line(line: Line, scale: float, width: float) -> float:
    size = TEXT * scale * (0.9 if line.level else 1.0)
    wide = max(1.0, width - 0.35 * (line.level + bool(line.sign)))
    rows = sum(_rows_of(room_of(text), size, wide) for text in line.text.split("\n"))
    return rows * size * 1.2 * _POINT + 0.08


def _code_line(line: list[Piece], scale: float, width: float) -> float:
    size = CODE * scale
    letters = sum(room_of(piece.text) for piece in line)
    return _rows_of(letters, size * _WIDER, width - 0.3) * size * 1.25 * _POINT


def _row(grid: Grid, number: int, scale: float, width: float) -> float:
    size = TABLE * scale
    wide = [part / 1000 for part in grid.widths(int(width * 1000))]
    rows = max(
        _rows_of(room_of(cell.text), size, part - 0.2)
        for cell, part in zip(grid.rows[number], wide, strict=True)
    )
    return rows * size * 1.2 * _POINT + 0.14


def _rows_of(letters: int, size: float, width: float) -> int:
    return max(1, math.ceil(letters * size * _LETTER * _POINT / max(width, 0.3)))
