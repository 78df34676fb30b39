"""An incremental scan for the end of the arguments of a Python call, or for where they break.

    scan = PythonScan()
    scan.feed("(city='Par")       # 10: taken, scan.state is ScanState.OPEN
    scan.feed("is') and on")      # 4: stopped right after the bracket

It begins with `(`, the arguments of one call, or with `[`, a list of calls. It is a state machine
like `JsonScan`: no value is built, and the states are listed in `python_places`. In addition to
them it needs a stack (`_open`), because `=` and `**` may stand only directly in the parentheses of
a call, and `:` only in braces.
"""

from __future__ import annotations

from collections.abc import Callable

from callblocks.parsing.json_scan import Halt, ScanState, Search
from callblocks.parsing.python_places import (
    AFTER,
    AFTER_CALL,
    START,
    STRINGS,
    Note,
    Place,
)

__all__ = ("PythonScan",)

_OPENING = {")": "(", "]": "[", "}": "{"}
_CLOSING = {opening: closing for closing, opening in _OPENING.items()}


class PythonScan:
    """A scan for the bracket that closes the first one."""

    __slots__ = ("_hurry", "_level", "_max_depth", "_open", "_place", "halt", "state", "too_deep")

    def __init__(self, max_depth: int = 100) -> None:
        self.state = ScanState.OPEN
        self.too_deep = False
        # The position in the last text of `absorb` at which the scan halted.
        self.halt = 0
        self._max_depth = max_depth
        self._place = START
        self._open: list[str] = []
        self._level = 1  # the depth of a call's arguments: 2 inside of a list of calls

    def feed(self, text: str, at: int = 0) -> int:
        """Consume text from `at`; return its end, or the position where the scan halted."""
        # At each place, in this order: a step to another place, a run that stays, a place that
        # skips any character (behind a backslash), a place that passes the same character on
        # (`then`: a word ends where its run ends).
        place, size = self._place, len(text)
        while at < size and self.state is ScanState.OPEN:
            step = place.steps.get(text[at])
            if step is not None:
                place, note = step
                if note and not (place := self._heed(note, text[at], place)):
                    return at
                at += 1
            elif (run := place.run(text, at)) is not None:
                at = run.end()
            elif place.skip is not None:
                at, place = at + 1, place.skip
            elif place.then is not None:
                place = place.then
            else:
                self.state = ScanState.BROKEN
        self._place = place
        return at

    @property
    def closing(self) -> str:
        """The brackets that would close the open ones."""
        return "".join(_CLOSING[char] for char in reversed(self._open))

    def absorb(self, text: str) -> Halt | None:
        """Consume a whole piece and return None, or return the position where the scan halted."""
        was = self._place
        end = self.feed(text)
        if end == len(text) and self.state is ScanState.OPEN:
            # The whole piece was inside of one string: a search for its end is faster from now on.
            if was is self._place and was in STRINGS:
                self._hurry(STRINGS[was])
            return None
        self.halt = end
        return Halt(end)

    def search(self, hurry: Callable[[Search], None]) -> Search:
        """Return the search for the next pieces: `absorb`, or, in a string, one for its end.

        When a string turns out to be long, the faster search is passed to `hurry`.
        """
        self._hurry = hurry
        return STRINGS.get(self._place, self.absorb)

    def _heed(self, note: Note, char: str, place: Place) -> Place | None:
        """Return the place that a step leads to, or None if the open brackets forbid the step."""
        match note:
            case "open":
                return self._opened(char, place)
            case "close":
                return self._closed(char)
            case "colon":
                fits = self._open[-1] == "{"
            case _:
                fits = len(self._open) == self._level and self._open[-1] == "("
        return place if fits else self._broken()

    def _opened(self, char: str, place: Place) -> Place:
        if not self._open and char == "[":
            self._level = 2
        self._open.append(char)
        self.too_deep = self.too_deep or len(self._open) > self._max_depth
        return place

    def _closed(self, char: str) -> Place | None:
        if self._open[-1] != _OPENING[char]:
            return self._broken()
        self._open.pop()
        if not self._open:
            self.state = ScanState.STOPPED
        return AFTER_CALL if len(self._open) < self._level else AFTER

    def _broken(self) -> None:
        self.state = ScanState.BROKEN
