"""Markdown fences whose info string begins with `tool`; the body is YAML::

    ```tool search call_123
    input:
      query: cats
    output:
      results: []
    ```

The newline right before a tool fence and the one right behind it belong to the fence, so that prose
without a line end can stand beside a call.

The name and the id may stand in the info string or in the body (`toolName`, `toolCallId`). A call
whose name is in the info string starts at once and streams; otherwise it starts when the body is
complete. Keys of the body that are not known are kept in `extra`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, cast

from callblocks.core.calls import Call, Item, Result
from callblocks.core.errors import Unwritable
from callblocks.core.specs import ToolSpec
from callblocks.core.text import brief
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.fences import END_OF_LINE, FENCE_LINES, read_fence, read_fence_body
from callblocks.parsing.engine.ids import read_id
from callblocks.parsing.engine.markers import Shape
from callblocks.parsing.engine.parse_state import ParseState, Reading
from callblocks.parsing.engine.unread import UNREAD
from callblocks.parsing.grammar.argument_rules import input_lines, scalar_text, text_value
from callblocks.parsing.grammar.expressions import (
    EMPTY,
    Ref,
    alt,
    chars,
    lit,
    many,
    opt,
    seq,
    until,
    without,
)
from callblocks.parsing.grammar.grammar import Grammar
from callblocks.parsing.loop import Setting
from callblocks.parsing.values.binding import split_words
from callblocks.parsing.values.schema_shape import in_schema_order
from callblocks.parsing.values.yaml_core import Doubts, YamlError, dump, load

__all__ = ("STATES", "ToolFence")

STATES = (
    "input-streaming",
    "input-available",
    "output-available",
    "output-error",
    "approval-requested",
    "approval-responded",
    "output-denied",
)
NAME_KEYS = ("toolName", "tool_name", "name")
ID_KEYS = ("toolCallId", "tool_call_id", "callId", "id")
ERROR_KEYS = ("errorText", "error_text", "error")
INFO_NAME_KEYS = ("name", "tool", "toolname")
INFO_ID_KEYS = ("id", "toolcallid", "call", "callid")
UNKNOWN_ERROR = "An unknown tool error occurred."
# Text that prose must not contain in a grammar, since it would open a call.
OPENINGS = [
    f"{run}{blank}{word}"
    for run in ("```", "~~~")
    for blank in ("", " ")
    for word in ("tool", "Tool", "TOOL")
]
RUNS = ["`" * count for count in range(3, 9)]

_WORD = re.compile(r"[\w.:/@+-]+", re.ASCII)


class Info(NamedTuple):
    """The name and the id of a call in the info string."""

    name: str | None
    id: str | None


class ToolFence(Dialect):
    """A dialect in which a fence is a call, and may carry its result."""

    name = "tool-fence"
    summary = "Markdown fences with the info string `tool` and a YAML body"
    syntax = "```tool NAME ID\ninput:\n  KEY: VALUE\n```"
    rules = (
        "Open a code fence with `tool`, the tool's name, and an id of your own for the call.",
        "Write the parameters as YAML below `input:`. Leave `input:` out if there are none.",
        "Use a longer fence if the YAML itself holds a line that starts with three backticks.",
        "Write prose outside the fence. You may write several fences; results come back later.",
    )
    codes: ClassVar = {
        "tool-fence.yaml": "the body is not one YAML mapping",
        "tool-fence.unclosed": "the fence has no closing line",
        "unknown-state": "`state` is none of the states; it was dropped",
    }
    follows_fences = True
    in_fence_bodies = False
    turn_ends = ()

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        return FENCE_LINES

    def declines_line(self, line: str, stage: ParseState) -> bool:
        """Return whether the opening line of a fence is none of a call."""
        fence = None if stage.fence else read_fence(line)
        return fence is None or read_info(fence.info) is None

    def read(self, block: Block) -> Reading[Refused | None]:
        rest, newline = yield from block.until(END_OF_LINE)
        fence = None if block.stage.fence else read_fence(block.opening + rest)
        info = read_info(fence.info) if fence else None
        if fence is None or info is None:
            expected = "no fence around it" if block.stage.fence else "a fence named `tool`"
            return block.refuse(expected=expected, at=block.start)
        opened = block.offset
        block.stage.scan.fresh = bool(newline)
        # Start at once if the info string has the name, so that the input streams. The id may still
        # stand in the body (`id_later`).
        if info.name and newline:
            block.started(info.name, info.id, id_later=True)
        body, closed_at = yield from read_fence_body(block, fence.run)
        if closed_at is None:
            return block.malformed("tool-fence.unclosed", "the text ended inside the fence")
        return self._read_call(block, info, body, opened, closed_at)

    def _read_call(self, block: Block, info: Info, body: str, opened: int, closed_at: int) -> None:
        doubts: Doubts = []
        try:
            fields = _read_fields(body, block.stage.limits.depth, doubts)
        except YamlError as error:
            code = "too-deep" if error.code == "too-deep" else "tool-fence.yaml"
            return block.malformed(code, error.reason)
        written_name = _take(fields, NAME_KEYS, _read_name)
        written_id = _take(fields, ID_KEYS, read_id)
        name = info.name or written_name or "tool"
        if block.index is None:
            block.started(name, info.id or written_id, end=opened)
            block.input(body, end=closed_at)
        state = fields.get("state")
        if "state" in fields and state not in STATES:
            del fields["state"]
        result = _take_result(fields, state)
        value: Any = fields.pop("input", None)
        # `input:` with nothing behind it is null in YAML: the call has no input. A scalar or a list
        # is no input either; it is kept under `value`, and as written in `extra`.
        value = {} if value is None else value
        if not isinstance(value, dict):
            fields["input"], value = value, {"value": value}
        index = block.index
        call = block.ready(
            cast("dict[str, Any]", value), size=len(body), id_=written_id, extra=fields
        )
        if call is None or index is None:
            return None
        if state is not None and state not in STATES:
            block.problem("unknown-state", f"{brief(state)} is none of {', '.join(STATES)}")
        if not (info.name or written_name) and (unread := _tool_in(fields, block.stage.tools)):
            block.problem(UNREAD, f"the fence names no tool, and {unread} stands in its body")
        tool = block.stage.tools.get(call.name)
        for code, detail in (*doubts, *(_unbound(call, tool) if tool else ())):
            block.problem(code, detail)
        if result is not None:
            block.result(Result(id=call.id, **result), index)
        return None

    def constrain(self, grammar: Grammar, tools: Sequence[ToolSpec]) -> None:
        """Add rules for prose, and for fences of three to eight backticks, without results."""
        # A fence must close with the run that opened it. A grammar cannot count, so there is one
        # alternative per length of the run.
        bodies = [_call_rule(grammar, tool) for tool in tools]
        fences = [
            seq(
                alt(lit(f"{run}tool"), until([f"\n{run}tool"], OPENINGS))
                if grammar.prose
                else lit(f"{run}tool"),
                alt(*bodies),
                lit(f"{run}\n"),
            )
            for run in RUNS
        ]
        call = grammar.rule("call", alt(*fences))
        prose = grammar.rule("prose", without(OPENINGS)) if grammar.prose else EMPTY
        grammar.rule("root", seq(grammar.repeated(call), prose))

    def compose(self, items: Sequence[Item], tools: Mapping[str, ToolSpec]) -> str:
        results = {item.id: item for item in items if isinstance(item, Result)}
        parts: list[str] = []
        after_prose = False
        for item in items:
            if isinstance(item, Call):
                parts += ["\n"] if after_prose else []
                parts.append(self._compose_call(item, results.get(item.id), tools))
            elif isinstance(item, str):
                parts.append(item)
            after_prose = isinstance(item, str) or (after_prose and isinstance(item, Result))
        return "".join(parts)

    def _compose_call(
        self, call: Call, result: Result | None, tools: Mapping[str, ToolSpec]
    ) -> str:
        info, fields = ["tool"], dict[str, Any]()
        # The info string has positional words. If the name does not fit there, the id must not take
        # its place: both then go into the body.
        for key, word in (("toolName", call.name), ("toolCallId", call.id)):
            if _WORD.fullmatch(word) and not fields:
                info.append(word)
            else:
                fields[key] = word
        schema = tools[call.name].parameters if call.name in tools else {}
        fields |= {"input": in_schema_order(call.input, schema)} if call.input else {}
        fields |= call.extra
        if result is not None and result.error is not None:
            fields["errorText"] = result.error
        if result is not None and (result.error is None or result.output is not None):
            fields["output"] = result.output
        try:
            body = dump(fields) if fields else ""
        except YamlError as error:
            raise Unwritable(self.name, f"the call {call.id!r}: {error.reason}") from error
        # The fence is longer than any run of backticks in the body, so no line of it can close it.
        longest = max(map(len, re.findall(r"`+", body)), default=0)
        run = "`" * max(3, longest + 1)
        return f"{run}{' '.join(info)}\n{body}{run}\n"


def _tool_in(fields: Mapping[str, Any], tools: Mapping[str, ToolSpec]) -> str:
    """Return the tool that a body names as other notations do, as a key or in `function`; or ""."""
    names = [*fields, *(one for one in fields.values() if isinstance(one, str))]
    for one in fields.values():
        names += [cast("dict[str, Any]", one).get("name")] if isinstance(one, dict) else []
    return next((name for name in names if isinstance(name, str) and name in tools), "")


def _call_rule(grammar: Grammar, tool: ToolSpec) -> Ref:
    """Return a rule for the text between the word `tool` and the closing run."""
    word = many(chars("a-zA-Z0-9_.:/@+-"), least=1)
    is_word = _WORD.fullmatch(tool.name)
    head = seq(lit(f" {tool.name}"), opt(seq(lit(" "), word))) if is_word else EMPTY
    name = EMPTY if is_word else lit(f"toolName: {scalar_text(tool.name)}\n")
    value = seq(lit("input:\n"), input_lines(grammar, tool))
    given = value if tool.required else opt(value)
    id_ = seq(lit("toolCallId:"), text_value(grammar, "  "))
    return grammar.rule(tool.name, seq(head, lit("\n"), name, opt(id_), given))


def read_info(info: str) -> Info | None:
    """Read an info string: `tool NAME ID` or `tool name=NAME id=ID`; None if it is not ours."""
    if info[:4].lower() != "tool":
        return None
    kind, *words = split_words(info)
    if kind.lower() != "tool":
        return None
    plain = [word for word in words if "=" not in word]
    given = _assigned(words) if len(plain) < len(words) else {}
    name, id_ = _first(given, INFO_NAME_KEYS), _first(given, INFO_ID_KEYS)
    # The first plain word is the name, unless a key gives that: `name=find c9` has an id, and so
    # has `find c9 name=search`, which says the name twice.
    is_told = name is not None and not (len(plain) > 1 and words[0] == plain[0])
    if not is_told:
        first, *plain = plain or [""]
        name = name or first
    return Info(_solid(name), _solid(id_ or next(iter(plain), None)))


def _assigned(words: Sequence[str]) -> dict[str, str]:
    """Return the keys with a value that is not blank; the last of equal keys counts."""
    pairs = [word.partition("=") for word in words]
    return {key.lower(): value for key, equals, value in pairs if equals and value.strip()}


def _first(given: Mapping[str, str], keys: Sequence[str]) -> str | None:
    """Return the value of the first key that is given."""
    return next((given[key] for key in keys if key in given), None) if given else None


def _solid(word: str | None) -> str | None:
    return word if word and word.strip() else None


def _read_fields(body: str, depth: int, doubts: Doubts) -> dict[str, Any]:
    fields: Any = load(body, depth, doubts) if body.strip() else {}
    if fields is None:
        return {}
    if not isinstance(fields, dict):
        raise YamlError(f"the body is a {type(fields).__name__}, not a mapping")
    return cast("dict[str, Any]", fields)


def _unbound(call: Call, tool: ToolSpec) -> list[tuple[str, str]]:
    """The problems of a call whose input is no mapping, or stands where no input should."""
    known = tool.properties.keys()
    if "input" in call.extra and "value" not in known:
        return [("unbound-arguments", "`input` is no mapping")]
    keys = [
        key
        for key, one in call.extra.items()
        if key in known or (isinstance(one, dict) and one.keys() & known)
    ]
    return [
        ("unbound-arguments", f"{key!r:.60} is no key of a call") for key in keys if not call.input
    ]


def _read_name(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _read_error(value: object) -> str | None:
    """Return an error's text; null and false mean no error."""
    if value is None or value is False:
        return None
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except RecursionError:  # where `Limits.depth` allows it
        return UNKNOWN_ERROR


def _take(
    fields: dict[str, Any], keys: Sequence[str], read: Callable[[object], str | None]
) -> str | None:
    """Remove all of the keys, and return the first value that can be read."""
    values = [read(fields.pop(key)) for key in keys if key in fields]
    return next((value for value in values if value is not None), None)


def _take_result(fields: dict[str, Any], state: object) -> dict[str, Any] | None:
    """Remove and return the result in the body; an error takes precedence over an output."""
    error = _take(fields, ERROR_KEYS, _read_error)
    has_output = "output" in fields or state == "output-available"
    output = fields.pop("output", None)
    if error is not None or state == "output-error":
        return {"output": output, "error": UNKNOWN_ERROR if error is None else error}
    return {"output": output} if has_output else None
