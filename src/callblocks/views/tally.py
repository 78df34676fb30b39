"""What a text held, counted: the last line under a listing."""

from __future__ import annotations

from collections.abc import Iterable

from callblocks.model.events import CallReady, CallResult, Event, Malformed, Problem
from callblocks.views.rows import Bit, Kind, Row

__all__ = ("Tally",)


class Tally:
    """Counts events as they pass."""

    def __init__(self) -> None:
        self.calls = 0
        self.results = 0
        self.failures = 0
        self.problems = 0

    def count(self, events: Iterable[Event]) -> None:
        """Take more events."""
        for event in events:
            match event:
                case CallReady():
                    self.calls += 1
                case CallResult(result=result):
                    self.results += result.error is None
                    self.failures += result.error is not None
                case Malformed() | Problem():
                    self.problems += 1
                case _:
                    pass

    def row(self) -> Row:
        """Say it: `3 calls, 2 results, 1 problem`; what there is none of is left out."""
        counts: list[tuple[Kind, int, str]] = [
            ("quiet", self.calls, "call"),
            ("quiet", self.results, "result"),
            ("error", self.failures, "failure"),
            ("warning", self.problems, "problem"),
        ]
        row: list[Bit] = []
        for kind, count, what in counts:
            if count or what == "call":
                row.append(("quiet", ", " if row else ""))
                row.append((kind, f"{count:,} {what}{'' if count == 1 else 's'}"))
        return tuple(row)
