"""A line that begins with an at sign, the tool's name and an id, as gptme writes it::

    @get_weather(call-1): {"city": "Paris"}

If it is read alone, a Markdown fence whose language is a declared tool is a call, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from callblocks.core.calls import Call
from callblocks.core.specs import ToolSpec
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.fences import FENCE_LINES
from callblocks.parsing.engine.markers import Markers, Shape
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.grammar.expressions import Expr, chars, lit, many, seq
from callblocks.parsing.grammar.grammar import Grammar
from callblocks.parsing.loop import Setting
from callblocks.parsing.readers.announce import Telling
from callblocks.parsing.readers.named_reader import Head, NamedReader, read_named_fence
from callblocks.parsing.repair import Brackets
from callblocks.parsing.shapes.json_calls import NamedJson
from callblocks.parsing.values.strict_json import JsonScan, ScanState

__all__ = ("Gptme",)

AT = Shape(("@",), at_line_start=True)
HEAD = Markers(
    Shape(
        ("[A-Za-z_]", r"[\w.-]{0,127}", r"\(", r"[\w.:-]{0,128}", r"\)", ":", " {0,4}", r"(?=\{)")
    )
)


class Gptme(NamedJson):
    """`@NAME(ID): ` and a JSON object."""

    name = "gptme"
    summary = "@NAME(ID): and a JSON object, at the start of a line"
    syntax = "@NAME(ID): {KEY: VALUE}"
    rules = (
        "Begin a line with `@`, the tool's name, an id of your own in parentheses and a colon, "
        "then write its input as one JSON object.",
    )
    opening = ("\n@",)
    after_name = (": ",)
    only_objects = True
    keeps_ids = True

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        return (AT, *FENCE_LINES) if setting.alone else (AT,)

    def read(self, block: Block) -> Reading[Refused | None]:
        if not block.opening.endswith("@"):
            return read_named_fence(block)
        reader = NamedReader(block, self.named, self.read_head, self.begins)
        reader.telling = _Telling(block)
        return reader.read()

    def read_head(self, block: Block) -> Reading[Head | None]:
        # `@name(id): {` may also begin a line of code. So in `auto` the tool must be declared, or a
        # complete object must follow.
        head = yield from block.match(HEAD)
        name, _, rest = head.partition("(")
        sure = block.stage.alone or name in block.stage.tools
        if not head or not (sure or (yield from _is_object(block))):
            return None
        return Head(name, rest.rpartition(")")[0] or None)

    def written_head(self, call: Call) -> str:
        return f"\n@{call.name}({call.id}): "

    def head_rule(self, grammar: Grammar, tool: ToolSpec) -> Expr:
        id_ = many(chars("a-zA-Z0-9_.:-"), 1)
        return seq(lit(f"\n@{tool.name}("), id_, lit("): "))


class _Telling(Telling):
    """An emitter for calls without a closing marker: a bad one ends with its brackets or line."""

    def bad(self, code: str, detail: str, *, end: int) -> None:
        # `end` may be the end of the text, as no marker closes a call. Only the text up to the
        # closing bracket, or else up to the line end, is malformed; the rest is returned, since it
        # may be prose or another call.
        block, text = self.block, self.text(end)
        start, brace, brackets = end - len(text), text.index("{"), Brackets()
        shut = brackets.feed(text, brace)
        if brackets.state is not ScanState.STOPPED:
            # Nothing was emitted of a call beyond the limit, so `said` may lie before its brace.
            shut = _line_end(text, max(block.stage.said - start, brace + 1))
        block.give_back(start + shut)
        super().bad(code, detail, end=start + shut)


def _line_end(text: str, said: int) -> int:
    """Return the end of the line that was emitted last, with the blanks behind it."""
    blanks = text[len(text[:said].rstrip()) : said]
    if "\n" in blanks:
        return said
    stop = (text + "\n").index("\n", said)
    return stop - text.endswith("\r", said, stop)


def _is_object(block: Block) -> Reading[bool]:
    """Return whether a complete JSON object follows, without consuming it."""
    start, scan = block.offset, JsonScan(block.stage.limits.depth, exact=True)
    yield from block.consume(scan)
    block.give_back(start)
    return scan.state is ScanState.STOPPED
