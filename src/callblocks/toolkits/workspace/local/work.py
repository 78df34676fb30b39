"""Budgets of counted work for untrusted files.

A unit is about a microsecond: one day that a rule examines, one time that it names. Work is charged
before it is done, so a rule that names a million times ends before it creates them.

Why units and not a clock: the same file gives the same result on every machine and under load, and
tests need not wait.
"""

from __future__ import annotations

__all__ = ("Spent", "Work")


class Spent(ValueError):
    """The budget is used up."""

    def __init__(self) -> None:
        super().__init__("it takes too many steps")


class Work:
    """The remaining units; `shared` is a budget that others spend from as well."""

    def __init__(self, units: int, shared: Work | None = None) -> None:
        self.left = units
        self._shared = shared

    def spend(self, units: int = 1) -> None:
        """Take units from the budget; raise `Spent` if there are not enough."""
        if units > self.left:
            # Set it to zero: smaller amounts must be refused from now on too, or the result would
            # depend on the order of the work.
            self.left = 0
            raise Spent
        self.left -= units
        if self._shared is not None:
            self._shared.spend(units)
