"""A JSON array of calls, the delimiter ✂️🐱, then prose (specification 2)::

    [{"type": "gmail_list", "id": "g1", "operation": "List mail", "parameters": {}}]

    ✂️🐱

    Let me check your recent emails...

The calls stand at the start of the text, or of a later line; a Markdown fence may wrap them.
They are held until the delimiter has confirmed them: without one, all of it was prose. Only
the first delimiter outside a JSON string counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from msgspec import structs

from callblocks.model.calls import Call, Item, Result
from callblocks.model.errors import Unwritable
from callblocks.model.specs import ToolSpec
from callblocks.parsing import json_rules as rules
from callblocks.parsing.block import Block, Refused
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine import Setting
from callblocks.parsing.expressions import Ref, alt, chars, lit, many, seq
from callblocks.parsing.grammar import Grammar
from callblocks.parsing.ids import read_id
from callblocks.parsing.json_scan import JsonScan, ScanState
from callblocks.parsing.markers import Markers, Shape
from callblocks.parsing.schema_order import in_schema_order
from callblocks.parsing.schema_rules import input_rule
from callblocks.parsing.spelling import damaged, spellings
from callblocks.parsing.stage import Reading

__all__ = ("CATALOGUE", "DELIMITER", "ScissorsCat")

DELIMITER = "✂️🐱"
CUTS = (*spellings(DELIMITER), *damaged(DELIMITER))
CUT = Markers(*CUTS)
SEPARATOR = Markers("\n", "\n\n", "\r\n", "\r\n\r\n")
# Runs of blanks are bounded so that waiting for their end stays cheap.
BLANKS, SPACE, TICKS = "[ \\t]{0,1000}", "\\s{0,1000}", ("`", "`", "`{1,100}")
BARE = Shape((BLANKS, "[\\[{]"), at_line_start=True)
FENCED = Shape(
    (" {0,3}", *TICKS, "\\w{0,20}", BLANKS, "\\r?", "\\n", SPACE, "[\\[{]"), at_line_start=True
)
CLOSING_FENCE = Markers(Shape((*TICKS, SPACE, "(?=\\S)")))
LATER = Markers(BARE, *CUTS)
FOREVER = 1 << 62

CATALOGUE = (
    *("api_call", "file_ingest", "file_upload", "search", "web_search", "custom"),
    *("gmail_list", "gmail_read", "gmail_send", "gmail_search"),
    *("drive_list", "drive_read", "drive_create", "drive_update", "drive_delete", "drive_search"),
    *("calendar_list", "calendar_events", "calendar_create", "calendar_update", "calendar_delete"),
    *("docs_read", "docs_create", "docs_append", "docs_replace"),
    *("sheets_read", "sheets_write", "sheets_append", "sheets_create", "sheets_clear"),
    *("tasks_list", "tasks_get", "tasks_create", "tasks_update", "tasks_complete", "tasks_delete"),
    "terminal_execute",
)


class ScissorsCat(Dialect):
    """Calls first, then `✂️🐱`, then prose."""

    name = "scissors-cat"
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
        "fenced-calls": "a Markdown fence wraps the calls",
    }

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        return (BARE, FENCED, *CUTS) if setting.in_code_fences else (BARE, *CUTS)

    def read(self, block: Block) -> Reading[Refused | None]:
        if block.opening[-1] not in "[{":
            return (yield from self._read_lone_delimiter(block))
        scan = JsonScan(block.stage.limits.depth)
        scan.feed(block.opening[-1])
        first = block.offset - 1
        yield from block.consume(scan)
        if scan.state is ScanState.STOPPED and "`" in block.opening:
            yield from block.match(CLOSING_FENCE)
        scanned = block.offset - first
        cut = yield from block.match(CUT)
        if cut and scan.complete:
            return (yield from self._read_calls(block, scan, first, cut))
        if scan.state in (ScanState.OPEN, ScanState.CLOSED):
            return block.refuse(until=FOREVER)
        if cut and (inner := _line_start(block, first, scan)) is not None:
            return block.refuse(until=inner)
        if not block.at_start or not (cut or scan.looked_like_calls):
            return block.refuse(until=_solid_end(block, cut))
        return (yield from self._read_broken(block, cut, scan, scanned))

    def _read_lone_delimiter(self, block: Block) -> Reading[Refused | None]:
        """The first delimiter counts, even with nothing to confirm; after prose it is prose."""
        if not block.at_start:
            return block.refuse(until=FOREVER)
        yield from self._end(block, block.opening)
        return None

    def _read_broken(
        self, block: Block, cut: str, scan: JsonScan, scanned: int
    ) -> Reading[Refused | None]:
        """A text that starts with JSON that breaks is not prose if a delimiter follows.

        Calls may still stand on a later line: then what broke ends there, and a value that
        was whole is the prose before them.
        """
        later: int | None = None
        while not cut:
            block.stage.scan.fresh = _ends_line(block.taken)
            _, marker = yield from block.until(LATER)
            if marker[-1:] not in ("[", "{"):
                cut = marker
                break
            cut, later = yield from self._try_later(block, marker)
        if not cut:
            return block.refuse(until=FOREVER)
        if later is not None and scan.complete:
            return block.refuse(until=later)
        if later is not None:
            block.give_back(later)
        text = block.text.removesuffix(cut)[len(block.opening) - 1 :]
        block.malformed("scissors-cat.json", f"not JSON: {_reason(text, scanned)}")
        if later is None:
            yield from self._end(block, cut)
        return None

    def _try_later(self, block: Block, marker: str) -> Reading[tuple[str, int | None]]:
        """The delimiter after the value that a marker opened, and where the calls begin."""
        first, scan = block.offset - 1, JsonScan()
        scan.feed(marker[-1])
        yield from block.consume(scan)
        cut = yield from block.match(CUT)
        if not cut:
            return "", None
        if not scan.complete:
            return cut, _line_start(block, first, scan)
        return cut, block.start + len(block.text[: first - block.start].rstrip())

    def _read_calls(
        self, block: Block, scan: JsonScan, first: int, cut: str
    ) -> Reading[Refused | None]:
        if scan.too_deep:
            block.malformed("too-deep", f"more than {block.stage.limits.depth} levels")
            yield from self._end(block, cut)
            return None
        if not block.at_start:
            block.problem("prose-before-calls", "calls come first", (block.start, first))
        if "`" in block.opening:
            block.problem("fenced-calls", "no fence is needed", (block.start, first))
        section, end = block.text, block.offset
        elements = scan.elements()
        for number, (start, stop) in enumerate(elements, 1):
            raw = section[first - block.start + start : first - block.start + stop]
            upto = end if number == len(elements) else first + stop
            self._read_call(block, raw, first + start, first + stop, upto)
        yield from self._end(block, cut)
        return None

    def _read_call(self, block: Block, raw: str, start: int, stop: int, upto: int) -> None:
        """Say one element of the array; what follows it up to `upto` is markup."""
        try:
            call = _validated(raw, block.stage.tools)
        except _BadCall as error:
            return block.malformed("scissors-cat.call", str(error), end=stop, text=raw)
        block.started(call.pop("type"), read_id(call.pop("id", None)), end=start)
        block.input(raw, end=stop)
        value = call.pop("parameters")
        block.ready(value, size=len(raw), extra=call, end=upto, text=raw)
        return None

    def _end(self, block: Block, cut: str) -> Reading[None]:
        """Own the delimiter and the blank line after it; no later one counts."""
        place = (block.offset - len(cut), block.offset)
        block.barred = FOREVER
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
        """The array, also an empty one, the delimiter, and any prose."""
        call = alt(*(_call_rule(grammar, tool) for tool in tools))
        calls = seq(call, many(seq(rules.comma(grammar), call)))
        array = rules.bracketed(grammar, "[]", calls, may_be_empty=True)
        prose = many(chars("\0-\ud7ff\ue000-\U0010ffff"))
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
    extra = rules.pair(grammar, rules.other_key(grammar, known), rules.any_value(grammar))
    members = seq(first, *(seq(comma, member) for member in rest), many(seq(comma, extra)))
    return grammar.rule(tool.name, rules.bracketed(grammar, "{}", members, may_be_empty=False))


class _BadCall(Exception):
    """An element that is not a call: the field, and the reason."""


def _validated(raw: str, tools: Mapping[str, ToolSpec]) -> dict[str, Any]:
    try:
        call = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise _BadCall(str(error)) from error
    if not isinstance(call, dict):
        raise _BadCall(f"a call is an object, not {raw:.40}")
    call = cast("dict[str, Any]", call)
    for field, kind, form in FIELDS:
        if field not in call:
            raise _BadCall(f"{field}: is missing")
        if not isinstance(call[field], kind):
            raise _BadCall(f"{field}: must be {form}")
    if not _is_number(call.get("priority", 0)):
        raise _BadCall("priority: must be a number")
    if call["type"] not in CATALOGUE and call["type"] not in tools:
        raise _BadCall(f"type: {call['type']!r:.60} is not in the catalogue nor among the tools")
    return call


FIELDS = (
    ("type", str, "a string"),
    ("operation", str, "a string"),
    ("parameters", dict, "an object"),
)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _solid_end(block: Block, cut: str = "") -> int:
    """Where the text that cannot be calls ends: a new line after it may start again."""
    return block.start + len(block.text.removesuffix(cut).rstrip())


def _line_start(block: Block, first: int, scan: JsonScan) -> int | None:
    """The line start of a value inside the broken one that ends right before the delimiter."""
    if scan.last_closed is None:
        return None
    section = block.text[first - block.start :]
    start, end = scan.last_closed
    head = section[:start].rstrip(" \t")
    follows = CUT.final.match(section, end + len(section[end:]) - len(section[end:].lstrip()))
    return first + len(head) - 1 if follows and head.endswith("\n") else None


def _ends_line(parts: Sequence[str]) -> bool:
    """Whether the next character begins a line, blanks aside."""
    for part in reversed(parts):
        if solid := part.rstrip(" \t"):
            return solid.endswith("\n")
    return False


def _reason(text: str, broken: int) -> str:
    """Why a text is not JSON, given the place that no JSON can pass."""
    if broken >= len(text):
        return "it is not closed"
    row, column = text.count("\n", 0, broken) + 1, broken - text.rfind("\n", 0, broken)
    return f"{text[broken]!r} cannot stand in line {row}, column {column}"
