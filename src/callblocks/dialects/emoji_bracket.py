"""Emoji-bracket blocks, anywhere in a line::

    🛠️[create-file script.py]
    print("Hello World")
    🛠️[/end]

A `]` ends the head, so a list in it stands without its brackets; see `parsing.values.binding`.
The head is one line: if the line ends first, the marker is prose (7.1). A body without an end
marker runs to the end of the text (7.2). An inner start marker is body text (7.4). An end marker
inside of a body is written with a backslash, `🛠️[\\/end]`, one more for each level.

`🛠️[/result 2]` … `🛠️[/end]` holds the result of the second call of the text; `/result 2 json` and
`/result 2 error` mark it as JSON, or as an error.

Models write lists with their brackets all the same: `🛠️[read ["a.md", "b.md"]]`. The first `]` then
ends the head too early. The call is read as the grammar says, and only if its arguments do not fit
the tool, longer heads are tried (`_longer_heads`).
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar

from callblocks.core.calls import Call, Item, Result
from callblocks.core.errors import Unwritable
from callblocks.core.specs import ToolSpec
from callblocks.core.text import brief
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import Markers, Shape, damaged, spellings
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.grammar.argument_rules import arguments, input_rule, json_rule
from callblocks.parsing.grammar.expressions import Expr, alt, lit, none_of, seq, until
from callblocks.parsing.grammar.grammar import Grammar
from callblocks.parsing.grammar.json_rules import strings_without
from callblocks.parsing.loop import Setting
from callblocks.parsing.values.binding import bind, may_be_whole, unbind, unbind_whole
from callblocks.parsing.values.strict_json import JsonScan, read_json

__all__ = ("EmojiBracket", "EmojiBracketPlus")

TOOL = "🛠️"
SPELLINGS = (*spellings(TOOL), *damaged(TOOL))
OPEN = tuple(f"{tool}[" for tool in SPELLINGS)
HEAD_END = Markers("]", "\n")
END = Markers(*(f"{tool}[/end]" for tool in SPELLINGS))
NEWLINE = Markers("\n")
# The number of longer heads that are tried; each try binds the whole input.
MOST_HEADS = 8

_LINE_END = re.compile(r"\A\r?\n")
_ANY_TOOL = "|".join(map(re.escape, SPELLINGS))
# An end marker in a body gets one more backslash when it is written, and loses one when it is read.
_END_MARKER = re.compile(rf"((?:{_ANY_TOOL})\[)(\\*/end\])")
_ESCAPED_END = re.compile(rf"((?:{_ANY_TOOL})\[)\\(\\*/end\])")
_RESULT_HEAD = re.compile(r"/result ([0-9]{1,9})(?: (json|error))?", re.ASCII)


class EmojiBracket(Dialect):
    """`🛠️[NAME ARGS]` body `🛠️[/end]`."""

    name = "emoji-bracket"
    summary = "🛠️[name args] body 🛠️[/end], anywhere in a line"
    syntax = "🛠️[NAME ARGS]\nBODY\n🛠️[/end]"
    rules = (
        "Between `🛠️[` and `]`, on one line: the tool's name, then its arguments in order. "
        "Quote an argument that holds blanks.",
        "What comes after that line, up to `🛠️[/end]`, is the body. It may be empty.",
        'A list among the arguments is JSON without its outer brackets: `\'"a", "b"\'`.',
        "To write `🛠️[/end]` inside a body, write `🛠️[\\/end]`.",
        "Always end a call with `🛠️[/end]`. You may write several calls, and prose between them.",
    )
    codes: ClassVar = {
        "emoji-bracket.stray-end": "an end marker that ends nothing",
        "emoji-bracket.empty-head": "a start marker without a tool's name",
        "emoji-bracket.unended-result": "a result whose end marker is missing",
        "emoji-bracket.result": "a result that says it is JSON and is not",
        "bracket-in-head": "a list stood in the head with its brackets; they did not end it",
        "named-argument": "arguments were written `name=value`; they were bound by their names",
    }
    turn_ends = ()
    keeps_ids = False
    # True if `🛠️[NAME ARGS /]` is a complete call.
    one_line = False

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        return OPEN

    def early_ends(self, tools: Mapping[str, ToolSpec] | None) -> Sequence[Shape]:
        # A model that copies a text need not know the escape: end markers in a shown text get a
        # sign, at any level of escaping.
        return [
            Shape((*map(re.escape, tool), "\\[", "\\\\*", *"/end", "\\]")) for tool in SPELLINGS
        ]

    def read(self, block: Block) -> Reading[Refused | None]:
        head, bracket = yield from block.until(HEAD_END)
        if bracket != "]":
            expected, at = "`]` in the same line", block.offset - len(bracket)
            return block.refuse(until=block.offset, expected=expected, at=at)
        whole = self.one_line and head.endswith(" /")
        said = head.removesuffix(" /") if whole else head
        if not said.strip():
            return block.prose("emoji-bracket.empty-head", "there is no name in the brackets")
        if head == "/end":
            return block.prose("emoji-bracket.stray-end", "no block is open here")
        # `/result 2` without a second call is no result; it is then read as a call named `/result`.
        result = _RESULT_HEAD.fullmatch(head)
        if result and 0 < int(result[1]) <= len(block.stage.ready):
            return (yield from self._read_result(block, int(result[1]), result[2]))
        return (yield from self._read_call(block, said, whole))

    def _read_call(self, block: Block, head: str, whole: bool) -> Reading[None]:
        name, args = _split_head(head)
        block.started(name)
        _note_damage(block, block.opening, block.start)
        body, end, newline = "", "]", ""
        if not whole:
            newline = yield from block.match(NEWLINE)
            if newline:
                block.input("")
            body, end = yield from block.stream(END)
        value, problems = _read_input(block, args, newline, _unescape(body))
        block.ready(value, size=len(args) + len(body), ended=bool(end))
        for code, detail in problems:
            block.problem(code, detail)
        _note_damage(block, end, block.stage.said - len(end))

    def _read_result(self, block: Block, number: int, kind: str | None) -> Reading[None]:
        yield from block.match(NEWLINE)
        body, end = yield from block.until(END)
        if not end:
            return block.malformed("emoji-bracket.unended-result", "the text ended inside it")
        text, (id_, index) = _unescape(body), block.stage.ready[number - 1]
        try:
            output = read_json(text, block.stage.limits.depth) if kind == "json" else text
        except ValueError as error:
            return block.malformed("emoji-bracket.result", str(error))
        outcome = {"error": text} if kind == "error" else {"output": output}
        block.result(Result(id=id_, **outcome), index)
        _note_damage(block, block.opening, block.start)
        _note_damage(block, end, block.stage.said - len(end))
        return None

    def constrain(self, grammar: Grammar, tools: Sequence[ToolSpec]) -> None:
        """Add rules for prose without start markers, and for calls; a model writes no results."""
        # A body is text up to the exact end marker; its other spellings are excluded, because a
        # reader would end the body there. `some` is a body that is not empty: its first character
        # must not begin an end marker.
        whole = spellings(TOOL)
        end, *others = (f"{tool}[/end]" for tool in whole)
        body = grammar.rule("body", until([end], others))
        emoji, first = TOOL[0], none_of(f"{TOOL}[")
        some = seq(alt(none_of(emoji), seq(lit(emoji), first), seq(lit(TOOL), first)), body)
        bodies = {
            "none": [lit(f"]\n{end}")],
            "any": [seq(lit("]\n"), body)],
            "some": [seq(lit("]\n"), grammar.rule("some-body", some))],
        }
        if self.one_line:
            bodies["none"].append(lit(" /]"))
            bodies["any"].append(lit(" /]"))
        calls = [
            seq(lit(tool.name), said, alt(*bodies.get(may) or _json_body(grammar, tool, end)))
            for tool in tools
            for said, may in arguments(grammar, tool)
        ]
        wholes = (_whole_body(grammar, tool, end) for tool in tools if may_be_whole(tool))
        call = grammar.rule("call", seq(lit(f"{TOOL}["), alt(*calls, *wholes)))
        grammar.text([f"{tool}[" for tool in whole], call)

    def compose(self, items: Sequence[Item], tools: Mapping[str, ToolSpec]) -> str:
        calls = [item.id for item in items if isinstance(item, Call)]
        numbers = {id_: number for number, id_ in enumerate(calls, 1)}
        parts: list[str] = []
        for item in items:
            if isinstance(item, Call):
                parts.append(self._compose_call(item, tools))
            elif isinstance(item, Result):
                parts.append(self._compose_result(item, numbers))
            else:
                parts.append(item)
        return "".join(parts)

    def _compose_call(self, call: Call, tools: Mapping[str, ToolSpec]) -> str:
        tool = tools.get(call.name)
        args, body = self._split_input(call, tool)
        head = f"{call.name} {args}" if args else call.name
        # A `]` or a line end would end the head. The whole input as a JSON body avoids the head.
        if tool and _breaks_head(args) and (whole := unbind_whole(call.input, tool)):
            head, body = call.name, whole
        if _breaks_head(head):
            raise Unwritable(self.name, f"`]` or a line end in the head {head!r:.80}")
        end = f"{TOOL}[/end]" if call.ended else ""
        return f"{TOOL}[{head}]\n{_escape(body)}{end}"

    def _split_input(self, call: Call, tool: ToolSpec | None) -> tuple[str, str]:
        raw = (call.input.get("args", ""), call.input.get("body", ""))
        bound = unbind(call.input, tool) if tool else raw if call.input.keys() == RAW_KEYS else None
        if bound is None or not all(isinstance(part, str) for part in bound):
            hint = "" if tool else "; `tools` must name it, so that its parameters have an order"
            raise Unwritable(self.name, f"the input {brief(call.input)} of {call.name!r}{hint}")
        return bound

    def _compose_result(self, result: Result, numbers: Mapping[str, int]) -> str:
        if result.id not in numbers:
            raise Unwritable(self.name, f"the result of {result.id!r}, whose call is not here")
        text, kind = result.output, ""
        if result.error is not None:
            text, kind = result.error, " error"
        elif not isinstance(text, str):
            text, kind = _json(self.name, text), " json"
        return f"{TOOL}[/result {numbers[result.id]}{kind}]\n{_escape(text)}{TOOL}[/end]"


class EmojiBracketPlus(EmojiBracket):
    """The same, with `🛠️[NAME ARGS /]` for a call without a body."""

    name = "emoji-bracket+"
    summary = "emoji-bracket, and 🛠️[name args /] for a whole call without a body"
    syntax = "🛠️[NAME ARGS]\nBODY\n🛠️[/end]\n🛠️[NAME ARGS /]"
    rules = (
        *EmojiBracket.rules,
        "A call without a body may be written on one line: `🛠️[NAME ARGS /]`, with no end marker.",
    )
    one_line = True
    in_auto = False

    def _split_input(self, call: Call, tool: ToolSpec | None) -> tuple[str, str]:
        args, body = super()._split_input(call, tool)
        # A last word `/` would end the call; it is quoted, which binding undoes.
        if tool and f" {args}".endswith(" /"):
            args = f"{args[:-1]}'/'"
        return args, body


RAW_KEYS = {"args", "body"}


def _json_body(grammar: Grammar, tool: ToolSpec, end: str) -> list[Expr]:
    """Return a rule for a JSON body of its parameter's schema, without end markers in strings."""
    strings_without(grammar, [f"{tool}[/end]" for tool in spellings(TOOL)])
    schema = tool.properties.get(tool.body or "", {})
    value = json_rule(grammar, schema, f"{tool.name}-body", tool.parameters)
    return [seq(lit("]\n"), value, lit(f"\n{end}"))]


def _whole_body(grammar: Grammar, tool: ToolSpec, end: str) -> Expr:
    """Return a rule for a head without arguments, and the whole input as the body."""
    strings_without(grammar, [f"{tool}[/end]" for tool in spellings(TOOL)])
    return seq(lit(f"{tool.name}]\n"), input_rule(grammar, tool), lit(f"\n{end}"))


def _split_head(head: str) -> tuple[str, str]:
    """Return the name, and the raw arguments behind the one blank that follows it."""
    bare = head.lstrip()
    name = bare.split(maxsplit=1)[0]
    return name, bare[len(name) + 1 :]


def _read_input(
    block: Block, args: str, newline: str, body: str
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    tool = block.stage.tools.get(block.name)
    raw = {"args": args, "body": body}
    if tool is None:
        return raw, []
    bound, problems = bind(args, body, tool), list[tuple[str, str]]()
    if (bound.value is None or bound.misfits) and "[" in args and not block.stage.strict:
        tried = (bind(*parts, tool) for parts in _longer_heads(args, newline, body))
        if (
            longer := next((one for one in tried if one.value and not one.misfits), None)
        ) is not None:
            bound, problems = longer, [("bracket-in-head", "a list stands there without brackets")]
    value, misfits, named = bound
    if value is None:
        return raw, [("unbound-arguments", f"{tool.name} takes {', '.join(tool.properties)}")]
    problems += [("named-argument", f"by name: {', '.join(named)}")] if named else []
    problems += [("mistyped-argument", f"{name}: {brief(value[name])}") for name in misfits]
    return value, problems


def _longer_heads(args: str, newline: str, body: str) -> Iterator[tuple[str, str]]:
    """Yield arguments and bodies for heads that end at a later `]` than the first.

    The first `]` may belong to a list in the head. The head then ends with a later `]` of its line,
    or lacks its own at the line end. At most `MOST_HEADS` are tried, since each reads the body.
    """
    if newline:
        yield _quote_list(f"{args}]"), body
    else:
        line = body.partition("\n")[0]
        ends = (found.start() for found in re.finditer("]", line))
        for end in islice(ends, MOST_HEADS):
            yield _quote_list(f"{args}]{line[:end]}"), _LINE_END.sub("", body[end + 1 :], count=1)


def _quote_list(args: str) -> str:
    """Quote a bare JSON list among the words, so that it is one word."""
    at = args.index("[")
    scan = JsonScan()
    scan.feed(args, at)
    starts_word = not at or args[at - 1] in " \t="
    if scan.end is None or not starts_word:
        return args
    return f"{args[:at]}{shlex.quote(args[at : at + scan.end])}{args[at + scan.end :]}"


def _breaks_head(text: str) -> bool:
    return "]" in text or "\n" in text


def _note_damage(block: Block, marker: str, start: int) -> None:
    if "[" in marker and "🛠" not in marker:
        place = (start, start + len(marker))
        block.problem("damaged-marker", f"{marker!r} stands for {TOOL}", place)


def _escape(body: str) -> str:
    return _END_MARKER.sub(r"\1\\\2", body)


def _unescape(body: str) -> str:
    return _ESCAPED_END.sub(r"\1\2", body)


def _json(dialect: str, value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Unwritable(dialect, f"the value {brief(value)}: {error}") from error
