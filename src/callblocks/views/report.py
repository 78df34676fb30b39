"""A report as values: sections of tables, plots and paragraphs, for a terminal and for a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

__all__ = ("Bar", "Bars", "Interval", "Intervals", "Part", "Section", "Table")


class Table(msgspec.Struct, frozen=True):
    """Rows of cells; the first column is words, the others are numbers."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


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


Part: TypeAlias = Table | Bars | Intervals | str


class Section(msgspec.Struct, frozen=True):
    """A heading, and what stands below it; a text is a paragraph."""

    title: str
    parts: Sequence[Part]
