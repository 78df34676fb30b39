"""What an id of a turn was used for: how many names its calls have taken, and which still run.

    abc, abc-2, abc-3        taken: 3
    abc-3 has no result      running: ["abc-3"]

Names that are taken stay so, and a call that has a result keeps it. So each name is looked at
once, however often the id comes again.
"""

from __future__ import annotations

__all__ = ("Uses",)


class Uses:
    """As far as the timeline was looked at."""

    def __init__(self) -> None:
        self.taken = 0
        self.running: list[str] = []
