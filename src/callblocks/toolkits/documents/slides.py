"""Markdown as slides: each heading of the first two levels, and each `---`, begins one.

A heading with nothing but a line or two below it, at the very beginning, is the title of all.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec
from markdown_it.tree import SyntaxTreeNode
from msgspec.structs import replace

from callblocks.toolkits.documents.markdown_tree import Document, plain_text
from callblocks.toolkits.documents.render_protocol import Outside
from callblocks.toolkits.documents.runs import (
    Grid,
    Piece,
    TextRun,
    formula_svg,
    grid_of,
    highlighted,
    room_of,
    runs_of,
    without_tags,
)

__all__ = (
    "AREA",
    "GAP",
    "LEFT",
    "RIGHT",
    "Area",
    "Code",
    "Image",
    "Part",
    "Slide",
    "SlideLine",
    "SlidePage",
    "SlideText",
    "Table",
    "beside",
    "height_of",
    "pages_of",
    "sizes",
    "slides_of",
)

_TASKS = {True: "☒", False: "☐"}
_TITLE_LINES = 3


class SlideLine(msgspec.Struct, frozen=True):
    """A paragraph. `sign` stands before it; "#" is an automatic number."""

    runs: list[TextRun]
    level: int = 0
    sign: str = ""
    number: int = 0
    quoted: bool = False

    @property
    def text(self) -> str:
        """The plain text."""
        return "".join(run.text for run in self.runs)


class SlideText(msgspec.Struct, frozen=True):
    """Consecutive paragraphs and items."""

    lines: list[SlideLine]


class Code(msgspec.Struct, frozen=True):
    """Lines of code."""

    lines: list[list[Piece]]


class Table(msgspec.Struct, frozen=True):
    """A table."""

    grid: Grid


class Image(msgspec.Struct, frozen=True):
    """A picture by its name in the document, or a drawn `formula`."""

    name: str
    about: str = ""
    formula: bool = False


Part: TypeAlias = SlideText | Code | Table | Image


class Slide(msgspec.Struct, frozen=True):
    """One slide; with `opens` it begins a deck or a part of it, and has at most a few lines."""

    title: str
    parts: list[Part]
    opens: bool = False


def slides_of(document: Document, outside: Outside) -> list[Slide]:
    """Return all slides of a document, with its notes and sources at the end."""
    found = [_slide(title, level, blocks, outside) for title, level, blocks in _cut(document)]
    slides = [slide for slide in found if slide.title or slide.parts]
    first = slides[0] if slides else None
    if first is not None and (_is_title(first) or first.opens):
        slides[0] = replace(first, opens=True)
    elif document.title:
        slides.insert(0, Slide(document.title, [], opens=True))
    return [*slides, *_ending(document)]


def _cut(document: Document) -> Iterator[tuple[str, int, list[SyntaxTreeNode]]]:
    title, level, blocks = "", 0, list[SyntaxTreeNode]()
    for block in document.blocks:
        begins = block.type == "heading" and block.tag in ("h1", "h2")
        if block.type == "hr" or begins:
            # A rule right before a heading, or at the end of a slide, is a single cut.
            if title or blocks:
                yield title, level, blocks
            title, level, blocks = "", 0, []
        if begins:
            title, level = plain_text(block).strip(), int(block.tag[1])
        elif block.type != "hr":
            blocks.append(block)
    yield title, level, blocks


def _slide(title: str, level: int, blocks: list[SyntaxTreeNode], outside: Outside) -> Slide:
    parts = [*_joined(part for block in blocks for part in _parts(block, 0, outside))]
    return Slide(title, parts, opens=level == 1 and not parts)


def _is_title(slide: Slide) -> bool:
    match slide.parts:
        case [SlideText(lines)]:
            plain = all(not line.sign and len(line.text) < 160 for line in lines)
            return bool(slide.title) and plain and len(lines) <= _TITLE_LINES
        case parts:
            return not parts


def _joined(parts: Iterable[Part]) -> Iterator[Part]:
    """Join consecutive texts."""
    lines: list[SlideLine] = []
    for part in parts:
        if isinstance(part, SlideText):
            lines += part.lines
            continue
        if lines:
            yield SlideText(lines)
            lines = []
        yield part
    if lines:
        yield SlideText(lines)


def _parts(node: SyntaxTreeNode, level: int, outside: Outside) -> Iterator[Part]:
    match node.type:
        case "paragraph" | "dt" | "heading":
            runs = [*runs_of(node.children[0])]
            yield from _paragraph(runs, level, bold=node.type != "paragraph")
        case "bullet_list" | "ordered_list":
            yield from _items(node, level, outside)
        case "blockquote":
            inner = (part for child in node.children for part in _parts(child, level, outside))
            yield from map(_quoted, inner)
        case "fence" | "code_block":
            words = node.info.split()
            yield Code(highlighted(node.content, words[0] if words else ""))
        case "table":
            if (grid := grid_of(node)).rows:
                yield Table(grid)
        case "math_block" | "math_block_label":
            yield _formula(node.content, outside)
        case "html_block":
            if words := without_tags(node.content):
                yield SlideText([SlideLine([TextRun(text=words)], level)])
        case _:
            for child in node.children:
                yield from _parts(child, level + (node.type == "dd"), outside)


def _paragraph(runs: list[TextRun], level: int, *, bold: bool) -> Iterator[Part]:
    words = [replace(run, bold=True) if bold else run for run in runs if not run.picture]
    if any(run.text.strip() or run.note for run in words):
        yield SlideText([SlideLine(words, level)])
    for run in runs:
        if run.picture:
            yield Image(run.picture, run.text)


def _items(node: SyntaxTreeNode, level: int, outside: Outside) -> Iterator[Part]:
    start = int(node.attrs.get("start", 1))
    for number, item in enumerate(node.children, start):
        task = item.meta.get("task")
        sign = "#" if node.type == "ordered_list" else "•" if task is None else _TASKS[task]
        fresh = True
        for child in item.children:
            for part in _parts(child, level + (child.type.endswith("_list")), outside):
                first = fresh and isinstance(part, SlideText) and child.type == "paragraph"
                yield _signed(part, sign, number) if first else part
                fresh = fresh and not first


def _signed(part: Part, sign: str, number: int) -> Part:
    assert isinstance(part, SlideText)
    return SlideText([replace(part.lines[0], sign=sign, number=number), *part.lines[1:]])


def _quoted(part: Part) -> Part:
    if not isinstance(part, SlideText):
        return part
    return SlideText([replace(line, quoted=True) for line in part.lines])


def _formula(tex: str, outside: Outside) -> Part:
    svg = formula_svg(tex, outside)
    if not svg:
        return SlideText([SlideLine([TextRun(text=tex.strip(), math=True)])])
    return Image(f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}", tex.strip(), True)


def _ending(document: Document) -> Iterator[Slide]:
    """Yield the slides of footnotes and sources."""
    notes = [
        SlideLine([run for part in note.children for run in _first(part)], 0, "#", number)
        for number, note in document.notes.items()
    ]
    if notes:
        yield Slide("Notes", [SlideText(notes)])
    sources = [
        SlideLine(
            [
                TextRun(text=f"{source.title or source.address}  "),
                TextRun(text=source.address if source.title else "", link=source.address),
                TextRun(text=f"  {source.date}" if source.date else ""),
            ],
            0,
            "#",
            number,
        )
        for number, source in document.references.listed
    ]
    if sources:
        yield Slide("Sources", [SlideText(sources)])


def _first(part: SyntaxTreeNode) -> list[TextRun]:
    return [*runs_of(part.children[0])] if part.children else []


# --- Height estimates for slide parts, and the split of content over several slides ---
#
# Heights are estimates in inches, from average letter widths, because no layout engine runs here:
# the program that shows the slide decides. First the largest scale at which everything fits on one
# slide is tried; if none does, parts are packed at the smallest scale, and text, code and tables
# are split between lines or rows.

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


class SlidePage(msgspec.Struct, frozen=True):
    """The content of one slide, and its scale."""

    title: str
    parts: list[Part]
    scale: float


def pages_of(slide: Slide) -> Iterator[SlidePage]:
    """Split a slide into as many pages as it needs."""
    for scale in _SCALES:
        if _total(slide.parts, scale) <= AREA.height:
            yield SlidePage(slide.title, slide.parts, scale)
            return
    scale = _SCALES[-1]
    pages = [*_packed(slide.parts, scale)]
    for number, parts in enumerate(pages, 1):
        more = f" ({number} of {len(pages)})" if len(pages) > 1 else ""
        yield SlidePage(f"{slide.title}{more}", parts, scale)


def sizes(scale: float) -> tuple[float, float, float]:
    """Return the font sizes of text, code and tables in points."""
    return TEXT * scale, CODE * scale, TABLE * scale


def height_of(part: Part, scale: float, width: float = AREA.width) -> float:
    """Estimate the height of a part; pictures have a minimum and grow into free space."""
    match part:
        case SlideText():
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
        case SlideText():
            count = _fitting([_line(line, scale, AREA.width) for line in part.lines], room)
            count = max(count, int(alone))
            return _cut_to_room(SlideText(part.lines[:count]), count), _cut_to_room(
                SlideText(part.lines[count:]), count < len(part.lines)
            )
        case Code():
            heights = [_code_line(line, scale, AREA.width) for line in part.lines]
            count = max(_fitting(heights, room - _CODE_EDGE), int(alone))
            return _cut_to_room(Code(part.lines[:count]), count), Code(part.lines[count:])
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


def _cut_to_room(part: Part, keep: object) -> Part | None:
    return part if keep else None


def _fitting(heights: list[float], room: float) -> int:
    count = 0
    for height in heights:
        room -= height
        if room < 0:
            break
        count += 1
    return count


def _line(line: SlideLine, scale: float, width: float) -> float:
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
