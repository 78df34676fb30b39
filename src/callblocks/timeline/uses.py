"""Uses of an id in a turn: how many names its calls have taken, and which still run.

    abc, abc-2, abc-3        taken: 3
    abc-3 has no result      running: ["abc-3"]

A taken name stays taken, and a result is never removed. So each name is visited once, however often
the id comes again.
"""

from __future__ import annotations

__all__ = ("Uses",)


class Uses:
    """The uses of an id, as far as the timeline was read."""

    def __init__(self) -> None:
        self.taken = 0
        self.running: list[str] = []
