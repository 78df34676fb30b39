"""Calls as lines of text, as prompts for ReAct ask for them::

    Thought: I need the weather.
    Action: get_weather
    Action Input: {"city": "Paris"}
    Observation: sunny

Thoughts and answers stay prose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from callblocks.core.calls import Call, Item, Result
from callblocks.core.errors import Unwritable
from callblocks.core.specs import ToolSpec
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import Shape
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.grammar.argument_rules import input_rule
from callblocks.parsing.grammar.expressions import alt, lit, opt, seq, without
from callblocks.parsing.grammar.grammar import Grammar
from callblocks.parsing.loop import Setting
from callblocks.parsing.shapes.action_lines import (
    ACTIONS,
    OBSERVATIONS,
    read_action,
    read_observation,
)
from callblocks.parsing.values.json_text import write_json
from callblocks.parsing.values.schema_shape import in_schema_order

__all__ = ("ReactText",)

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
