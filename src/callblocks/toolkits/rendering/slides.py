"""Markdown as slides: each heading of the first two levels, and each `---`, begins one.

A heading with nothing but a line or two below it, at the very beginning, is the title of all.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec
from markdown_it.tree import SyntaxTreeNode
from msgspec.structs import replace

from callblocks.toolkits.rendering.formulas import formula_svg
from callblocks.toolkits.rendering.grids import Grid, grid_of
from callblocks.toolkits.rendering.highlighting import Piece, highlighted
from callblocks.toolkits.rendering.outside import Outside
from callblocks.toolkits.rendering.reading import Document, plain_text
from callblocks.toolkits.rendering.runs import Run, runs_of, without_tags

__all__ = ("Code", "Image", "Line", "Part", "Slide", "Table", "Text", "slides_of")

_TASKS = {True: "☒", False: "☐"}
_TITLE_LINES = 3


class Line(msgspec.Struct, frozen=True):
    """A paragraph. `sign` stands before it; "#" is an automatic number."""

    runs: list[Run]
    level: int = 0
    sign: str = ""
    number: int = 0
    quoted: bool = False

    @property
    def text(self) -> str:
        """The plain text."""
        return "".join(run.text for run in self.runs)


class Text(msgspec.Struct, frozen=True):
    """Consecutive paragraphs and items."""

    lines: list[Line]


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


Part: TypeAlias = Text | Code | Table | Image


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
        case [Text(lines)]:
            plain = all(not line.sign and len(line.text) < 160 for line in lines)
            return bool(slide.title) and plain and len(lines) <= _TITLE_LINES
        case parts:
            return not parts


def _joined(parts: Iterable[Part]) -> Iterator[Part]:
    """Join consecutive texts."""
    lines: list[Line] = []
    for part in parts:
        if isinstance(part, Text):
            lines += part.lines
            continue
        if lines:
            yield Text(lines)
            lines = []
        yield part
    if lines:
        yield Text(lines)


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
                yield Text([Line([Run(text=words)], level)])
        case _:
            for child in node.children:
                yield from _parts(child, level + (node.type == "dd"), outside)


def _paragraph(runs: list[Run], level: int, *, bold: bool) -> Iterator[Part]:
    words = [replace(run, bold=True) if bold else run for run in runs if not run.picture]
    if any(run.text.strip() or run.note for run in words):
        yield Text([Line(words, level)])
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
                first = fresh and isinstance(part, Text) and child.type == "paragraph"
                yield _signed(part, sign, number) if first else part
                fresh = fresh and not first


def _signed(part: Part, sign: str, number: int) -> Part:
    assert isinstance(part, Text)
    return Text([replace(part.lines[0], sign=sign, number=number), *part.lines[1:]])


def _quoted(part: Part) -> Part:
    if not isinstance(part, Text):
        return part
    return Text([replace(line, quoted=True) for line in part.lines])


def _formula(tex: str, outside: Outside) -> Part:
    svg = formula_svg(tex, outside)
    if not svg:
        return Text([Line([Run(text=tex.strip(), math=True)])])
    return Image(f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}", tex.strip(), True)


def _ending(document: Document) -> Iterator[Slide]:
    """Yield the slides of footnotes and sources."""
    notes = [
        Line([run for part in note.children for run in _first(part)], 0, "#", number)
        for number, note in document.notes.items()
    ]
    if notes:
        yield Slide("Notes", [Text(notes)])
    sources = [
        Line(
            [
                Run(text=f"{source.title or source.address}  "),
                Run(text=source.address if source.title else "", link=source.address),
                Run(text=f"  {source.date}" if source.date else ""),
            ],
            0,
            "#",
            number,
        )
        for number, source in document.references.listed
    ]
    if sources:
        yield Slide("Sources", [Text(sources)])


def _first(part: SyntaxTreeNode) -> list[Run]:
    return [*runs_of(part.children[0])] if part.children else []
