"""The methods with which a reader consumes the text of its block, each with `yield from`.

    until     consume up to a marker, and the marker; emit nothing
    stream    the same, and emit the text as the call's input while it arrives
    some      consume the text that has arrived, up to a marker
    match     consume a marker at the current offset
    stands    look ahead for a marker at the current offset
    peek      consume blanks, and look ahead by one character
    consume   consume one JSON (or Python) value

Each suspends the reader while the text so far cannot decide. Invariant: `taken` holds all consumed
text of the block in parts, so that a refusal can rewind and `text` is the block as written. Parts
are appended and joined late: joining on each piece would be quadratic.
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
    """An incremental scan for the end of a value: `JsonScan` or `PythonScan`."""

    state: ScanState
    halt: int

    def feed(self, text: str, at: int = 0) -> int:
        """Consume text from `at`; return the position up to which it belongs to the value."""
        ...

    def search(self, hurry: Hurry) -> Search:
        """Return a search that consumes a whole piece, or matches where the scan halts in it.

        When a faster search becomes possible, the scan passes it to `hurry`.
        """
        ...


class Asking:
    """The text of a block; `taken` is the consumed text in parts.

    `opening` is the opener as written, `marker` the same with each CRLF as LF, which a dialect can
    compare with its literals. `before` is the text in front of the block (see `Scanner.before`).
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
        # The markers that did not match at the offset `missed_at`; filled if attempts are kept.
        self.missed: tuple[Markers | str, ...] = ()
        self.missed_at = self.start

    @property
    def offset(self) -> int:
        """The current offset in the whole input."""
        return self.scan.base + self.scan.pos

    @property
    def text(self) -> str:
        """The consumed text of the block, as written."""
        return "".join(self.taken)

    def until(self, markers: Markers) -> Reading[tuple[str, str]]:
        """Consume text and the marker behind it; the marker is `""` where the input ended."""
        return self._read(markers, live=False)

    def some(self, markers: Markers) -> Reading[tuple[str, str | None]]:
        """Consume the text that has arrived, up to a marker, and the marker.

        The marker is `""` where the input ended, and None where more text may come before one.
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
        """Like `until`, but emit the text as the call's input while it arrives."""
        return self._read(markers, live=True)

    def match(self, markers: Markers) -> Reading[str]:
        """Consume the marker at the current offset, and return it, or `""`."""
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
            # `markers.here` also matches the empty text, so a hit on an empty piece decides
            # nothing. With text it decides: an empty match means that no marker stands here.
            if (hit := self.stage.hit) is not None and scan.text:
                return self._take(end) if (end := hit.end()) else self._miss(markers)

    def stands(self, markers: Markers) -> Reading[bool]:
        """Return whether a marker stands at the current offset, without consuming it."""
        found = yield from self.match(markers)
        if found:
            self.give_back(self.offset - len(found))
        return bool(found)

    def peek(self) -> Reading[str]:
        """Consume blanks; return the next character without consuming it, or `""` at the end."""
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
        """Consume the character that `peek` returned."""
        scan = self.scan
        at = scan.pos
        self.taken.append(scan.text[at])
        scan.pos, scan.fresh = at + 1, False

    def consume(self, json: Scan, *, live: bool = False) -> Reading[None]:
        """Consume one value; with `live`, emit it as the call's input while it arrives.

        Blanks behind the value are consumed too, unless the scan is `exact`. The scan's state says
        afterwards whether the value is complete, broken, or cut off by the end of the text.
        """
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
        """Consume the rest of the input if that is a proper prefix of `text`; return whether."""
        scan = self.scan
        left = with_lf(scan.text[scan.pos : scan.pos + 2 * len(text)])
        # The input may end between CR and LF.
        begun = left[:-1] + "\n" if left.endswith("\r") else left
        stops = scan.closed and len(left) < len(text) and text.startswith(begun)
        if stops:
            self._take(len(scan.text))
        return stops

    @property
    def rest(self) -> str:
        """The text that has arrived and is not consumed."""
        scan = self.scan
        return scan.text[scan.pos :]

    def ends_within(self, markers: Markers) -> bool:
        """Consume the rest of the input if it is the beginning of a marker; return whether."""
        scan = self.scan
        hit = markers.growing.match(scan.text, scan.pos) if scan.closed else None
        if hit is None or hit.lastindex:
            return False
        self._take(len(scan.text))
        return True

    def give_back(self, offset: int) -> None:
        """Return the text behind `offset` to the scanner; the block ends there for now."""
        first, at = self.part_at(offset)
        text, keep = "".join(self.taken[first:]), offset - at
        self.taken[first:] = [text[:keep]]
        looks_back = self.scan.looks_back
        before = end_of((*reversed(self.taken), self.before)) if looks_back else ""
        self.scan.rewind(offset, [text[keep:]], fresh=False, before=before)

    def give_back_bracket(self) -> None:
        """Return the opener's last character, a bracket, to the scanner: the value begins with it.

        An opener such as `<tool_call>{` contains the bracket only because it is the lookahead that
        makes the opener certain.
        """
        self.opening = self.opening[:-1]
        self.marker = with_lf(self.opening)
        self.give_back(self.start + len(self.opening))

    def pack(self, offset: int) -> str:
        """Join the parts that were consumed since `offset` into one, and return it.

        A value of many pieces that is read again and again is then joined once.
        """
        first, at = self.part_at(offset)
        text, keep = "".join(self.taken[first:]), offset - at
        self.taken[first:] = [text[:keep], text[keep:]] if keep else [text]
        return text[keep:]

    def part_at(self, offset: int) -> tuple[int, int]:
        """Return the index of the part that begins at or before `offset`, and where it begins.

        The search goes backwards: offsets that are asked for lie near the end.
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
        """Record that the wanted text is missing here, for `refusal`; return `""`."""
        if self.stage.attempts is not None:
            at = self.offset
            self.missed = (*self.missed, wanted) if at == self.missed_at else (wanted,)
            self.missed_at = at
        return ""

    def _speak(self, live: bool) -> Speak | None:
        return partial(CallInput, self.index) if live and self.index is not None else None

    def _pass(self, text: str, speak: Speak | None) -> None:
        """Emit consumed text as an event, unless it is empty or nothing is to be emitted."""
        if text and speak:
            self.stage.say(speak(text, self.stage.span()))

    def _take(self, end: int) -> str:
        text = self.scan.take(end)
        self.taken.append(text)
        return text
