"""JSON at the start of a text or a line that counts only if a marker right behind it confirms it.

    [{"id": "c1", "name": "ls", "input": {}}] ✂️🐱

Nothing is emitted before the marker. The text is returned as prose as soon as it can no longer be
confirmed, with one exception: at the start of a text, JSON that looks like calls and then breaks is
held back up to the marker, because raw calls must not be shown to users.

Linear: each character is scanned once. A bracket inside of a broken value is a start of its own
only if it stands at a line start and its value ends right before the marker; the scan knows the
value that closed last (`last_closed`), so it need not be read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import Markers, Shape, without_line_end
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.values.json_scan import JsonScan, ScanState

__all__ = ("BARE", "BLANKS", "FENCED", "BrokenJson", "Confirmed", "read_json_start")

# Runs of blanks are bounded: a growing pattern matches an unbounded run again for each piece.
BLANKS, SPACE, TICKS = "[ \\t]{0,1000}", "\\s{0,1000}", ("`", "`", "`{1,100}")
BARE = Shape((BLANKS, "[\\[{]"), at_line_start=True)
FENCED = Shape(
    (" {0,3}", *TICKS, "\\w{0,20}", BLANKS, "\\r?", "\\n", SPACE, "[\\[{]"), at_line_start=True
)
CLOSING_FENCE = Markers(Shape((*TICKS, SPACE, "(?=\\S)")))


class Confirmed(NamedTuple):
    """A JSON value that begins at the offset `first`, and the marker that confirms it."""

    scan: JsonScan
    first: int
    marker: str


class BrokenJson(NamedTuple):
    """A marker behind broken JSON, or "" if calls follow later, and the reason."""

    marker: str
    reason: str


def read_json_start(block: Block, marker: Markers) -> Reading[Confirmed | BrokenJson | Refused]:
    """Read a block that a bracket opened, at a line start or behind a fence's opening line."""
    # The outcomes, in order: confirmed; the text ended first (nothing can confirm it any more); a
    # broken value with a good one inside that ends at the marker (refuse, and start again there);
    # prose; at the start of the text, broken calls (wait for the marker).
    scan = JsonScan(block.stage.limits.depth)
    scan.feed(block.opening[-1])
    first = block.offset - 1
    yield from block.consume(scan)
    if scan.state is ScanState.STOPPED and "`" in block.opening:
        yield from block.match(CLOSING_FENCE)
    scanned = block.offset - first
    found = yield from block.match(marker)
    if found and scan.complete:
        return Confirmed(scan, first, found)
    if scan.state in (ScanState.OPEN, ScanState.CLOSED):
        return block.refuse(forever=True)
    if found and (inner := _line_start(block, first, scan)) is not None:
        return block.refuse(until=inner, expected="calls that begin a line", at=first)
    if not block.at_start or not (found or scan.looked_like_calls):
        expected = "JSON up to the marker" if found else ""
        return block.refuse(until=_solid_end(block, found), expected=expected, at=first)
    return (yield from _wait(block, marker, found, scan, scanned))


def _wait(
    block: Block, marker: Markers, found: str, scan: JsonScan, scanned: int
) -> Reading[BrokenJson | Refused]:
    """Wait for the marker. The calls may still begin on a later line, where broken text ends."""
    anything = Markers(BARE, *marker.shapes)
    later: int | None = None
    while not found:
        block.stage.scan.fresh = _ends_line(block.taken)
        _, hit = yield from block.until(anything)
        if hit[-1:] not in ("[", "{"):
            found = hit
            break
        found, later = yield from _try_later(block, marker, hit)
    if not found:
        return block.refuse(forever=True)
    if later is not None and scan.complete:
        expected = "the marker right behind the value"
        return block.refuse(until=later, expected=expected, at=block.start)
    if later is not None:
        block.give_back(later)
    text = block.text.removesuffix(found)[len(block.opening) - 1 :]
    return BrokenJson(found if later is None else "", _reason(text, scanned))


def _try_later(block: Block, marker: Markers, hit: str) -> Reading[tuple[str, int | None]]:
    """Return the marker behind the value that a bracket opened, and where the calls begin."""
    first, scan = block.offset - 1, JsonScan()
    scan.feed(hit[-1])
    yield from block.consume(scan)
    found = yield from block.match(marker)
    if not found:
        return "", None
    if not scan.complete:
        return found, _line_start(block, first, scan)
    return found, block.start + len(block.text[: first - block.start].rstrip())


def _solid_end(block: Block, found: str) -> int:
    """Return the end of the text that cannot be confirmed; a new line behind it may start anew."""
    return block.start + len(block.text.removesuffix(found).rstrip())


def _line_start(block: Block, first: int, scan: JsonScan) -> int | None:
    """Return the line start of an inner value that ends right before the marker, or None."""
    if scan.last_closed is None:
        return None
    start, end = (first - block.start + place for place in scan.last_closed)
    head = block.text[:start].rstrip(" \t")
    between = block.text[end : first - block.start + scan.taken]
    line = without_line_end(head)
    return block.start + len(line) if not between.strip() and line != head else None


def _ends_line(parts: Sequence[str]) -> bool:
    """Return whether the next character begins a line, blanks aside."""
    solid = (solid for part in reversed(parts) if (solid := part.rstrip(" \t")))
    return next(solid, "").endswith("\n")


def _reason(text: str, broken: int) -> str:
    """Explain why a text is not JSON, given the position where the scan broke."""
    if broken >= len(text):
        return "it is not closed"
    row, column = text.count("\n", 0, broken) + 1, broken - text.rfind("\n", 0, broken)
    return f"{text[broken]!r} cannot stand in line {row}, column {column}"
