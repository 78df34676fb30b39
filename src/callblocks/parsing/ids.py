"""Ids of the calls in one text: each is used once."""

from __future__ import annotations

import re

__all__ = ("Ids", "is_made", "read_id")

_MADE = re.compile(r"tool-call-[0-9]+")


class Ids:
    """Gives out ids. An id that was written keeps its spelling unless it was used before."""

    def __init__(self, outer: Ids | None = None) -> None:
        """`outer` has given out ids before: what is given out here is not known to it."""
        self._used: set[str] = set()
        self._made = outer._made if outer else 0
        self._copies: dict[str, int] = {}
        self._outer = outer

    def join(self, inner: Ids) -> None:
        """Take over what was given out apart from this."""
        self._used |= inner._used
        self._made = inner._made
        self._copies |= inner._copies

    def make(self) -> str:
        """The next `tool-call-N` that nobody wrote."""
        while True:
            self._made += 1
            made = f"tool-call-{self._made}"
            if not self._is_used(made):
                self._used.add(made)
                return made

    def claim(self, written: str) -> str:
        """The id as written, or with the first of `-2`, `-3`, … that makes it unique."""
        claimed = written
        while self._is_used(claimed):
            self._copies[written] = self._count(written) + 1
            claimed = f"{written}-{self._copies[written]}"
        self._used.add(claimed)
        return claimed

    def _is_used(self, id_: str) -> bool:
        return id_ in self._used or (self._outer is not None and self._outer._is_used(id_))

    def _count(self, written: str) -> int:
        """How many calls have had an id."""
        outer = self._outer._count(written) if self._outer else 1
        return self._copies.get(written, outer)


def is_made(id_: str) -> bool:
    """Whether nobody wrote this id: it was given to a call that has none."""
    return _MADE.fullmatch(id_) is not None


def read_id(value: object) -> str | None:
    """An id as written: a string that is not blank, or a number as its decimal text."""
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value)
    return None
