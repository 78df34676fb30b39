"""Texts read whole or in pieces, and comparison of the events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from callblocks import Parser, dialects
from callblocks.core.events import Event, join
from callblocks.parser import AUTO

__all__ = ("NAMES", "alike", "cut", "read")

NAMES = (*dialects, AUTO)
"""Everything that can be read: each dialect, and all of them at once."""


def read(dialect: Any, pieces: Iterable[str], **options: Any) -> list[Event]:
    """All events of a text that arrives in these pieces, as they were said."""
    parser = Parser(dialect, **options)
    seen = [event for piece in pieces for event in parser.feed(piece)]
    return seen + parser.close()


def cut(text: str, places: Iterable[int]) -> list[str]:
    """The text in pieces, cut at each of the places."""
    return [text[start:end] for start, end in pairwise([0, *sorted(places), len(text)])]


def alike(one: Sequence[Event], other: Sequence[Event]) -> bool:
    """Whether two readings say the same, wherever their pieces were cut."""
    joined, others = join(list(one)), join(list(other))
    # Only what holds NaN is unequal to itself: then the spelling tells.
    return joined == others or repr(joined) == repr(others)
