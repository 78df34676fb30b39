"""A report as one page of HTML: tables and plots, no script, nothing loaded, every text escaped.

Plots are SVG elements with a table beside them that says the same in numbers. A
Content-Security-Policy allows the page's one style element and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Iterator

from callblocks.views.report import Bar, Bars, Interval, Intervals, Part, Section, Table
from callblocks.views.rows import visible_line

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
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); text-align: right;
  vertical-align: top; overflow-wrap: anywhere; }
th:first-child, td:first-child { text-align: left; min-width: 10rem; }
th { font-weight: 600; }
figure { margin: .75rem 0 1rem; }
svg { display: block; width: 100%; height: auto; font: 12px system-ui, sans-serif; }
svg text { fill: var(--ink); }
svg .note, svg .tick { fill: var(--quiet); }
svg .bar { fill: var(--bar); }
svg .grid { stroke: var(--line); }
svg .span { stroke: var(--bar); stroke-width: 3; }
@media print { body { max-width: none; } }
"""
_WIDE, _LABEL, _ROW = 720, 220, 22


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


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{_text(cell)}</th>' for cell in table.head)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>\n"
        for row in table.rows
    )
    head = f"<thead><tr>{head}</tr></thead>" if table.head else ""
    # What scrolls can be focused with the keyboard.
    return f'<div class="scroll" tabindex="0"><table>{head}<tbody>{rows}</tbody></table></div>\n'


def _bars(plot: Bars) -> str:
    most = max((bar.value for bar in plot.bars), default=0) or 1
    room = _WIDE - _LABEL - 130

    def row(at: int, bar: Bar) -> Iterator[str]:
        wide, top = room * max(bar.value, 0) / most, at * _ROW
        yield _label(bar.label, top)
        yield f'<rect class="bar" x="{_LABEL}" y="{top + 4}" width="{wide:.1f}" height="14"/>'
        x, y = f"{_LABEL + wide + 6:.1f}", top + 15
        yield f'<text class="note" x="{x}" y="{y}">{_text(bar.note)}</text>'

    drawn = "".join(piece for at, bar in enumerate(plot.bars) for piece in row(at, bar))
    return _figure(plot.about, len(plot.bars) * _ROW, drawn)


def _intervals(plot: Intervals) -> str:
    room, high = _WIDE - _LABEL - 130, len(plot.rows) * _ROW

    def x(value: float) -> float:
        return _LABEL + room * min(max(value, 0.0), 1.0)

    def row(at: int, one: Interval) -> Iterator[str]:
        y = at * _ROW + 11
        yield _label(one.label, at * _ROW)
        yield f'<line class="span" x1="{x(one.low):.1f}" x2="{x(one.high):.1f}" y1="{y}" y2="{y}"/>'
        yield f'<circle class="bar" cx="{x(one.value):.1f}" cy="{y}" r="5"/>'
        yield f'<text class="note" x="{_LABEL + room + 10}" y="{y + 4}">{_text(one.note)}</text>'

    grid = "".join(
        f'<line class="grid" x1="{x(at):.1f}" x2="{x(at):.1f}" y1="0" y2="{high}"/>'
        f'<text class="tick" x="{x(at):.1f}" y="{high + 14}" text-anchor="middle">{at:.0%}</text>'
        for at in (0.0, 0.25, 0.5, 0.75, 1.0)
    )
    drawn = "".join(piece for at, one in enumerate(plot.rows) for piece in row(at, one))
    return _figure(plot.about, high + 20, grid + drawn)


def _label(text: str, top: int) -> str:
    short = text if len(text) <= 32 else f"{text[:31]}…"
    return f'<text x="{_LABEL - 8}" y="{top + 15}" text-anchor="end">{_text(short)}</text>'


def _figure(about: str, high: int, content: str) -> str:
    return (
        f'<figure><svg viewBox="0 0 {_WIDE} {max(high, 1)}" role="img" '
        f'aria-label="{_text(about)}">{content}</svg>'
        f"<figcaption>{_text(about)}</figcaption></figure>\n"
    )


def _text(text: str) -> str:
    return html.escape(visible_line(text))
