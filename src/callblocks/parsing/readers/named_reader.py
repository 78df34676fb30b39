"""The reader of calls with a name first, and then the input as JSON.

    [TOOL_CALLS]ls[ARGS]{"path": "."}

A call may stand in a section with others. A call is emitted when the text behind it is known, so
that the last one owns the end of the section.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.fences import END_OF_LINE, read_fence, read_fence_body
from callblocks.parsing.engine.markers import Markers, without_line_end
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.readers.announce import Telling
from callblocks.parsing.readers.call_keys import Parts
from callblocks.parsing.repair import mend_value, read_mended
from callblocks.parsing.values.binding import bind
from callblocks.parsing.values.strict_json import JsonScan, ScanState

__all__ = (
    "Head",
    "Named",
    "NamedReader",
    "read_named_fence",
)


class Head(NamedTuple):
    """The head of a call: the tool's name, and an id if there is one."""

    name: str
    id: str | None = None
    repairs: tuple[str, ...] = ()


class _Fault(NamedTuple):
    """The reason why text is no call: a code and a detail."""

    code: str
    detail: str


# A reader of the head of a call and its separator; it returns None if there is no head.
ReadHead: TypeAlias = Callable[[Block], Reading[Head | None]]
# A lookahead for an input, or for the end of a call without one; it consumes blanks.
Begins: TypeAlias = Callable[[Block], Reading[bool]]

BRACES = Markers("}", "]")


class Named:
    """The markers of a call, and those of a `section` around several."""

    def __init__(
        self,
        opening: Sequence[str],
        closing: Sequence[str],
        section: Sequence[str],
        section_end: Sequence[str],
    ) -> None:
        self.opening = tuple(opening)
        self.closing = tuple(closing)
        self.section = tuple(section)
        self.section_end = tuple(section_end)

    @cached_property
    def openers(self) -> Markers:
        """The markers that begin a call."""
        return Markers(*self.opening)

    @cached_property
    def closers(self) -> Markers:
        """The markers that end a call."""
        return Markers(*self.closing)

    @cached_property
    def section_closers(self) -> Markers:
        """The markers that end a section."""
        return Markers(*self.section_end)

    @cached_property
    def ends(self) -> Markers:
        """The markers that end a call whose input is no JSON."""
        return Markers(*self.closing, *self.opening, *self.section, *self.section_end)


class NamedReader:
    """A reader of the calls in a block that a section or a call's own marker opened.

    `repairs` are those that each call of it needed; with any, the codes are general ones.
    """

    def __init__(
        self,
        block: Block,
        named: Named,
        read_head: ReadHead,
        begins: Begins,
        repairs: Sequence[str] = (),
    ) -> None:
        self.block = block
        self.named = named
        self.telling = Telling(block, general=bool(repairs))
        self._usual = tuple(repairs)
        self._read_head = read_head
        self._begins = begins
        self._repairs: list[str] = []
        self._ended = True
        self._end = block.start

    def read(self) -> Reading[Refused | None]:
        """Emit the calls, or refuse the block."""
        more, head = True, None
        if self.block.opening in self.named.section:
            yield from self.block.peek()
            if (yield from self.block.match(self.named.section_closers)):
                return self.block.markup()
            more = bool((yield from self.block.match(self.named.openers)))
        while more:
            head = yield from self._read_head(self.block)
            said = self.block.offset
            begins = head is not None and (yield from self._begins(self.block))
            more = head is not None and begins and (yield from self._call(head, said))
        if not self.telling.any:
            return self.block.refuse(expected="the arguments of a call" if head else "")
        if self._end < self.block.offset:
            self.block.give_back(self._end)
        return None

    def _call(self, head: Head, said: int) -> Reading[bool]:
        """Read a call whose head ends at `said`; return whether another follows in the section."""
        self.block.started(head.name, head.id, end=said)
        self._repairs, self._ended, self._end = [*self._usual, *head.repairs], True, said
        char = yield from self.block.peek()
        if not char or (yield from self.block.stands(self.named.ends)):
            found = Parts(head.name, head.id, None, None, {})
            self._ended = bool(char)
        else:
            found = yield from self._input(head)
        yield from self._close()
        more = yield from self._next()
        if isinstance(found, Parts):
            self.telling.call(found, self._repairs, started=True, ended=self._ended, end=self._end)
        else:
            self.telling.bad(*found, end=self._end)
        return more

    def _input(self, head: Head) -> Reading[Parts | _Fault]:
        """Read the input at the current offset, and emit it while it arrives."""
        block, start, mark = self.block, self.block.offset, len(self.block.taken)
        depth = block.stage.limits.depth
        block.input("", end=start)
        scan = JsonScan(depth, exact=True)
        yield from block.consume(scan, live=True)
        if scan.state is not ScanState.STOPPED:
            return (yield from self._mend(head, start))
        self._end = block.offset
        if scan.too_deep:
            return _Fault("too-deep", f"more than {depth} levels")
        try:
            text = "".join(block.taken[mark:])
            value, repairs = read_mended(text, strict=block.stage.strict, depth=depth)
        except ValueError as error:
            return _Fault("json", str(error))
        self._repairs += repairs
        return Parts(head.name, head.id, value, (start, self._end), {})

    def _mend(self, head: Head, start: int) -> Reading[Parts | _Fault]:
        """Repair an input that is no JSON, or that the text cuts off."""
        # The text up to the next marker is the input as far as can be told. The repair may end
        # earlier (`found.after`); the rest is returned and read as the end of the call.
        block, strict = self.block, self.block.stage.strict
        _, marker = yield from block.until(self.named.ends)
        block.give_back(block.offset - len(marker))
        self._end = block.offset
        raw = self.telling.slice(start, self._end)
        ended, depth = bool(marker), block.stage.limits.depth
        try:
            found = None if strict else mend_value(raw, ended=ended, depth=depth)
        except ValueError as error:
            return _Fault("json", str(error))
        if found is None:
            return _Fault("json", "it is not JSON")
        self._repairs += found.repairs
        self._ended = ended or "repaired-closing" not in found.repairs
        self._end = start + found.after
        block.give_back(self._end)
        place = (start + found.start, start + found.end)
        return Parts(head.name, head.id, found.value, place, {})

    def _close(self) -> Reading[None]:
        """Consume the marker that ends the call, and surplus braces before it."""
        closes = bool(self.named.closing)
        char = (yield from self.block.peek()) if closes else ""
        # The marker is tried before the braces, since it may itself begin with a bracket. Without a
        # closing marker only a brace right behind the input belongs to the call.
        marker = (yield from self.block.match(self.named.closers)) if closes else ""
        while not marker and (yield from self.block.match(BRACES)):
            self._repairs.append("repaired-braces")
            self._end = self.block.offset
            char = (yield from self.block.peek()) if closes else ""
            marker = (yield from self.block.match(self.named.closers)) if closes else ""
        if not closes:
            return
        cut = not marker and any(map(self.block.stops_within, self.named.closing))
        if marker or cut:
            self._end = self.block.offset
        if not marker:
            self._repairs.append("repaired-closing")
            self._ended = self._ended and bool(char) and not cut

    def _next(self) -> Reading[bool]:
        """Consume the marker behind a call in its section; return whether another call follows."""
        if not self.named.section_end:
            return False
        yield from self.block.peek()
        if opening := (yield from self.block.match(self.named.openers)):
            self._end = self.block.offset - len(opening)
            return True
        closing = yield from self.block.match(self.named.section_closers)
        if closing or any(map(self.block.stops_within, self.named.section_end)):
            self._end = self.block.offset
        return False


# --- A reader of calls that are a Markdown fence with the tool's name as its language ---
#
#     ```save hello.py
#     print("hi")
#     ```
#
# Words behind the name, and the body, are bound to the tool's parameters (see `binding`).


def read_named_fence(block: Block) -> Reading[Refused | None]:
    """Read the call of a declared tool, or refuse any other fence."""
    rest, newline = yield from block.until(END_OF_LINE)
    fence, stage = read_fence(block.opening + rest), block.stage
    name, _, args = fence.info.partition(" ") if fence else ("", "", "")
    tool = stage.tools.get(name)
    if fence is None or tool is None or not newline:
        return block.refuse(expected="a fence named as a declared tool", at=block.start)
    stage.scan.fresh = True
    block.started(name)
    body, closed_at = yield from read_fence_body(block, fence.run)
    value, misfits, _ = bind(args, without_line_end(body), tool)
    given = {"args": args, "body": body} if value is None else value
    block.ready(given, size=len(body), ended=closed_at is not None)
    if value is None:
        block.problem("unbound-arguments", f"{name} takes {', '.join(tool.properties)}")
    for misfit in misfits:
        block.problem("mistyped-argument", f"{misfit}: {given[misfit]!r:.60}")
    return None
