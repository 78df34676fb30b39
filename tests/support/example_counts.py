"""How many random examples each dialect is tried with.

What is said of one dialect of a shape is mostly said of the shape. So the first dialect of each
shape, what has a reader of its own, and all of them at once are tried most; further dialects
of a shape, which only give it other markers, with a part of that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from callblocks import dialects
from support.sampling import share

__all__ = ("LEADERS", "try_each")

PART = 6


def _leaders() -> dict[type, str]:
    """The first dialect of each class that reads."""
    found: dict[type, str] = {}
    for name, dialect in dialects.items():
        reader = next(one for one in type(dialect).__mro__ if "read" in vars(one))
        found.setdefault(reader, name)
    return found


LEADERS = frozenset((*_leaders().values(), "auto"))
"""Those that are tried most."""


def try_each(
    dialect: str, full: int, cases: st.SearchStrategy[Any], check: Callable[[Any], object]
) -> None:
    """Run a check on random cases, as many as the dialect is worth."""
    # The others are too few to be halved.
    count = share(full, of=2) if dialect in LEADERS else max(2, full // PART)

    @given(cases)
    @settings(max_examples=count)
    def each(case: Any) -> None:
        check(case)

    each()
