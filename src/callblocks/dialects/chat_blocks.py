"""The text of a chat display: one `<tool>` for a call and its result::

    <tool id="c1">read_file(path=a.txt)
    its first line…</tool>

A line break inside means that the call is completed, none that it is pending. What a display
shows is redacted, cut and escaped, so what is read back is what was shown: `input` is
`{"shown": "path=a.txt"}`. Old chats hold `<validation>` blocks, which carry no call, and the
Markdown form, which is read as a block like the others::

    🔧 **Tool Call:** `save_file(file_name=a.py)`
    ✅ **`save_file` result:**
    ok
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from callblocks.model.calls import Call, Item, Result
from callblocks.model.shown import (
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
from callblocks.model.specs import ToolSpec
from callblocks.parsing.block import Block, Refused
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine import Setting
from callblocks.parsing.ids import read_id
from callblocks.parsing.markers import Markers, Shape
from callblocks.parsing.spelling import spellings
from callblocks.parsing.stage import Reading

__all__ = ("ChatBlocks",)


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
BACKTICK = Markers("`", "\n")
RESULT_HEAD = "` result:**"
# A name ends with the first backtick, or else each call on a line would read the whole line.
NAME_END = Markers(RESULT_HEAD, "`", "\n")
NEWLINE = Markers("\n")
GAP = "[ \\t\\r\\n]{0,1000}"
LEGACY_HEAD = Markers(*(Shape((GAP, *map(re.escape, mark))) for mark in LEGACY_RESULTS))
BLANK_LINE = Shape(("\\n", "[ \\t]{0,1000}", "\\n"))
LEGACY_END = Markers(
    BLANK_LINE, *(f"\n{mark}" for mark in (*LEGACY_CALLS, *LEGACY_RESULTS, TAG, TAG_WITH_ID))
)
NAME_ALONE = re.compile(r"\w\S*\s*")

# Prose that looks like a block is escaped: `&lt;tool`, and `&amp;lt;tool` one level up. Each
# reference is one only before what it hides.
LEVELS = Markers("amp;", "lt;", "#128295;", "#9989;")
BLANKS = "[^\\S\\n]{0,100}"
HIDDEN = {
    "lt;": Markers(*(Shape(("/?", *_any_case(word))) for word in ("tool", "validation"))),
    "#128295;": Markers(Shape(("\ufe0f?", BLANKS, "\\*", "\\*", BLANKS, *_any_case("tool call")))),
    "#9989;": Markers(Shape(("\ufe0f?", BLANKS, "\\*", "\\*", BLANKS, "`"))),
}
REFERENCES = ("&amp;", "&lt;", "&#128295;", "&#9989;")


class ChatBlocks(Dialect):
    """A display's text, read back as far as it was shown."""

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
                return block.refuse()
            id_ = read_id(unescape_id(raw))
        at = block.offset
        call, end = yield from block.until(LINE_END)
        if not _is_call(call):
            return block.refuse()
        result = None
        if end in ("\n", "\r\n"):
            result, end = yield from block.until(TAG_START)
        if end and (yield from block.match(TAG_REST)):
            return _say_call(block, call, at, result, id_)
        if not block.stops_within(CLOSING_REST):
            return block.refuse()
        return block.malformed("chat-blocks.unclosed", "the text ended inside the tag")

    def _read_legacy(self, block: Block) -> Reading[Refused | None]:
        at = block.offset
        call, end = yield from block.until(BACKTICK)
        if end != "`" or not _is_call(call):
            return block.refuse()
        ended, result = block.offset, None
        if (yield from block.match(LEGACY_HEAD)):
            name, end = yield from block.until(NAME_END)
            if end != RESULT_HEAD or name != unescape_call(call)[0]:
                block.give_back(ended)
            else:
                yield from block.match(NEWLINE)
                result, end = yield from block.until(LEGACY_END)
                block.give_back(block.offset - len(end))
        return _say_call(block, call, at, None if result is None else result.strip())

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


def _is_call(line: str) -> bool:
    """`name(…)`, or a name alone: anything else is a sentence that mentions the tag."""
    return "(" in line or bool(NAME_ALONE.fullmatch(line))


def _say_call(block: Block, line: str, at: int, result: str | None, id_: str | None = None) -> None:
    """Say a call whose line begins at the offset `at`, and its result if it has one."""
    name, arguments = unescape_call(line)
    shown = arguments or ""
    head = at + len(line.partition("(")[0]) + ("(" in line)
    tail = at + len(line) - line.endswith(")")
    block.started(name, id_, end=head)
    index = block.index
    if tail > head:
        block.input(line[head - at : tail - at], end=tail)
    call = block.ready({"shown": shown}, size=len(shown))
    if call is not None and index is not None and result is not None:
        text, failed = unescape_result(result)
        outcome = {"error": text} if failed else {"output": text}
        block.result(Result(id=call.id, **outcome), index)


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
