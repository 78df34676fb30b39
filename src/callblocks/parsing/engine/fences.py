"""Markdown code fences, as CommonMark reads them.

A fence opens at the start of a line, after up to three spaces, with a run of three or more
backticks or tildes and an info string. After backticks the info string must hold no backtick:
```` ```sh``` ```` on one line is a code span. A fence closes with a line of at least as many of the
same character and nothing else; a shorter run inside is content.

States of `Stage.fence`: `""` outside, the opening run inside. A closing line is compared with that
run, so fences do not nest, but a fence of four backticks may show one of three.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from msgspec.structs import replace

from callblocks.core.calls import Call
from callblocks.core.events import (
    CallInput,
    CallReady,
    CallStarted,
    Event,
    Malformed,
    Problem,
    Text,
)
from callblocks.core.specs import ToolSpec
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.ids import GENERAL_CODES
from callblocks.parsing.engine.markers import Markers, line, line_start
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.values.schema_shape import fits
from callblocks.parsing.values.typed import typed

if TYPE_CHECKING:
    from callblocks.parsing.loop import Engine

__all__ = (
    "CLOSING",
    "END_OF_LINE",
    "FENCE_LINES",
    "CodeFences",
    "Fence",
    "FencedCalls",
    "closes",
    "fence_behind",
    "read_fence",
    "read_fence_body",
)

FENCE_LINES = (line("```"), line("~~~"))
END_OF_LINE = Markers("\n")
CLOSING = {"`": Markers(FENCE_LINES[0]), "~": Markers(FENCE_LINES[1])}


class Fence(NamedTuple):
    """The run of characters that opened a fence, and its info string."""

    run: str
    info: str


def read_fence(text: str) -> Fence | None:
    """Read a fence's opening line, without its end."""
    bare = text.strip()
    info = bare.lstrip(bare[:1])
    run = bare[: len(bare) - len(info)]
    if len(run) < 3 or run[0] not in "`~" or (run[0] == "`" and "`" in info):
        return None
    return Fence(run, info.strip())


def closes(text: str, run: str) -> bool:
    """Return whether a line (without its end) closes the fence that `run` opened."""
    bare = text.strip()
    return bare.startswith(run) and not bare.strip(run[0])


def fence_behind(line: str, run: str) -> str:
    """Return the run of the fence that is open behind a line; `run` is open before it."""
    if run:
        return "" if closes(line, run) else run
    fence = read_fence(line)
    return fence.run if fence else ""


def read_fence_body(block: Block, run: str) -> Reading[tuple[str, int | None]]:
    """Read up to the closing line; return the body and that line's offset, None if it is missing.

    The body is emitted as input while it arrives.
    """
    parts: list[str] = []
    # The marker of a closing line is three backticks at a line start. Such a line may still be
    # content ("```python" inside of a fence), so it is read up to its end before it counts. The
    # newline before a closing line belongs to the body.
    while True:
        text, marker = yield from block.stream(CLOSING[run[0]])
        parts.append(text)
        if not marker:
            return "".join(parts), None
        newline = line_start(marker)
        line_at = block.offset - len(marker) + len(newline)
        rest, end = yield from block.until(END_OF_LINE)
        block.stage.scan.fresh = bool(end)
        if closes(marker + rest, run):
            if newline:
                block.input(newline, end=line_at)
            return "".join([*parts, newline]), line_at
        parts.append(marker + rest + end)
        block.input(parts[-1])


class CodeFences:
    """A reader that tracks the code fence around the prose. The lines of the fence stay prose."""

    name: ClassVar = "code-fence"
    OPENERS = FENCE_LINES

    def read(self, block: Block) -> Reading[Refused | None]:
        rest, end = yield from block.until(END_OF_LINE)
        stage = block.stage
        stage.fence = fence_behind(block.opening + rest, stage.fence)
        # The newline is returned: it may be the first character of a line marker.
        block.give_back(block.offset - len(end))
        block.prose()
        return None


# --- Code fences whose whole body is calls ---
#
# Small models like to write a call as a code fence::
#
#     ```json
#     {"name": "get_weather", "arguments": {"city": "Oslo"}}
#     ```
#
# Where dialects are guessed, a fence is a quotation, with this one exception: all of its body is
# calls of declared tools, and their arguments fit the tools' schemas. Then the fence is the call:
# its two lines belong to the span of the first and the last one.
#
# The body is read by a fork of the engine (the same dialects, `FENCE_FORMS`, its own scanner), a
# slice at a time, and none of its events is emitted before the closing line. The first event that
# a fence of calls cannot have (prose, another tool, a result, reasoning, malformed text) ends the
# attempt: the engine rewinds, and `CodeFences` makes prose of the text. So a fence is held back
# only while it can still be calls, and its body is read at most twice: inside of a fence
# `FencedCalls` is not asked again.
#
# A fence that is open at the end of the text closes there, as in CommonMark: a model often stops
# after the call. A call that breaks off with the text is emitted as incomplete or malformed, and is
# never run.


SLICE = 512  # no more than this is read of a body that turns out to be prose
LIMITED = ("too-large", "too-deep")


class FencedCalls:
    """A reader that accepts a fence whose whole body is calls of declared tools, and no other."""

    name: ClassVar = "fenced-calls"
    OPENERS = FENCE_LINES

    def read(self, block: Block) -> Reading[Refused | None]:
        if not block.stage.tools:
            return block.refuse(expected="declared tools", at=block.start)
        rest, newline = yield from block.until(END_OF_LINE)
        fence = read_fence(block.opening + rest)
        if fence is None or not newline:
            return block.refuse(expected="the opening line of a code fence", at=block.start)
        block.stage.scan.fresh = True
        # `block.stage` is an Engine here: only the engine has this reader in its table.
        engine = cast("Engine", block.stage)
        while (is_prose := engine.is_prose(block.rest)) is None and not block.scan.closed:
            yield
        if is_prose:
            return block.refuse(expected="nothing but calls of declared tools", at=block.offset)
        body = _Body(engine)
        closed = yield from _read_body(block, fence.run, body)
        if not (body.may_be_calls and body.is_whole(closed=closed)):
            expected, at = "nothing but calls of declared tools", block.start + len(block.opening)
            return block.refuse(expected=expected, at=at + len(rest) + len(newline))
        block.lead(len(line_start(block.opening)))
        body.say(block, closed=closed)
        return None


def _read_body(block: Block, run: str, body: _Body) -> Reading[bool]:
    """Feed the body while it may be calls; return whether a line closes the fence."""
    while True:
        text, marker = yield from block.some(CLOSING[run[0]])
        if not body.feed(text):
            return False
        if marker == "":
            return False
        if marker:
            rest, end = yield from block.until(END_OF_LINE)
            block.stage.scan.fresh = bool(end)
            if closes(marker + rest, run):
                body.feed(line_start(marker))
                return True
            if not body.feed(marker + rest + end):
                return False


class _Body:
    """The body of a fence, and the events that a fork of the engine emits for it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._inner = engine.fork()
        self._events: list[Event] = []
        self._is_open = False
        self.may_be_calls = True

    def feed(self, text: str) -> bool:
        """Feed more text to the fork; return whether the body may still be nothing but calls."""
        # In slices, so that a large fence of prose that arrives in one piece is given up early.
        for at in range(0, len(text), SLICE):
            self._hear(self._inner.feed(text[at : at + SLICE]))
            if not self.may_be_calls:
                break
        return self.may_be_calls

    def is_whole(self, *, closed: bool) -> bool:
        """End the body; return whether it is nothing but calls that can be used."""
        self._is_open = not closed
        self._hear(self._inner.close())
        last = next((one for one in reversed(self._events) if not isinstance(one, Problem)), None)
        if not self.may_be_calls or last is None:
            return False
        # A call may break off only where the text does: a closed fence has no broken call, an open
        # one at most its last.
        broken = [one for one in self._events if _breaks_off(one)]
        return not broken if closed else broken in ([], [last]) and not self._engine.strict

    def say(self, block: Block, *, closed: bool) -> None:
        """Emit the calls; the spans of the first and the last include the lines of the fence."""
        engine, end = self._engine, block.offset
        if self._inner.calls > engine.limits.calls:
            return block.malformed("too-many-calls", f"more than {engine.limits.calls}")
        engine.join(self._inner)
        for event in _framed(self._events, block.start, block.text):
            engine.say(event)
        if not (closed or any(map(_breaks_off, self._events))):
            code, last = "repaired-closing", engine.calls - 1
            engine.say(Problem(code, GENERAL_CODES[code], (end, end), (block.start, end), last))
        return None

    def _hear(self, events: list[Event]) -> None:
        for event in events:
            match event:
                case Text(text=text):
                    may_be = not text.strip()
                case CallStarted(name=name):
                    may_be = name in self._engine.tools
                case CallReady(call=call):
                    # `tool` may be None: one piece may hold a whole call of an undeclared tool, and
                    # the loop goes on after its `CallStarted`.
                    tool = self._engine.tools.get(call.name)
                    may_be = tool is not None and (not call.ended or _suits(call, tool))
                case Malformed(code=code, index=index):
                    may_be = index is not None and (self._is_open or code in LIMITED)
                case CallInput() | Problem():
                    may_be = True
                case _:
                    may_be = False
            if not isinstance(event, Text):
                self._events.append(event)
            self.may_be_calls = self.may_be_calls and may_be


def _breaks_off(event: Event) -> bool:
    """Return whether an event is that of a call without its end."""
    is_broken = isinstance(event, Malformed) and event.code not in LIMITED
    return is_broken or (isinstance(event, CallReady) and not event.call.ended)


def _suits(call: Call, tool: ToolSpec) -> bool:
    """Return whether the input fits the tool: known names, all required ones, the right types.

    A string that is a number fits a number, because the runtime converts it.
    """
    known, schema = tool.properties, tool.parameters
    given = {
        name: typed(value, known[name], schema).value
        if isinstance(value, str) and name in known
        else value
        for name, value in call.input.items()
    }
    return fits(given, schema, closed=True)


def _framed(events: list[Event], start: int, fence: str) -> Iterator[Event]:
    """Yield the events with spans that tile the fence, including the blanks between the calls."""
    # Each event is stretched back to the end of the previous one, which covers the blanks. The last
    # `CallReady` or `Malformed`, and what follows it, is stretched to the end of the fence.
    end = start + len(fence)
    ends = [at for at, one in enumerate(events) if isinstance(one, CallReady | Malformed)]
    said, began = start, start
    for at, event in enumerate(events):
        stop = end if at >= ends[-1] else event.span[1]
        match event:
            case CallStarted():
                began = said
                yield replace(event, span=(said, stop))
            case CallReady(call=call):
                yield replace(event, call=replace(call, span=(began, stop)), span=(said, stop))
            case Malformed():
                yield replace(event, text=fence[began - start : stop - start], span=(said, stop))
            case Problem():
                stop = said
                yield replace(event, span=(said, said))
            case _:
                yield replace(event, span=(said, stop))
        said = stop
