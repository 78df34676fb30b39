"""A budget of work: what the files of others may cost, counted and never measured by a clock.

A unit is about a microsecond: one day that a rule looks at, one time that it names. Whoever does
the work spends before doing it, so a rule that names a million times ends before it makes them.
"""

from __future__ import annotations

__all__ = ("Spent", "Work")


class Spent(ValueError):
    """The budget is used up."""

    def __init__(self) -> None:
        super().__init__("it takes too many steps")


class Work:
    """Units that are left; `shared` is a budget that others spend from, too."""

    def __init__(self, units: int, shared: Work | None = None) -> None:
        self.left = units
        self._shared = shared

    def spend(self, units: int = 1) -> None:
        """Take units out of the budget; raise `Spent` where there are not as many."""
        if units > self.left:
            # Whatever comes next is refused too, however small it is.
            self.left = 0
            raise Spent
        self.left -= units
        if self._shared is not None:
            self._shared.spend(units)
