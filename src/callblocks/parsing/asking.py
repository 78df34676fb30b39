"""What a reader may ask of the text of its block, each with `yield from`.

`until` takes all or nothing; `stream` says the call's input while it comes; `match` takes what
stands right here; `peek` looks at what comes next; `consume` takes a JSON value. All that was
taken is kept, so that it can be given back.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Protocol

from callblocks.model.events import CallInput
from callblocks.parsing.json_scan import ScanState
from callblocks.parsing.line_ends import with_lf
from callblocks.parsing.markers import Markers
from callblocks.parsing.scanner import end_of
from callblocks.parsing.stage import Hurry, Reading, Search, Speak, Stage

__all__ = ("Asking",)

_BLANKS = " \t\r\n"
_find_solid = re.compile(rf"[^{_BLANKS}]").search


class Scan(Protocol):
    """Whoever knows where a value ends while its text comes."""

    state: ScanState
    halt: int

    def feed(self, text: str, at: int = 0) -> int:
        """Take text from `at` and say up to where."""
        ...

    def search(self, hurry: Hurry) -> Search:
        """What takes all of a text, or says where the scan halted in it.

        As soon as there is a quicker search, `hurry` is told.
        """
        ...


class Asking:
    """The text of a block that a marker opened: `taken` is what was read so far, in parts.

    `opening` is the marker as it stands in the text, `marker` as its dialect knows it: with LF.
    """

    def __init__(self, stage: Stage, opening: str) -> None:
        self.stage = stage
        self.scan = scan = stage.scan
        self.opening = opening
        self.marker = with_lf(opening)
        self.start: int = stage.said
        self.at_start = not stage.solid
        self.fresh = scan.fresh
        self.before = scan.before
        self.taken: list[str] = [scan.take(scan.pos + len(opening))]
        self.index: int | None = None
        # What was asked for in vain at the offset `missed_at`, if attempts are kept.
        self.missed: tuple[Markers | str, ...] = ()
        self.missed_at = self.start

    @property
    def offset(self) -> int:
        """Where in the whole input the reading stands."""
        return self.scan.base + self.scan.pos

    @property
    def text(self) -> str:
        """The block as written, so far."""
        return "".join(self.taken)

    def until(self, markers: Markers) -> Reading[tuple[str, str]]:
        """Take text and the marker that ends it; the marker is `""` where the text ended."""
        return self._read(markers, live=False)

    def some(self, markers: Markers) -> Reading[tuple[str, str | None]]:
        """Take what has come, up to a marker, and the marker.

        The marker is `""` where the text ended, and None where more may come before one.
        """
        scan = self.scan
        while True:
            end, hit = scan.find(markers)
            text = self._take(end) if end > scan.pos else ""
            if hit:
                return text, self._take(hit.end())
            if text or scan.closed:
                return text, "" if scan.closed else None
            yield

    def stream(self, markers: Markers) -> Reading[tuple[str, str]]:
        """Like `until`, but say the text as the call's input while it comes."""
        return self._read(markers, live=True)

    def match(self, markers: Markers) -> Reading[str]:
        """Take the marker that stands right here, or `""`."""
        scan = self.scan
        while True:
            marker, certain = scan.match(markers)
            if certain:
                return self._take(scan.pos + len(marker)) if marker else self._miss(markers)
            if scan.fresh:
                yield
                continue
            self.stage.settle(markers.here.match, None, None)
            yield
            # An empty piece tells nothing.
            if (hit := self.stage.hit) is not None and scan.text:
                return self._take(end) if (end := hit.end()) else self._miss(markers)

    def stands(self, markers: Markers) -> Reading[bool]:
        """Whether a marker stands right here; it is not taken."""
        found = yield from self.match(markers)
        if found:
            self.give_back(self.offset - len(found))
        return bool(found)

    def peek(self) -> Reading[str]:
        """Take blanks; give the character after them, which is not taken, or `""` at the end."""
        scan = self.scan
        char = scan.text[scan.pos : scan.pos + 1]
        if char not in _BLANKS:
            return char
        while True:
            solid = _find_solid(scan.text, scan.pos)
            end = solid.start() if solid else len(scan.text)
            if end > scan.pos:
                self._take(end)
            if solid:
                return solid[0]
            if scan.closed:
                return ""
            yield

    def step(self) -> None:
        """Take the character that `peek` gave."""
        scan = self.scan
        at = scan.pos
        self.taken.append(scan.text[at])
        scan.pos, scan.fresh = at + 1, False

    def consume(self, json: Scan, *, live: bool = False) -> Reading[None]:
        """Take text for as long as it is one JSON value; `live` says it as the call's input."""
        scan, speak = self.scan, self._speak(live)
        while json.state in (ScanState.OPEN, ScanState.CLOSED):
            if scan.pos < len(scan.text):
                self._pass(self._take(json.feed(scan.text, scan.pos)), speak)
            elif scan.closed:
                self._miss("the end of the value")
                return
            else:
                json.halt = 0
                self.stage.settle(json.search(self.stage.hurry), speak, self.taken.append)
                yield
                self._pass(self._take(scan.pos + json.halt), speak)
        if json.state is ScanState.BROKEN:
            self._miss("the rest of the value")

    def stops_within(self, text: str) -> bool:
        """Whether the whole input ends inside `text`, right here; then take what there is."""
        scan = self.scan
        left = with_lf(scan.text[scan.pos : scan.pos + 2 * len(text)])
        # What is left may end within a CRLF.
        begun = left[:-1] + "\n" if left.endswith("\r") else left
        stops = scan.closed and len(left) < len(text) and text.startswith(begun)
        if stops:
            self._take(len(scan.text))
        return stops

    @property
    def rest(self) -> str:
        """What has come and was not taken."""
        scan = self.scan
        return scan.text[scan.pos :]

    def ends_within(self, markers: Markers) -> bool:
        """Whether the whole input ends inside one of the markers; then take what there is."""
        scan = self.scan
        hit = markers.growing.match(scan.text, scan.pos) if scan.closed else None
        if hit is None or hit.lastindex:
            return False
        self._take(len(scan.text))
        return True

    def give_back(self, offset: int) -> None:
        """End the block here: what was taken after `offset` is read again."""
        first, at = self.part_at(offset)
        text, keep = "".join(self.taken[first:]), offset - at
        self.taken[first:] = [text[:keep]]
        looks_back = self.scan.looks_back
        before = end_of((*reversed(self.taken), self.before)) if looks_back else ""
        self.scan.rewind(offset, [text[keep:]], fresh=False, before=before)

    def give_back_bracket(self) -> None:
        """Make the last character of the opening the first of what it opens."""
        self.opening = self.opening[:-1]
        self.marker = with_lf(self.opening)
        self.give_back(self.start + len(self.opening))

    def pack(self, offset: int) -> str:
        """Make one part of all that was taken since `offset`, and give it."""
        first, at = self.part_at(offset)
        text, keep = "".join(self.taken[first:]), offset - at
        self.taken[first:] = [text[:keep], text[keep:]] if keep else [text]
        return text[keep:]

    def part_at(self, offset: int) -> tuple[int, int]:
        """Which part of what was taken an offset lies in, and where that begins.

        It is looked for from the end, for it lies near.
        """
        taken, first, at = self.taken, len(self.taken), self.offset
        while at > offset:
            first -= 1
            at -= len(taken[first])
        return first, at

    def _read(self, markers: Markers, live: bool) -> Reading[tuple[str, str]]:
        first = len(self.taken)
        end = yield from self.stage.stream(markers, self._speak(live), self.taken.append)
        text = "".join(self.taken[first:])
        return text, self._take(end) if end is not None else self._miss(markers)

    def _miss(self, wanted: Markers | str) -> str:
        """Note that the text does not have what was asked for; return no text."""
        if self.stage.attempts is not None:
            at = self.offset
            self.missed = (*self.missed, wanted) if at == self.missed_at else (wanted,)
            self.missed_at = at
        return ""

    def _speak(self, live: bool) -> Speak | None:
        return partial(CallInput, self.index) if live and self.index is not None else None

    def _pass(self, text: str, speak: Speak | None) -> None:
        """Say text that was taken, if there is any to say."""
        if text and speak:
            self.stage.say(speak(text, self.stage.span()))

    def _take(self, end: int) -> str:
        text = self.scan.take(end)
        self.taken.append(text)
        return text
