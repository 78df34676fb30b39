"""Time two things side by side, and print rows."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from time import process_time

__all__ = ("best_of", "print_table")


def best_of(jobs: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """The least processor time of each job in seconds; the jobs take turns in the same noise."""
    best = [float("inf")] * len(jobs)
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for at, job in enumerate(jobs):
                began = process_time()
                job()
                best[at] = min(best[at], process_time() - began)
    finally:
        gc.enable()
    return best


def print_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns: the first one to the left, the others to the right."""
    table = [head, *rows]
    widths = [max(len(row[at]) for row in table) for at in range(len(head))]
    print(f"\n{title}")
    for row in table:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        print("  ".join(cells).rstrip())
