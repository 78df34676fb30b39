"""How far a long file, or a long timeline, is read, on standard error.

Shown only where a person can see it and nothing else is written to that terminal meanwhile.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from callblocks.cli.io import STDIN

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ("counted", "progress")

T = TypeVar("T")

LONG = 5 * 1024 * 1024
MANY = 2_000


@contextmanager
def progress(path: str, *, quiet: bool = False) -> Generator[Callable[[int], object] | None]:
    """Something to tell how many more bytes were read, or None where nobody would see it."""
    size = 0 if path == STDIN or not os.path.isfile(path) else os.path.getsize(path)
    bar = None if quiet or size < LONG or not sys.stderr.isatty() else _bar("DownloadColumn")
    if bar is None:
        yield None
        return
    with bar:
        task = bar.add_task("", total=size)
        yield lambda count: bar.advance(task, count)


def counted(things: Iterable[T], total: int) -> Iterator[T]:
    """The things as they come; how far they are is shown, if they are many."""
    bar = None if total < MANY or not sys.stderr.isatty() else _bar("MofNCompleteColumn")
    if bar is None:
        yield from things
        return
    with bar:
        yield from bar.track(things, total)


def _bar(column: str) -> Progress | None:
    """Return a bar with a column of that name, or None where rich is not installed."""
    try:
        from rich import progress as parts
        from rich.console import Console
    except ImportError:
        return None
    columns = (parts.BarColumn(), getattr(parts, column)(), parts.TimeRemainingColumn())
    return parts.Progress(*columns, console=Console(stderr=True, markup=False), transient=True)
