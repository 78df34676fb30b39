"""Reading a text whole or in pieces, and comparing what was seen."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from callblocks import Parser, dialects
from callblocks.core.events import Event, join
from callblocks.parser import AUTO

__all__ = ("NAMES", "alike", "cut", "lines", "read")

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


def lines(events: Sequence[Event]) -> str:
    """One JSON object a line, joined; half a surrogate pair is written as its escape."""
    told = (msgspec.to_builtins(event) for event in join(list(events)))
    rows = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in told)
    return "".join(rows).encode("utf-8", "backslashreplace").decode()
