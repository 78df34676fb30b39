"""How far a long file, or a long timeline, is read, on standard error.

Shown only where a person can see it and nothing else is written to that terminal meanwhile.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from callblocks.cli.io import STDIN

__all__ = ("counted", "progress")

T = TypeVar("T")

LONG = 5 * 1024 * 1024
MANY = 2_000


@contextmanager
def progress(path: str, *, quiet: bool = False) -> Generator[Callable[[int], object] | None]:
    """Something to tell how many more bytes were read, or None where nobody would see it."""
    size = 0 if path == STDIN or not os.path.isfile(path) else os.path.getsize(path)
    if quiet or size < LONG or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True, markup=False)
    columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=size)
        yield lambda count: bar.advance(task, count)


def counted(things: Iterable[T], total: int) -> Iterator[T]:
    """The things as they come; how far they are is shown, if they are many."""
    if total < MANY or not sys.stderr.isatty():
        yield from things
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True, markup=False)
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        yield from bar.track(things, total)
