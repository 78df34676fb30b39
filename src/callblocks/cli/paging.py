"""Rows for a person, with a pager where they are more than the screen holds.

Without a terminal they are plain text, as everywhere. `PAGER` is honoured.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING

import click

from callblocks.cli.paint import Paper, paint
from callblocks.views.rows import Row

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ("page",)

_AT_ONCE = 100


def page(paper: Paper, rows: Iterable[Row]) -> None:
    """Show rows as they come; no more of them are made than are looked at."""
    coming = iter(rows)
    if paper.console is None or not paper.terminal or not sys.stdin.isatty():
        for some in _some(coming):
            paper.print(some)
        return
    first = list(islice(coming, paper.console.height))
    if len(first) < paper.console.height:
        paper.print(first)
        return
    click.echo_via_pager(_texts(paper.console, chain([first], _some(coming))))


def _some(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while some := list(islice(rows, _AT_ONCE)):
        yield some


def _texts(console: Console, rows: Iterable[list[Row]]) -> Iterator[str]:
    for some in rows:
        with console.capture() as captured:
            console.print(paint(some), soft_wrap=True)
        yield captured.get()
