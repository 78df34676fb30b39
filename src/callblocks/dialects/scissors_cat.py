"""A JSON array of calls, the delimiter ✂️🐱, then prose::

    [{"type": "gmail_list", "id": "g1", "operation": "List mail", "parameters": {}}]

    ✂️🐱

    Let me check your recent emails...

The calls stand at the start of the text, or of a later line; a Markdown fence may wrap them. They
are held back until the delimiter confirms them; without one, all of it is prose. Only the first
delimiter outside of a JSON string counts. A delimiter behind prose that confirms nothing is removed
from the text and reported, because users should never see it. In `auto`, where prose may be about
this dialect, that applies only to a delimiter that begins a line.

`read_json_start` does the waiting. After the first delimiter the dialect retires: it opens nothing
more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, cast

from msgspec import structs

from callblocks.core.calls import Call, Item, Result
from callblocks.core.errors import Unwritable
from callblocks.core.specs import CATALOGUE, ToolSpec
from callblocks.core.text import brief
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.ids import GENERAL_CODES, read_id
from callblocks.parsing.engine.markers import (
    Markers,
    Shape,
    damaged,
    line_start,
    spellings,
    without_line_end,
)
from callblocks.parsing.engine.parse_state import ParseState, Reading
from callblocks.parsing.grammar import json_rules as rules
from callblocks.parsing.grammar.argument_rules import input_rule
from callblocks.parsing.grammar.expressions import EMPTY, Ref, alt, chars, lit, many, seq
from callblocks.parsing.grammar.grammar import Grammar
from callblocks.parsing.loop import Setting
from callblocks.parsing.repair import read_mended
from callblocks.parsing.values.schema_shape import in_schema_order
from callblocks.parsing.values.strict_json import JsonScan, ScanState

__all__ = (
    "BARE",
    "BLANKS",
    "DELIMITER",
    "FENCED",
    "BadCall",
    "BrokenJson",
    "Confirmed",
    "ScissorsCat",
    "read_call",
    "read_json_start",
)

# JSON at the start of a text or a line that counts only if a marker right behind it confirms it.
#
#     [{"id": "c1", "name": "ls", "input": {}}] ✂️🐱
#
# Nothing is emitted before the marker. The text is returned as prose as soon as it can no longer
# be confirmed, with one exception: at the start of a text, JSON that looks like calls and then
# breaks is held back up to the marker, because raw calls must not be shown to users.
#
# Linear: each character is scanned once. A bracket inside of a broken value is a start of its own
# only if it stands at a line start and its value ends right before the marker; the scan knows the
# value that closed last (`last_closed`), so it need not be read again.


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


DELIMITER = "✂️🐱"
# The delimiter in all its spellings: with and without variation selectors, and as wrong decodings
# left it.
CUTS = (*spellings(DELIMITER), *damaged(DELIMITER))
LINE_CUTS = tuple(Shape((BLANKS, *map(re.escape, cut)), at_line_start=True) for cut in CUTS)
CUT = Markers(*CUTS)
SEPARATOR = Markers("\n", "\n\n")


class ScissorsCat(Dialect):
    """Calls first, then `✂️🐱`, then prose."""

    name = "scissors-cat"
    in_fence_bodies = False  # its calls are confirmed by a delimiter behind the fence
    summary = "a JSON array of calls before the delimiter ✂️🐱, prose after it"
    syntax = (
        '[{"type": NAME, "id": ID, "operation": WHAT_IT_DOES, "parameters": {KEY: VALUE}}]'
        f"\n\n{DELIMITER}\n\nPROSE"
    )
    rules = (
        "Write the calls first, as one JSON array, with no Markdown fence around it.",
        "Each call has `type` (the tool's name), `id` (your own, unique), `operation` (what it is "
        "for, in a few words) and `parameters` (an object).",
        "A call may have a `priority`, a number: higher ones run first.",
        f"Then write {DELIMITER} on a line of its own, and after it what you say to the person.",
        f"If you need no tool, write `[]`, then {DELIMITER}, then your answer.",
    )
    codes: ClassVar = {
        "scissors-cat.json": "what stands before the delimiter is not JSON",
        "scissors-cat.call": "an element of the array is not a call",
        "prose-before-calls": "the calls do not stand at the start of the text",
        "delimiter-without-calls": "a delimiter follows prose that holds no calls; it is not shown",
        "fenced-calls": "a Markdown fence wraps the calls",
    }
    turn_ends = ()

    keeps_order = False

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        # In `auto` a delimiter at a line start is its own opener before the bare one: the newline
        # then belongs to the marker, and `read` knows that it begins a line.
        starts = (BARE, FENCED) if setting.in_code_fences else (BARE,)
        return (*starts, *CUTS) if setting.alone else (*starts, *LINE_CUTS, *CUTS)

    def read(self, block: Block) -> Reading[Refused | None]:
        if block.opening[-1] not in "[{":
            return (yield from self._read_lone_delimiter(block))
        read = yield from read_json_start(block, CUT)
        if isinstance(read, Refused):
            return read
        if not block.at_start:
            # The line end before the calls belongs to the prose: without it the sentences before
            # and behind the calls would meet on one line.
            block.lead(len(line_start(block.opening)))
        if isinstance(read, BrokenJson):
            block.malformed("scissors-cat.json", f"not JSON: {read.reason}")
        else:
            self._read_calls(block, *read)
        if read.marker:
            yield from self._end(block, read.marker)
        return None

    def _read_lone_delimiter(self, block: Block) -> Reading[Refused | None]:
        """Read a delimiter that confirms nothing; it counts as the first one all the same."""
        cut = block.opening.lstrip(" \t\r\n")
        begins_line = block.fresh or len(cut) < len(block.opening)
        if not (block.at_start or block.stage.alone or begins_line):
            expected = "the start of a line"
            return block.refuse(forever=True, expected=expected, at=block.start)
        follows_prose = not block.at_start
        block.lead(len(block.opening) - len(cut))
        place = (block.start, block.offset)
        yield from self._end(block, cut)
        if follows_prose:
            block.problem("delimiter-without-calls", f"no calls stand before {DELIMITER}", place)
        return None

    def _read_calls(self, block: Block, scan: JsonScan, first: int, cut: str) -> None:
        if scan.too_deep:
            return block.malformed("too-deep", f"more than {block.stage.limits.depth} levels")
        if not block.at_start:
            block.problem("prose-before-calls", "calls come first", (block.start, block.offset))
        if "`" in block.opening:
            block.problem("fenced-calls", "no fence is needed", (block.start, first))
        # The last call owns the text up to the end of the delimiter, so that the spans tile.
        section, end = block.text[first - block.start :], block.offset
        elements = scan.elements()
        for number, (start, stop) in enumerate(elements, 1):
            upto = end if number == len(elements) else first + stop
            self._read_call(block, section[start:stop], first + start, first + stop, upto)
        return None

    def _read_call(self, block: Block, raw: str, start: int, stop: int, upto: int) -> None:
        """Emit one element of the array; the text behind it up to `upto` belongs to it."""
        try:
            call, repairs = _read_element(raw, block.stage)
        except BadCall as error:
            return block.malformed("scissors-cat.call", str(error), end=stop, text=raw)
        block.started(call.pop("type"), read_id(call.pop("id", None)), end=start)
        block.input(raw, end=stop)
        value = call.pop("parameters")
        block.ready(value, size=len(raw), extra=call, end=upto, text=raw)
        for code in repairs:
            block.problem(code, GENERAL_CODES[code], (start, stop))
        return None

    def _end(self, block: Block, cut: str) -> Reading[None]:
        """Emit the delimiter and the blank line behind it as markup, and retire the dialect."""
        place = (block.offset - len(cut), block.offset)
        block.retired = True
        block.markup()
        if "✂" not in cut:
            block.problem("damaged-marker", f"{cut!r} stands for {DELIMITER}", place)
        blank = yield from block.match(SEPARATOR)
        block.markup()
        block.stage.scan.fresh = bool(blank)

    def said(self, item: Call | Result, tools: Mapping[str, ToolSpec]) -> Call | Result:
        if isinstance(item, Result):
            raise Unwritable(self.name, f"results: it has no form for that of {item.id!r}")
        return structs.replace(item, extra={"operation": item.name, **item.extra})

    def constrain(self, grammar: Grammar, tools: Sequence[ToolSpec]) -> None:
        """Add rules for the array (empty only if no call is demanded), the delimiter and prose."""
        call = alt(*(_call_rule(grammar, tool) for tool in tools))
        calls = grammar.row(call, rules.comma(grammar))
        may_be_empty = grammar.calls == "any"
        array = rules.bracketed(grammar, "[]", calls, may_be_empty=may_be_empty)
        prose = many(chars("\0-\ud7ff\ue000-\U0010ffff")) if grammar.prose else EMPTY
        grammar.rule("root", seq(array, lit(f"\n\n{DELIMITER}\n\n"), prose))

    def compose(self, items: Sequence[Item], tools: Mapping[str, ToolSpec]) -> str:
        calls = [self._compose_call(item, tools) for item in items if not isinstance(item, str)]
        prose = "".join(item for item in items if isinstance(item, str))
        try:
            array = json.dumps(calls, indent=2, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise Unwritable(self.name, f"an input that is not JSON: {error}") from error
        return f"{array}\n\n{DELIMITER}\n\n{prose}"

    def _compose_call(self, item: Call | Result, tools: Mapping[str, ToolSpec]) -> dict[str, Any]:
        call = self.said(item, tools)
        assert isinstance(call, Call)
        if call.name not in CATALOGUE and call.name not in tools:
            raise Unwritable(self.name, f"{call.name!r}: it is not in the catalogue nor in `tools`")
        tool = tools.get(call.name)
        value = in_schema_order(call.input, tool.parameters) if tool else call.input
        # Extra fields stand behind the known ones; one with the name of a known field must not
        # replace it, so then they are written first.
        rest = {key: call.extra[key] for key in call.extra if key != "operation"}
        operation = call.extra["operation"]
        head = {"type": call.name, "id": call.id, "operation": operation, "parameters": value}
        return {**rest, **head} if rest.keys() & head.keys() else {**head, **rest}


def _call_rule(grammar: Grammar, tool: ToolSpec) -> Ref:
    text, comma = rules.string(grammar), rules.comma(grammar)
    known = ("type", "id", "operation", "parameters")
    values = (rules.key(tool.name), text, text, input_rule(grammar, tool))
    first, *rest = (
        rules.pair(grammar, rules.key(field), value)
        for field, value in zip(known, values, strict=True)
    )
    others = rules.other_key(grammar, (*known, "priority"))
    extra = alt(
        rules.pair(grammar, rules.key("priority"), rules.number(grammar)),
        rules.pair(grammar, others, rules.any_value(grammar)),
    )
    members = seq(first, *(seq(comma, member) for member in rest), many(seq(comma, extra)))
    return grammar.rule(tool.name, rules.bracketed(grammar, "{}", members, may_be_empty=False))


class BadCall(Exception):
    """The error of an element that is no call: the field, and the reason."""


def _read_element(raw: str, stage: ParseState) -> tuple[dict[str, Any], tuple[str, ...]]:
    try:
        value, repairs = read_mended(raw, strict=stage.strict, depth=stage.limits.depth)
    except ValueError as error:
        raise BadCall(str(error)) from error
    return read_call(value, stage.tools, raw), repairs


def read_call(value: object, tools: Mapping[str, ToolSpec], written: str = "") -> dict[str, Any]:
    """Return the members of a call, or raise `BadCall`. A missing id is no error.

    `written` is the value as it stands in the text, for messages.
    """
    if not isinstance(value, dict):
        raise BadCall(f"a call is an object, not {written or brief(value):.40}")
    call = dict(cast("dict[str, Any]", value))
    for field, kind, form in FIELDS:
        if field not in call:
            raise BadCall(f"{field}: is missing")
        if not isinstance(call[field], kind):
            raise BadCall(f"{field}: must be {form}")
    if not _is_number(call.get("priority", 0)):
        raise BadCall("priority: must be a number")
    if call["type"] not in CATALOGUE and call["type"] not in tools:
        raise BadCall(f"type: {call['type']!r:.60} is not in the catalogue nor among the tools")
    return call


FIELDS = (
    ("type", str, "a string"),
    ("operation", str, "a string"),
    ("parameters", dict, "an object"),
)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
