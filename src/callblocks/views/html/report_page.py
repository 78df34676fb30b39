"""A report as one page of HTML: tables and plots, no script, nothing loaded, every text escaped.

A plot is a row for each value: its label, an SVG that is as wide as there is room, and the number
in words. So its texts have the size of all others, on a phone too, where the label stands above. A
Content-Security-Policy allows the page's one style element and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable

from callblocks.views.report import (
    Bar,
    Bars,
    Cell,
    Folded,
    Interval,
    Intervals,
    Link,
    Listing,
    Part,
    Section,
    Table,
)
from callblocks.views.rows import visible, visible_line

__all__ = ("report_page",)


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
            return _table(part)
        case Bars():
            return _bars(part)
        case Intervals():
            return _intervals(part)
        case Listing():
            return f"<pre>{html.escape(visible(part.text))}</pre>\n"
        case Folded():
            parts = "".join(map(_part, part.parts))
            return f"<details><summary>{_text(part.title)}</summary>\n{parts}</details>\n"


def _table(table: Table) -> str:
    head = "".join(
        f'<th scope="col"{" class=words" if at in table.words else ""}>{_text(cell)}</th>'
        for at, cell in enumerate(table.head)
    )
    rows = "".join(
        "<tr>" + "".join(_cell(cell, at in table.words) for at, cell in enumerate(row)) + "</tr>\n"
        for row in table.rows
    )
    head = f"<thead><tr>{head}</tr></thead>" if table.head else ""
    # What scrolls can be focused with the keyboard.
    return f'<div class="scroll" tabindex="0"><table>{head}<tbody>{rows}</tbody></table></div>\n'


def _cell(cell: Cell, is_words: bool) -> str:
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
