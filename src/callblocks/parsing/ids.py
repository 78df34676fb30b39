"""Call ids: unique within one text.

A written id keeps its spelling unless it was used before; then it gets the suffix `-2`, `-3`, …. A
call without one gets the next free `tool-call-N`. The fork of a parser has ids of its own that know
those of the outer parser, so that a refused fork leaves no trace (see `fenced_calls`).
"""

from __future__ import annotations

import re

__all__ = ("Ids", "is_made", "read_id")

_MADE = re.compile(r"tool-call-[0-9]+")


class Ids:
    """The ids that were given out in one text."""

    def __init__(self, outer: Ids | None = None) -> None:
        """Start with the ids of `outer` as used; `outer` learns of new ones only by `join`."""
        self._used: set[str] = set()
        self._made = outer._made if outer else 0
        self._copies: dict[str, int] = {}
        self._outer = outer

    def join(self, inner: Ids) -> None:
        """Take over the ids that a fork gave out."""
        # `_made` and `_copies` of the fork continued those of this one, so they replace them.
        self._used |= inner._used
        self._made = inner._made
        self._copies |= inner._copies

    def make(self) -> str:
        """Return the next `tool-call-N` that is not in use."""
        while True:
            self._made += 1
            made = f"tool-call-{self._made}"
            if not self._is_used(made):
                self._used.add(made)
                return made

    def claim(self, written: str) -> str:
        """Return the id as written, or with the first of `-2`, `-3`, … that makes it unique."""
        # The last suffix is remembered per id: counting up from 2 each time is quadratic where a
        # model gives the same id to every call.
        claimed = written
        while self._is_used(claimed):
            self._copies[written] = self._count(written) + 1
            claimed = f"{written}-{self._copies[written]}"
        self._used.add(claimed)
        return claimed

    def _is_used(self, id_: str) -> bool:
        return id_ in self._used or (self._outer is not None and self._outer._is_used(id_))

    def _count(self, written: str) -> int:
        """Return the last suffix number that was tried for an id, at least 1."""
        outer = self._outer._count(written) if self._outer else 1
        return self._copies.get(written, outer)


def is_made(id_: str) -> bool:
    """Return whether an id has the form of those that are given to calls without one."""
    return _MADE.fullmatch(id_) is not None


def read_id(value: object) -> str | None:
    """Return a written id: a string that is not blank, or a number as its decimal text."""
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value)
    return None
