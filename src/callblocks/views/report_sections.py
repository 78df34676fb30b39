"""A report as values: sections of tables, plots and paragraphs, for a terminal and for a page."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec

from callblocks.views.rows import Row, columns, visible, visible_line, wrap

__all__ = (
    "Bar",
    "Bars",
    "Cell",
    "Folded",
    "Interval",
    "Intervals",
    "Link",
    "Part",
    "Section",
    "Table",
    "Verbatim",
    "cell_text",
    "report_page",
    "section_rows",
)


class Link(msgspec.Struct, frozen=True):
    """A cell that leads somewhere: an address of http, as the program that made it knows it."""

    text: str
    href: str


Cell: TypeAlias = str | Link


def cell_text(cell: Cell) -> str:
    """Return the words of a cell."""
    return cell.text if isinstance(cell, Link) else cell


class Table(msgspec.Struct, frozen=True):
    """Rows of cells; the first column is words, the others are numbers."""

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    words: Sequence[int] = ()
    """Further columns that are words."""


class Bar(msgspec.Struct, frozen=True):
    """A bar; `note` is the number as it is shown, beside it."""

    label: str
    value: float
    note: str


class Bars(msgspec.Struct, frozen=True):
    """Horizontal bars from zero."""

    about: str
    bars: Sequence[Bar]


class Interval(msgspec.Struct, frozen=True):
    """A value between 0 and 1 with its confidence interval."""

    label: str
    low: float
    value: float
    high: float
    note: str


class Intervals(msgspec.Struct, frozen=True):
    """Values with their intervals, on one scale from 0 to 100 %."""

    about: str
    rows: Sequence[Interval]


class Verbatim(msgspec.Struct, frozen=True):
    """A text as it stands, with its lines."""

    text: str


class Folded(msgspec.Struct, frozen=True):
    """Parts that are shown when they are asked for, and by no terminal."""

    title: str
    parts: Sequence[Part]


Part: TypeAlias = "Table | Bars | Intervals | Verbatim | Folded | str"


class Section(msgspec.Struct, frozen=True):
    """A heading, and what stands below it; a text is a paragraph."""

    title: str
    parts: Sequence[Part]


# --- Sections of a report as rows of a terminal: tables with their numbers to the right; no
#     plots ---

_LEAST = 12


def section_rows(sections: Sequence[Section], width: int) -> list[Row]:
    """A heading for each section, its tables and its paragraphs, with an empty row before it."""
    rows: list[Row] = []
    for section in sections:
        rows.append(())
        rows.append((("heading", visible_line(section.title)),))
        for part in section.parts:
            if isinstance(part, Table):
                rows += _table(part, width)
            elif isinstance(part, str):
                rows += wrap((("quiet", f"  {visible_line(part)}"),), width, (("quiet", "  "),))
    return rows[1:]


def _table(table: Table, width: int) -> list[Row]:
    lines = [[visible_line(cell_text(cell)) for cell in row] for row in table.rows]
    head = [list(table.head)] if table.head else []
    count = max(map(len, [*head, *lines]), default=0)
    widths = [
        max((columns(row[at]) for row in (*head, *lines) if at < len(row)), default=0)
        for at in range(count)
    ]
    over = sum(widths) + 2 * count - width
    if over > 0 and count:
        # The words give way first, then the last column, which may hold examples.
        for at in (0, count - 1):
            cut = min(max(over, 0), max(0, widths[at] - _LEAST))
            widths[at] -= cut
            over -= cut
    rows: list[Row] = [(("quiet", _line(row, widths)),) for row in head]
    return rows + [(("plain", _line(row, widths)),) for row in lines]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    cut = zip(cells, widths, strict=False)
    shown = [_cell(cell, wide, at == 0) for at, (cell, wide) in enumerate(cut)]
    return f"  {'  '.join(shown)}".rstrip()


def _cell(cell: str, wide: int, is_left: bool) -> str:
    if columns(cell) > wide:
        while cell and columns(cell) > wide - 1:
            cell = cell[:-1]
        cell += "…"
    gap = " " * (wide - columns(cell))
    return cell + gap if is_left else gap + cell


# --- A report as one page of HTML: tables and plots, no script, nothing loaded, every text
#     escaped ---
#
# A plot is a row for each value: its label, an SVG that is as wide as there is room, and the number
# in words. So its texts have the size of all others, on a phone too, where the label stands
# above. A
# Content-Security-Policy allows the page's one style element and nothing else.

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --quiet: #5b6470; --line: #d8dde3;
  --bar: #3b6fd4; --back: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --quiet: #9aa4b0; --line: #333a43;
  --bar: #7aa5ff; --back: #14171b; } }
body { margin: 0 auto; max-width: 60rem; padding: 2rem 1.25rem 4rem; background: var(--back);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2.5rem 0 .5rem; }
.sub, figcaption { color: var(--quiet); }
.scroll { overflow-x: auto; margin: .75rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); text-align: right;
  vertical-align: top; white-space: nowrap; }
th:first-child, td:first-child, .words { text-align: left; white-space: normal; }
td:first-child, .words { overflow-wrap: anywhere; min-width: 7rem; }
.words { max-width: 28rem; }
th { font-weight: 600; vertical-align: bottom; }
a { color: var(--bar); }
details { margin: .5rem 0; }
summary { cursor: pointer; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.45 ui-monospace, monospace;
  border-left: 3px solid var(--line); padding-left: .75rem; }
figure { margin: .75rem 0 1.25rem; }
.plot { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr max-content;
  column-gap: .75rem; align-items: center; font-size: .875rem; line-height: 1.5rem; }
.plot .label { text-align: right; overflow-wrap: anywhere; }
.plot .note { color: var(--quiet); }
.plot svg { display: block; width: 100%; height: 1.5rem; overflow: visible; }
.plot svg * { vector-effect: non-scaling-stroke; }
.bar { fill: var(--bar); }
.grid { stroke: var(--line); }
.span { stroke: var(--bar); stroke-width: 3; }
.dot { stroke: var(--bar); stroke-width: 10; stroke-linecap: round; }
.ticks { grid-column: 2; display: flex; justify-content: space-between; color: var(--quiet);
  font-size: .75rem; }
.ticks span { display: flex; width: 0; justify-content: center; }
@media (max-width: 36rem) {
  .plot { grid-template-columns: 1fr max-content; }
  .plot .label { grid-column: 1 / -1; text-align: left; line-height: 1.25rem; }
  .ticks { grid-column: 1; }
}
@media print { body { max-width: none; } }
"""


def report_page(title: str, subtitle: str, sections: Iterable[Section]) -> str:
    """Return the page."""
    body = "".join(_section(section) for section in sections)
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{_text(title)} · callblocks</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f'<h1>{_text(title)}</h1>\n<p class="sub">{_text(subtitle)}</p>\n{body}</body>\n</html>\n'
    )


def _section(section: Section) -> str:
    parts = "".join(_part(part) for part in section.parts)
    return f"<section><h2>{_text(section.title)}</h2>\n{parts}</section>\n"


def _part(part: Part) -> str:
    match part:
        case str():
            return f"<p>{_text(part)}</p>\n"
        case Table():
            return _html_table(part)
        case Bars():
            return _bars(part)
        case Intervals():
            return _intervals(part)
        case Verbatim():
            return f"<pre>{html.escape(visible(part.text))}</pre>\n"
        case Folded():
            parts = "".join(map(_part, part.parts))
            return f"<details><summary>{_text(part.title)}</summary>\n{parts}</details>\n"


def _html_table(table: Table) -> str:
    head = "".join(
        f'<th scope="col"{" class=words" if at in table.words else ""}>{_text(cell)}</th>'
        for at, cell in enumerate(table.head)
    )
    rows = "".join(
        "<tr>"
        + "".join(_html_cell(cell, at in table.words) for at, cell in enumerate(row))
        + "</tr>\n"
        for row in table.rows
    )
    head = f"<thead><tr>{head}</tr></thead>" if table.head else ""
    # What scrolls can be focused with the keyboard.
    return f'<div class="scroll" tabindex="0"><table>{head}<tbody>{rows}</tbody></table></div>\n'


def _html_cell(cell: Cell, is_words: bool) -> str:
    tag = "<td class=words>" if is_words else "<td>"
    if isinstance(cell, Link):
        return f'{tag}<a href="{html.escape(cell.href)}">{_text(cell.text)}</a></td>'
    return f"{tag}{_text(cell)}</td>"


def _bars(plot: Bars) -> str:
    most = max((bar.value for bar in plot.bars), default=0) or 1

    def drawn(bar: Bar) -> str:
        wide = 100 * max(bar.value, 0) / most
        return _plot_row(
            bar.label, f'<rect class="bar" y="20" height="60" width="{wide:.2f}"/>', bar.note
        )

    return _figure(plot.about, "".join(map(drawn, plot.bars)))


_TICKS = (0, 25, 50, 75, 100)
_GRID = "".join(f'<path class="grid" d="M{at} 0v100"/>' for at in _TICKS)
_SCALE = f'<span class="ticks">{"".join(f"<span>{at}%</span>" for at in _TICKS)}</span>'


def _intervals(plot: Intervals) -> str:
    def drawn(one: Interval) -> str:
        low, value, high = (100 * min(max(at, 0.0), 1.0) for at in (one.low, one.value, one.high))
        span = f'<path class="span" d="M{low:.2f} 50H{high:.2f}"/>'
        # A line of no length with round ends is a dot, however wide the plot is drawn.
        dot = f'<path class="dot" d="M{value:.2f} 50h.01"/>'
        return _plot_row(one.label, f"{_GRID}{span}{dot}", one.note)

    return _figure(plot.about, "".join(map(drawn, plot.rows)) + _SCALE)


def _plot_row(label: str, drawn: str, note: str) -> str:
    return (
        f'<span class="label">{_text(label)}</span>'
        f'<svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">{drawn}</svg>'
        f'<span class="note">{_text(note)}</span>\n'
    )


def _figure(about: str, content: str) -> str:
    return (
        f"<figure><figcaption>{_text(about)}</figcaption>\n"
        f'<div class="plot">{content}</div></figure>\n'
    )


def _text(text: str) -> str:
    return html.escape(visible_line(text))
