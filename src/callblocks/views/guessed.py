"""Which dialect `auto` found in a text, and by what: a sentence for people.

auto found emoji-bracket: 3 calls, the first on line 3 with `🛠️[create-file greet.py utf-8]`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from callblocks.dialects import dialects
from callblocks.model.events import CallReady, Event, Malformed, Problem

__all__ = ("Guess", "guess")

_SHOWN = 40
"""Characters of the line that opened the first call."""


class Guess(NamedTuple):
    """The dialect that most of the calls are of, "" where there is none; and why."""

    dialect: str
    why: str


def guess(text: str, events: Iterable[Event]) -> Guess:
    """What `auto` took the text for."""
    known = list(events)
    calls = [event.call for event in known if isinstance(event, CallReady)]
    counts = Counter(call.dialect for call in calls)
    if not counts:
        return _without_calls(known)
    (name, count), *others = counts.most_common()
    first = next(call for call in calls if call.dialect == name)
    opening = text[first.span[0] : first.span[1]].lstrip().partition("\n")[0]
    line = text.count("\n", 0, first.span[0] + 1) + 1
    also = "".join(f"; also {other}, {_calls(number)}" for other, number in others)
    return Guess(name, f"{_calls(count)}, the first on line {line} with {_short(opening)}{also}.")


def _without_calls(events: list[Event]) -> Guess:
    codes = [event.code for event in events if isinstance(event, Malformed | Problem)]
    owners = [code.partition(".")[0] for code in codes]
    name = next((owner for owner in owners if owner in dialects), "")
    if name:
        return Guess(name, "something opens like a call of it, and is none.")
    return Guess("", "nothing opens a call in any dialect: all of it is text.")


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"


def _short(line: str) -> str:
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
