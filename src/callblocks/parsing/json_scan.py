"""Where one JSON object or array ends, or breaks, while its text arrives in pieces.

    scan = JsonScan()
    scan.feed('[{"name": "l')     # 12: taken, scan.state is ScanState.OPEN
    scan.feed('s"}] and on')      # 5: stopped before "and", scan.end is 16

No value is built and no text is kept: what a cut would leave half read (an escape, a
number, a literal) is remembered as a place, so `feed` always takes the whole piece until
the scan halts, and how the text is cut changes nothing. The grammar is RFC 8259, strict:
no NaN, no trailing comma, no raw control character. A lone surrogate is a character like
any other, and so is its escape, as for `json.loads`.

The places of the grammar are listed in `json_places`.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple, TypeAlias

from callblocks.model.calls import Span
from callblocks.parsing.json_places import (
    AFTER_ITEM,
    AFTER_MEMBER,
    FIRST_KEY,
    ITEM,
    NAME,
    NOWHERE,
    START,
    STRING,
    TAIL,
    Note,
    Place,
    all_characters,
    find_special,
    find_stop,
)

__all__ = ("Halt", "JsonScan", "ScanState", "Search")

LONG = 16  # characters of a string, from which on it is worth a search of its own


class ScanState(Enum):
    """How far a scan has come."""

    # The value needs more text.
    OPEN = "open"
    # The value is complete; blanks after it are still taken.
    CLOSED = "closed"
    # The value is complete and something else follows, where `feed` stopped.
    STOPPED = "stopped"
    # The character where `feed` stopped cannot stand there in any JSON.
    BROKEN = "broken"


class Halt(NamedTuple):
    """A place in a text where a scan halted, for those who search for it."""

    at: int
    lastindex: int = 1

    def start(self) -> int:
        """The place."""
        return self.at

    def end(self) -> int:
        """The same place: nothing stands there that could be taken."""
        return self.at


Search: TypeAlias = Callable[[str], re.Match[str] | Halt | None]


class JsonScan:
    """Fed text, says where one JSON object or array ends, or that it can no longer be one.

    All offsets count from the first character ever fed. With `exact` it may be any JSON value, and
    the scan stops right where it ends: blanks after it are not taken. Then nobody asks for
    offsets, and long strings are not counted.
    """

    __slots__ = (
        "_bounds",
        "_exact",
        "_hurry",
        "_marks",
        "_max_depth",
        "_place",
        "_start",
        "_taken",
        "end",
        "halt",
        "last_closed",
        "looked_like_calls",
        "state",
        "too_deep",
    )

    def __init__(self, max_depth: int = 100, *, exact: bool = False) -> None:
        self.state = ScanState.OPEN
        # Right after the closing bracket; None until it was taken.
        self.end: int | None = None
        # The object or array that closed most recently, at any depth.
        self.last_closed: Span | None = None
        # More than `max_depth` brackets were open at some time; the scan goes on all the same.
        self.too_deep = False
        # It began as `[{`, `[]`, `{"` or `{}`, blanks aside.
        self.looked_like_calls = False
        # Where the text that `absorb` was given last halted the scan, if it did.
        self.halt = 0
        self._max_depth = max_depth
        self._exact = exact
        self._place = ITEM if exact else START
        self._taken = 0
        self._start = 0
        # One number for each open bracket: where it stands, `~where` for an object.
        self._marks = array("q")
        # Start and end of each element in turn: a tenth of the memory of a list of pairs.
        self._bounds = array("q")

    def feed(self, text: str, at: int = 0) -> int:
        """Take text from `at` and say up to where: its end, or where the scan halted.

        Once the scan has stopped or broken, nothing more is taken.
        """
        place, size, base = self._place, len(text), self._taken - at
        while at < size:
            step = place.steps.get(text[at])
            if step is not None:
                at += 1
                place, note = step
                if note:
                    if note == "start":
                        self._start = base + at - 1
                    else:
                        place = self._heed(note, place, base + at)
            elif (run := place.run(text, at)) is not None:
                at = run.end()
            elif place.may_end:
                place = self._ended(self._start, base + at)
            else:
                place = self._halted(place)
                break
        self._place, self._taken = place, base + at
        return at

    def absorb(self, text: str) -> Halt | None:
        """Take all of a text, or say where the scan halted in it."""
        # Most pieces lie inside a long string: one search settles them, or one match.
        if self._place is STRING and (find_special(text) is None or all_characters(text)):
            self._taken += len(text)
            if self._exact and self._taken - self._start >= LONG:
                self._hurry(find_stop)
            return None
        if self._place is NAME and find_special(text) is None:
            self._taken += len(text)
            return None
        end = self.feed(text)
        if end == len(text) and self.state is not ScanState.STOPPED:
            return None
        self.halt = end
        return Halt(end)

    def search(self, hurry: Callable[[Search], None]) -> Search:
        """What settles the next pieces: `absorb`, or in a long string a search without a count.

        `hurry` is told when a string turns out to be long.
        """
        self._hurry = hurry
        long = self._exact and self._place is STRING and self._taken - self._start >= LONG
        return find_stop if long else self.absorb

    @property
    def taken(self) -> int:
        """How many characters were taken."""
        return self._taken

    @property
    def in_string(self) -> bool:
        """Whether a string, or a key, has begun and not ended."""
        return self._place is STRING or self._place is NAME

    @property
    def complete(self) -> bool:
        """Whether the value has closed, whatever follows."""
        return self.end is not None

    @property
    def count(self) -> int:
        """How many elements are known; cheaper than asking for them."""
        return len(self._bounds) // 2

    def elements(self, since: int = 0) -> list[Span]:
        """Give where each element of the array stands, from number `since` on.

        An object counts as its own one element, once it has closed. A number in an array
        is known to end when the character after it was seen.
        """
        bounds = self._bounds[2 * since :]
        return list(zip(bounds[::2], bounds[1::2], strict=True))

    def _heed(self, note: Note, place: Place, at: int) -> Place:
        if note == "end":
            return self._ended(self._start, at)
        if note == "close":
            return self._closed(at)
        if note == "open":
            self._opened(at - 1, is_object=place is FIRST_KEY)
        elif len(self._marks) == 1:
            self.looked_like_calls = True
        return place

    def _opened(self, start: int, *, is_object: bool) -> None:
        if is_object and len(self._marks) == 1 and not self._bounds:
            self.looked_like_calls = True
        self._marks.append(~start if is_object else start)
        if len(self._marks) > self._max_depth:
            self.too_deep = True

    def _closed(self, end: int) -> Place:
        mark = self._marks.pop()
        start = mark if mark >= 0 else ~mark
        self.last_closed = (start, end)
        if self._marks:
            return self._ended(start, end)
        self.looked_like_calls = self.looked_like_calls or not self._bounds
        if mark < 0:
            self._bounds.extend(self.last_closed)
        return self._finished(end)

    def _finished(self, end: int) -> Place:
        self.end = end
        self.state = ScanState.STOPPED if self._exact else ScanState.CLOSED
        return NOWHERE if self._exact else TAIL

    def _ended(self, start: int, end: int) -> Place:
        if not self._marks:
            return self._finished(end)
        if self._marks[-1] < 0:
            return AFTER_MEMBER
        if len(self._marks) == 1:
            self._bounds.append(start)
            self._bounds.append(end)
        return AFTER_ITEM

    def _halted(self, place: Place) -> Place:
        if place is not NOWHERE:
            self.state = ScanState.STOPPED if place is TAIL else ScanState.BROKEN
        return NOWHERE
