"""An incremental scan for the end of one JSON object or array, or for where it breaks.

    scan = JsonScan()
    scan.feed('[{"name": "l')     # 12: taken, scan.state is ScanState.OPEN
    scan.feed('s"}] and on')      # 5: stopped before "and", scan.end is 16

No value is built and no text is kept. The scan is a state machine over characters: where a piece
ends inside of an escape, a number or a literal, the state (`Place`, listed in `json_places`) says
so. So `feed` always consumes the whole piece until the scan halts, and the cuts change nothing.

Invariants
    - `_marks` has one entry per open bracket; its length is the depth. Nesting costs eight bytes
      a level and no recursion.
    - `_bounds` has the start and the end of each finished element of the outermost array.
    - After STOPPED or BROKEN the place is NOWHERE, which has no steps: nothing more is consumed.

Why not call `json.loads` whenever a bracket closes: that is quadratic, and it cannot tell text that
needs more characters from text that is broken. The scan knows it at the first wrong character, so
prose that only opens like JSON is returned at once.

The grammar is RFC 8259, strict: no NaN, no trailing comma, no raw control character. A lone
surrogate is a character like any other, and so is its escape, as for `json.loads`.
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
    """The state of a scan."""

    # The value needs more text.
    OPEN = "open"
    # The value is complete; blanks after it are still taken.
    CLOSED = "closed"
    # The value is complete and something else follows, where `feed` stopped.
    STOPPED = "stopped"
    # The character where `feed` stopped cannot stand there in any JSON.
    BROKEN = "broken"


class Halt(NamedTuple):
    """A position where a scan halted, in the form of a match (see `stage.Hit`)."""

    at: int
    lastindex: int = 1

    def start(self) -> int:
        """Return the position."""
        return self.at

    def end(self) -> int:
        """Return the same position: a halt consumes nothing."""
        return self.at


Search: TypeAlias = Callable[[str], re.Match[str] | Halt | None]


class JsonScan:
    """A scan for the end of one JSON object or array.

    All offsets count from the first character that was fed. With `exact`, any JSON value is scanned
    and the scan stops right at its end, without the blanks behind it. Offsets are then not kept
    exact, since long strings are searched without counting their characters.
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
        # The offset behind the closing bracket; None until that was consumed.
        self.end: int | None = None
        # The object or array that closed most recently, at any depth.
        self.last_closed: Span | None = None
        # True once more than `max_depth` brackets were open. The scan goes on, so that the whole
        # value is consumed and becomes one malformed block.
        self.too_deep = False
        # True if the value began with `[{`, `[]`, `{"` or `{}`, blanks aside.
        self.looked_like_calls = False
        # The position in the last text of `absorb` at which the scan halted.
        self.halt = 0
        self._max_depth = max_depth
        self._exact = exact
        self._place = ITEM if exact else START
        self._taken = 0
        self._start = 0
        # One number per open bracket: its offset for an array, `~offset` (negative) for an object.
        self._marks = array("q")
        # Start and end of each element in turn. An array of numbers takes a tenth of the memory of
        # a list of pairs, and a hostile text can have millions of elements.
        self._bounds = array("q")

    def feed(self, text: str, at: int = 0) -> int:
        """Consume text from `at`; return its end, or the position where the scan halted.

        Once the scan has stopped or broken, nothing more is consumed.
        """
        # At each place, in this order: a character that leads to another place (`steps`); a run of
        # characters that stay (`run`, one regex match); the end of a scalar that has no closing
        # character of its own (`may_end`: the `,` behind `12` ends the number, and is read again).
        # Anything else halts the scan.
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
        """Consume a whole piece and return None, or return the position where the scan halted."""
        # Most pieces lie inside of a long string. Then one search for a quote, a backslash or a
        # control character is enough.
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
        """Return the search for the next pieces: `absorb`, or, in a long string, one for its end.

        When a string turns out to be long, the faster search is passed to `hurry`.
        """
        self._hurry = hurry
        long = self._exact and self._place is STRING and self._taken - self._start >= LONG
        return find_stop if long else self.absorb

    @property
    def taken(self) -> int:
        """The number of consumed characters."""
        return self._taken

    @property
    def in_string(self) -> bool:
        """True inside of a string or a key."""
        return self._place is STRING or self._place is NAME

    @property
    def complete(self) -> bool:
        """True once the value has closed, whatever follows."""
        return self.end is not None

    @property
    def count(self) -> int:
        """The number of finished elements; cheaper than `elements`."""
        return len(self._bounds) // 2

    def elements(self, since: int = 0) -> list[Span]:
        """Return the span of each finished element of the array, from number `since` on.

        A top-level object counts as its own single element once it has closed. A number is finished
        when the character behind it was seen.
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
