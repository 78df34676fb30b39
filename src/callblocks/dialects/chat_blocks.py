"""The text of a chat display: one `<tool>` for a call and its result::

    <tool id="c1">read_file(path=a.txt)
    its first line…</tool>

With a line break inside, the call is completed; without one it is pending. A display redacts, cuts
and escapes, so a reader gets back only what was shown: `input` is `{"shown": "path=a.txt"}`. Old
chats have `<validation>` blocks, which carry no call, and a Markdown form, which is read as a block
like the others::

    🔧 **Tool Call:** `save_file(file_name=a.py)`
    ✅ **`save_file` result:**
    ok

Several old calls may stand before their results. Calls with only blanks between them are one run,
and a result belongs to the first call of its tool in the run that has none yet. A call may hold
backticks: see `find_legacy_call`.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Container, Mapping, Sequence
from typing import ClassVar, NamedTuple, TypeAlias

from callblocks.core.call_text import (
    escape_call,
    escape_id,
    escape_prose,
    escape_result,
    show_arguments,
    show_result,
    unescape_call,
    unescape_id,
    unescape_prose,
    unescape_result,
)
from callblocks.core.calls import Call, Item, Result
from callblocks.core.specs import ToolSpec
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.ids import read_id
from callblocks.parsing.engine.markers import Markers, Shape, spellings
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.loop import Setting

__all__ = ("ChatBlocks", "LegacyCall", "find_legacy_call")


def _any_case(word: str) -> tuple[str, ...]:
    return tuple(f"[{letter}{letter.upper()}]" for letter in word)


TAG, TAG_WITH_ID, VALIDATION = "<tool>", '<tool id="', "<validation>"
LEGACY_CALLS = spellings("🔧\ufe0f **Tool Call:** `")
LEGACY_RESULTS = spellings("✅\ufe0f **`")
ID_END = Markers('">', '"', "<", "\n")
LINE_END = Markers("<", "\n")
TAG_START = Markers("<")
CLOSING_REST = "/tool>"
TAG_REST = Markers(CLOSING_REST)
VALIDATION_REST = Markers("/validation>")
RESULT_HEAD = "` result:**"
# A name ends at the first backtick. A line also ends at the next call on it: otherwise each of many
# calls on one line would read the whole line, which is quadratic.
NAME_END = Markers(RESULT_HEAD, "`", "\n")
LEGACY_TICK = Markers("`", "\n", *LEGACY_CALLS)
NEWLINE = Markers("\n")
GAP = "[ \\t\\r\\n]{0,1000}"
LEGACY_HEAD = Markers(*(Shape((GAP, *map(re.escape, mark))) for mark in LEGACY_RESULTS))
NEXT_LEGACY = Markers(*(Shape((GAP, *map(re.escape, mark))) for mark in LEGACY_CALLS))
BLANK_LINE = Shape(("\\n", "[ \\t]{0,1000}", "\\n"))
LEGACY_END = Markers(
    BLANK_LINE, *(f"\n{mark}" for mark in (*LEGACY_CALLS, *LEGACY_RESULTS, TAG, TAG_WITH_ID))
)
NAME_ALONE = re.compile(r"\w\S*\s*")

# Prose that looks like a block is escaped: `&lt;tool`, and `&amp;lt;tool` one level up. An entity
# counts only before the text that it hides; `&lt;b` is prose as it stands.
LEVELS = Markers("amp;", "lt;", "#128295;", "#9989;")
BLANKS = "[^\\S\\n]{0,100}"
HIDDEN = {
    "lt;": Markers(*(Shape(("/?", *_any_case(word))) for word in ("tool", "validation"))),
    "#128295;": Markers(Shape(("\ufe0f?", BLANKS, "\\*", "\\*", BLANKS, *_any_case("tool call")))),
    "#9989;": Markers(Shape(("\ufe0f?", BLANKS, "\\*", "\\*", BLANKS, "`"))),
}
REFERENCES = ("&amp;", "&lt;", "&#128295;", "&#9989;")


# By the name of the tool: id and index of the calls without a result yet, oldest first.
Waiting: TypeAlias = dict[str, deque[tuple[str, int]]]


class ChatBlocks(Dialect):
    """The text of a chat display, read back as far as it was shown."""

    name = "chat-blocks"
    summary = "<tool> blocks of a chat display, each a call as shown and its result"
    syntax = '<tool id="ID">NAME(KEY=VALUE, …)\nRESULT</tool>'
    codes: ClassVar = {
        "chat-blocks.unclosed": "a `<tool>` without its closing tag",
        "chat-blocks.validation": "a `<validation>` block of an old chat: it carries no call",
    }
    turn_ends = ()

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        blocks = (TAG, TAG_WITH_ID, VALIDATION, *LEGACY_CALLS)
        return (*blocks, *REFERENCES) if setting.alone else blocks

    def read(self, block: Block) -> Reading[Refused | None]:
        if block.opening in REFERENCES:
            return (yield from self._read_escaped(block))
        if block.opening == VALIDATION:
            return (yield from self._read_validation(block))
        if block.opening in LEGACY_CALLS:
            return (yield from self._read_legacy(block))
        return (yield from self._read_tag(block))

    def _read_tag(self, block: Block) -> Reading[Refused | None]:
        id_ = None
        if block.opening == TAG_WITH_ID:
            raw, end = yield from block.until(ID_END)
            if end != '">':
                return block.refuse(expected='`">`', at=block.offset - len(end))
            id_ = read_id(unescape_id(raw))
        at = block.offset
        call, end = yield from block.until(LINE_END)
        if not _is_call(call):
            return block.refuse(expected="a name and arguments", at=at)
        # The call is the first line, the result the rest, and neither holds `<`, which a display
        # escapes: any other `<` than that of the closing tag refuses the block.
        result = None
        if end in ("\n", "\r\n"):
            result, end = yield from block.until(TAG_START)
        if end and (yield from block.match(TAG_REST)):
            _say_call(block, call, at, result, id_)
            return None
        if not block.stops_within(CLOSING_REST):
            return block.refuse()
        return block.malformed("chat-blocks.unclosed", "the text ended inside the tag")

    def _read_legacy(self, block: Block) -> Reading[Refused | None]:
        """Read a call, and, while calls wait for their results, the rest of the run.

        A result right behind its call belongs to the call's block; a later one has a span of its
        own. Text that does not continue the run is returned to the scanner.
        """
        waiting: Waiting = {}
        end, gap = block.start, ""
        while True:
            at = block.offset
            call = find_legacy_call(*(yield from _read_legacy_line(block)))
            if call is None:
                if not waiting:
                    return block.refuse(expected="a name and arguments", at=at)
                block.give_back(end)
                return None
            block.give_back(at + call.end)
            name = unescape_call(call.text)[0]
            # A result right behind its call is the call's own, unless an earlier call of the same
            # tool still waits: results come in the order of the calls.
            own = None if name in waiting else (yield from _read_legacy_result(block, (name,)))
            if gap:
                block.stage.prose(gap)
            said = _say_call(block, call.text, at + call.start, own and own[1])
            if said is not None and own is None:
                waiting.setdefault(name, deque()).append(said)
            yield from _read_late_results(block, waiting)
            end = block.offset
            following = (yield from block.match(NEXT_LEGACY)) if waiting else ""
            if not following:
                return None
            gap = following[: -len(following.lstrip(" \t\r\n"))]

    def _read_validation(self, block: Block) -> Reading[Refused | None]:
        _, end = yield from block.until(TAG_START)
        if not end or not (yield from block.match(VALIDATION_REST)):
            return block.refuse()
        return block.malformed("chat-blocks.validation", "what it says belongs to no call")

    def _read_escaped(self, block: Block) -> Reading[Refused | None]:
        reference = block.opening[1:]
        while reference == "amp;":
            reference = yield from block.match(LEVELS)
        if not reference or not (yield from block.match(HIDDEN[reference])):
            return block.refuse()
        block.shown(unescape_prose(block.text))
        return None

    def said(self, item: Call | Result, tools: Mapping[str, ToolSpec]) -> Call | Result:
        if isinstance(item, Call):
            name, shown = unescape_call(escape_call(item.name, _shown(item)))
            return Call(id=item.id, name=name, input={"shown": shown}, ended=item.ended)
        if item.error is not None:
            return Result(id=item.id, error=show_result(item.error)[0])
        return Result(id=item.id, output=show_result(item.output)[0])

    def compose(self, items: Sequence[Item], tools: Mapping[str, ToolSpec]) -> str:
        results = {item.id: item for item in items if isinstance(item, Result)}
        parts: list[str] = []
        for item in items:
            if isinstance(item, Call):
                parts.append(_write_tag(item, results.pop(item.id, None)))
            elif isinstance(item, str):
                parts.append(escape_prose(item))
        return "".join(parts)


class LegacyCall(NamedTuple):
    """A call in a line: its text begins at `start`, and its closing backticks end at `end`."""

    text: str
    start: int
    end: int


def find_legacy_call(line: str, is_whole: bool) -> LegacyCall | None:
    """Find the call at the start of a line, right behind the marker with its opening backtick.

    Several backticks open a code span as in Markdown, which ends with as many. After a single one
    the text may hold backticks, too. The call then ends, in this order of preference:

    1. at the first backtick behind a balanced `name(…)`, or behind a name alone;
    2. if the line is complete: at its last backtick if nothing follows it and `)` stands before it,
       else at the first backtick behind a `)`, else at the first one.

    An incomplete line with neither has no call yet: more text could change where it ends.
    """
    ticks = len(line) - len(line.lstrip("`"))
    if ticks:
        closing = re.compile(f"(?<!`)`{{{ticks + 1}}}(?!`)").search(line, ticks)
        if closing is None:
            return None
        start, end = ticks, closing.start()
        if end - start > 2 and line[start] == line[end - 1] == " ":
            start, end = start + 1, end - 1
        found = LegacyCall(line[start:end], start, closing.end())
    else:
        end = _find_tick(line, is_whole)
        if end is None:
            return None
        found = LegacyCall(line[:end], 0, end + 1)
    return found if _is_call(found.text) else None


def _read_legacy_line(block: Block) -> Reading[tuple[str, bool]]:
    """Read a line up to where its call is certain; return it, and whether it is certain.

    Most calls are certain at the first backtick: text behind a call must not be held back.
    """
    parts: list[str] = []
    # Parentheses are counted as the text arrives. A backtick ends the call if none is open, unless
    # the line began with several backticks (`is_span`), which only as many can close.
    depth, is_open, is_span = 0, False, False
    while True:
        text, mark = yield from block.until(LEGACY_TICK)
        is_span = is_span or not (text or parts)
        depth += text.count("(") - text.count(")")
        is_open = is_open or "(" in text
        if mark != "`":
            return "".join((*parts, text)), bool(mark)
        parts += (text, mark)
        if not is_span and (not is_open or (depth == 0 and text.endswith(")"))):
            return "".join(parts), True


def _find_tick(line: str, is_whole: bool) -> int | None:
    depth, is_open = 0, False
    ticks: list[int] = []
    for mark in re.finditer("[()`]", line):
        if mark[0] == "`":
            at = mark.start()
            if not is_open or (depth == 0 and line[at - 1] == ")"):
                return at
            ticks.append(at)
        else:
            is_open = is_open or mark[0] == "("
            depth += 1 if mark[0] == "(" else -1
    if not is_whole or not ticks:
        return None
    after = [at for at in ticks if line[at - 1] == ")"] or ticks[:1]
    return after[-1] if not line[after[-1] + 1 :].strip() else after[0]


def _read_legacy_result(block: Block, names: Container[str]) -> Reading[tuple[str, str] | None]:
    """Read a result of one of these tools, if it follows; return the tool's name and the text."""
    ended = block.offset
    if not (yield from block.match(LEGACY_HEAD)):
        return None
    name, mark = yield from block.until(NAME_END)
    if mark != RESULT_HEAD or name not in names:
        block.give_back(ended)
        return None
    yield from block.match(NEWLINE)
    result, end = yield from block.until(LEGACY_END)
    block.give_back(block.offset - len(end))
    return name, result.strip()


def _read_late_results(block: Block, waiting: Waiting) -> Reading[None]:
    """Read the results that follow, for calls that wait for theirs."""
    while waiting:
        found = yield from _read_legacy_result(block, waiting)
        if found is None:
            return
        name, shown = found
        id_, index = waiting[name].popleft()
        if not waiting[name]:
            del waiting[name]
        block.result(_result(id_, shown), index)


def _is_call(line: str) -> bool:
    """Return whether a line is `name(…)` or a name; else it is a sentence about the tag."""
    return "(" in line or bool(NAME_ALONE.fullmatch(line))


def _say_call(
    block: Block, line: str, at: int, result: str | None, id_: str | None = None
) -> tuple[str, int] | None:
    """Emit a call whose line begins at the offset `at`, and its result if it has one.

    Return its id and index, or None if it exceeds a limit.
    """
    name, arguments = unescape_call(line)
    shown = arguments or ""
    head = at + len(line.partition("(")[0]) + ("(" in line)
    tail = at + len(line) - line.endswith(")")
    start = block.stage.said - block.start
    block.started(name, id_, end=head)
    index = block.index
    if tail > head:
        block.input(line[head - at : tail - at], end=tail)
    call = block.ready({"shown": shown}, size=len(shown), text=lambda: block.text[start:])
    if call is None or index is None:
        return None
    if result is not None:
        block.result(_result(call.id, result), index)
    return call.id, index


def _result(id_: str, shown: str) -> Result:
    text, failed = unescape_result(shown)
    return Result(id=id_, **{"error" if failed else "output": text})


def _shown(call: Call) -> str:
    given = call.input.get("shown")
    return (
        given if isinstance(given, str) and len(call.input) == 1 else show_arguments(call.input)[0]
    )


def _write_tag(call: Call, result: Result | None) -> str:
    said = escape_call(call.name, _shown(call))
    if result is not None:
        failed = result.error is not None
        shown, _ = show_result(result.error if failed else result.output)
        said += "\n" + escape_result(shown, failed)
    return f'<tool id="{escape_id(call.id)}">{said}</tool>'
