"""Calls as lines of text, as prompts for ReAct ask for them::

    Thought: I need the weather.
    Action: get_weather
    Action Input: {"city": "Paris"}
    Observation: sunny

Thoughts and answers stay prose.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from callblocks.core.calls import Call, Item, Result
from callblocks.core.errors import Unwritable
from callblocks.core.specs import ToolSpec
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.fences import END_OF_LINE
from callblocks.parsing.engine.ids import GENERAL_CODES
from callblocks.parsing.engine.markers import Markers, Shape, line, line_start
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.grammar.argument_rules import input_rule
from callblocks.parsing.grammar.expressions import alt, lit, opt, seq, without
from callblocks.parsing.grammar.grammar import Grammar
from callblocks.parsing.loop import Setting
from callblocks.parsing.readers.announce import read_input
from callblocks.parsing.values.schema_shape import in_schema_order
from callblocks.parsing.values.strict_json import JsonScan, ScanState, write_json
from callblocks.parsing.values.typed import typed

__all__ = (
    "ACTIONS",
    "OBSERVATIONS",
    "ReactText",
    "read_action",
    "read_observation",
)

# --- Readers of calls in two labelled lines, and of their results ---
#
#     Action: get_weather
#     Action Input: {"city": "Paris"}
#     Observation: sunny
#
# The input is JSON, or text for a tool with one parameter. JSON ends where it closes; text ends
# where the next labelled line begins. Text that ends with the input may have been cut off, so such
# a call is not marked as ended.


ACTIONS = (line("Action:"), line("**Action:**"))
OBSERVATIONS = (line("Observation:"), line("**Observation:**"))
_INPUTS = Markers("Action Input:", "**Action Input:**")
_THOUGHTS = tuple(map(line, ("Thought:", "**Thought:**", "Final Answer:", "**Final Answer:**")))
_NEXT = Markers(*ACTIONS, *OBSERVATIONS, *_THOUGHTS)
_NAME = re.compile(r"[A-Za-z_][\w.-]{0,200}")
# The beginnings of an input that is read as JSON: bare, in a string, in a fence.
_JSON = ("{", '"{', "```")
_STRAY = Markers("}")
_OBSERVED = Markers(
    *(Shape((r"\s{0,20}", *map(re.escape, word))) for word in ("Observation:", "**Observation:**"))
)
# Names with which models say that they call nothing: `Action: None`.
_NOBODY = ("none", "n/a", "na")


def read_action(block: Block) -> Reading[Refused | None]:
    """Read a call, or refuse a line that only begins like one."""
    rest, newline = yield from block.until(END_OF_LINE)
    name, stage = rest.strip(" \t\r`*\"'[]"), block.stage
    may_be = name in stage.tools or (stage.alone and _NAME.fullmatch(name))
    if not newline or not may_be or name.lower() in _NOBODY:
        return block.refuse(expected="the name of a tool", at=block.start + len(block.opening))
    yield from block.peek()
    if not (yield from block.match(_INPUTS)):
        return block.refuse()
    block.started(name)
    mark = len(block.taken)
    first = yield from block.peek()
    blanks = "".join(block.taken[mark:])
    if blanks:
        block.input("")
    # The next labelled line may follow at once, and its newline was consumed with the blanks.
    stage.scan.fresh = "\n" in blanks
    before = len(stage.ready)
    yield from (_read_json(block) if first == "{" else _read_text(block))
    # In a guessed dialect `Observation:` opens nothing by itself; it must follow its call.
    if not stage.alone and len(stage.ready) > before and (yield from block.match(_OBSERVED)):
        yield from read_observation(block)
    return None


def _read_json(block: Block) -> Reading[None]:
    mark, stage = len(block.taken), block.stage
    scan = JsonScan(stage.limits.depth, exact=True)
    yield from block.consume(scan, live=True)
    text = "".join(block.taken[mark:])
    ended = scan.state is ScanState.STOPPED
    if not ended:
        # The scan may have consumed the newline before the next labelled line as a blank.
        stage.scan.fresh = "\n" in text[len(text.rstrip()) :]
        rest, stop = yield from block.stream(_NEXT)
        _give_back(block, stop)
        text, ended = text + rest, bool(stop)
    elif not stage.strict:
        text += yield from block.match(_STRAY)
    if scan.too_deep:
        return block.malformed("too-deep", f"more than {stage.limits.depth} levels")
    return _say(block, text, ended=ended)


def _read_text(block: Block) -> Reading[None]:
    text, stop = yield from block.stream(_NEXT)
    _give_back(block, stop)
    return _say(block, text, ended=bool(stop))


def _give_back(block: Block, stop: str) -> None:
    """Return the next labelled line to the scanner, at a line start if its newline is gone."""
    block.give_back(block.offset - len(stop))
    block.stage.scan.fresh = bool(stop) and not line_start(stop)


def _say(block: Block, text: str, *, ended: bool) -> None:
    bare, problems = text.strip(), dict[str, str]()
    value = _json_input(block, bare, problems, ended)
    if value is None and bare.startswith("{") and not ended:
        return block.malformed(f"{block.dialect}.input", "the text ended inside its JSON")
    if value is None:
        value = _text_input(block.stage.tools.get(block.name), bare, problems)
    else:
        # JSON that closes is complete; with words behind it, it would have been read as text.
        ended = ended or problems.keys() <= {"repaired-fence", "repaired-input"}
    block.ready(value, size=len(text), ended=ended)
    for code, detail in problems.items():
        block.problem(code, detail)
    return None


def _json_input(
    block: Block, text: str, problems: dict[str, str], ended: bool
) -> dict[str, Any] | None:
    """Return the JSON object in a text, perhaps in a fence, in a string or repaired; else None."""
    stage = block.stage
    if not text.startswith(_JSON):
        return None
    try:
        value, repairs = read_input(
            text, ended=ended, strict=stage.strict, depth=stage.limits.depth
        )
    except ValueError:
        return None
    problems |= {code: GENERAL_CODES[code] for code in repairs}
    return value


def _text_input(tool: ToolSpec | None, text: str, problems: dict[str, str]) -> dict[str, Any]:
    """Bind text to the only parameter, as its type; quotes around the whole text are dropped."""
    if not text and not (tool and tool.required):
        return {}
    names = list(tool.properties) if tool else ["input"]
    names = [name for name in names if tool and name in tool.required] or names
    if len(names) != 1:
        problems["unbound-arguments"] = "the input is no JSON object"
        return {"input": text}
    bare = text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
    value, fits = typed(bare, tool.properties[names[0]] if tool else {})[:2]
    if not fits:
        problems["mistyped-argument"] = f"{names[0]}: {bare!r:.60}"
    return {names[0]: value}


def read_observation(block: Block) -> Reading[Refused | None]:
    """Read the result of the last call; without a call it is prose."""
    if not block.stage.ready:
        return block.refuse(expected="a call before it", at=block.start)
    text, stop = yield from block.until(_NEXT)
    _give_back(block, stop)
    id_, index = block.stage.ready[-1]
    block.result(Result(id=id_, output=text.removeprefix(" ")), index)
    return None


LAST_LINES = ("Action:", "Observation:")


class ReactText(Dialect):
    """`Action: NAME`, and on the next line `Action Input: {…}`."""

    name = "react_text"
    summary = "ReAct: lines that begin with Action: and Action Input:"
    syntax = "Action: NAME\nAction Input: {KEY: VALUE}"
    rules = (
        "A call is two lines: `Action:` and the tool's name, then `Action Input:` and one JSON "
        "object with its arguments.",
        "Write what you think before it, on a line that begins with `Thought:`.",
        "After a call, stop: what it gave comes on a line that begins with `Observation:`.",
    )
    codes: ClassVar = {
        "react_text.input": "the text ended inside the input of a call",
    }
    keeps_ids = False

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        return (*ACTIONS, *OBSERVATIONS) if setting.alone else ACTIONS

    def read(self, block: Block) -> Reading[Refused | None]:
        is_action = block.marker.strip(" \n*").startswith("Action")
        return (yield from (read_action(block) if is_action else read_observation(block)))

    def compose(self, items: Sequence[Item], tools: Mapping[str, ToolSpec]) -> str:
        text = ""
        for item in items:
            newline = "\n" if text else ""
            if isinstance(item, Call):
                text += newline + self._compose_call(item, tools.get(item.name))
            elif isinstance(item, Result):
                if not isinstance(item.output, str) or item.error is not None:
                    raise Unwritable(self.name, f"the result of {item.id!r}: it is no text")
                text += f"{newline}Observation: {item.output}"
            else:
                text += item
        return text

    def _compose_call(self, call: Call, tool: ToolSpec | None) -> str:
        value = in_schema_order(call.input, tool.parameters) if tool else call.input
        return f"Action: {call.name}\nAction Input: {write_json(self.name, value)}"

    def constrain(self, grammar: Grammar, tools: Sequence[ToolSpec]) -> None:
        """Add rules for prose without labelled lines, and for calls; a model writes no results."""
        calls = (
            seq(lit(f"{tool.name}\nAction Input: "), input_rule(grammar, tool)) for tool in tools
        )
        call = grammar.rule("call", seq(lit("Action: "), alt(*calls)))
        if not grammar.prose:
            grammar.rule("root", grammar.repeated(call, seq(lit("\n"), call)))
            return
        prose = grammar.rule("prose", without(LAST_LINES))
        # A call begins a line, or the text. So the first call may have prose and a newline before
        # it, and each further one needs the newline.
        first, further = seq(opt(seq(prose, lit("\n"))), call, prose), seq(lit("\n"), call, prose)
        calls = grammar.repeated(first, further)
        grammar.rule("root", alt(prose, calls) if grammar.calls == "any" else calls)
