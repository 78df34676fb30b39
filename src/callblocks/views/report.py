"""A report as values: sections of tables, plots and paragraphs, for a terminal and for a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

__all__ = (
    "Bar",
    "Bars",
    "Cell",
    "Folded",
    "Interval",
    "Intervals",
    "Link",
    "Listing",
    "Part",
    "Section",
    "Table",
    "cell_text",
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


class Listing(msgspec.Struct, frozen=True):
    """A text as it stands, with its lines."""

    text: str


class Folded(msgspec.Struct, frozen=True):
    """Parts that are shown when they are asked for, and by no terminal."""

    title: str
    parts: Sequence[Part]


Part: TypeAlias = "Table | Bars | Intervals | Listing | Folded | str"


class Section(msgspec.Struct, frozen=True):
    """A heading, and what stands below it; a text is a paragraph."""

    title: str
    parts: Sequence[Part]
