"""gpt-oss (Harmony): messages in channels, of which some are for tools::

    <|channel|>analysis<|message|>Where is it?<|end|><|start|>assistant
    <|channel|>commentary to=functions.ls <|constrain|>json<|message|>{"path": "."}<|call|>

The text continues behind `<|start|>assistant`, which ends the prompt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from callblocks.core.calls import Call, Item, Thought
from callblocks.core.errors import Unwritable
from callblocks.core.specs import ToolSpec
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import Shape, line
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.grammar.argument_rules import input_rule
from callblocks.parsing.grammar.expressions import alt, lit, many, opt, seq, until
from callblocks.parsing.grammar.grammar import Grammar
from callblocks.parsing.loop import Setting
from callblocks.parsing.shapes.channels import ENDS, OPENERS, TO, read_message
from callblocks.parsing.values.json_text import write_json
from callblocks.parsing.values.schema_shape import in_schema_order

__all__ = ("GptOss",)

NEXT = "<|start|>assistant"
THOUGHT = "<|channel|>analysis<|message|>"
SAID = "<|channel|>commentary<|message|>"
FINAL = "<|channel|>final<|message|>"
CALL = "<|channel|>commentary to=functions."
INPUT = " <|constrain|>json<|message|>"

BEGUN = tuple(line(recipient, indent="") for recipient in TO)


class GptOss(Dialect):
    """`<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}<|call|>`."""

    name = "gpt_oss"
    summary = "gpt-oss (Harmony): channels of messages, some of them for functions"
    syntax = f"{CALL}NAME{INPUT}{{…}}<|call|>"
    rules = (
        "Every message begins with `<|channel|>` and the channel: `analysis` for what you think, "
        "`commentary` for calls and what you say about them, `final` for your answer.",
        "A call is a message in `commentary` for `functions.` and the tool's name; its body is one "
        "JSON object with the arguments.",
        "End a call with `<|call|>`, your answer with `<|return|>`, any other message with "
        "`<|end|>`; after that write `<|start|>assistant` before the next message.",
    )
    codes: ClassVar = {
        "gpt_oss.header": "a message's header is not as it should be",
        "gpt_oss.role": "a message of somebody else than the assistant",
        "gpt_oss.arguments": "the arguments of a call are not a JSON object",
    }
    keeps_ids = False
    reasoning = ((THOUGHT, "<|end|>"),)
    # The header of any message ends a thought without `<|end|>`.
    reasoning_breaks = OPENERS

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        # ` to=functions.` begins with a blank. As an opener of `auto` it would stop the search at
        # every blank of every text, so there it must begin a line.
        return (*OPENERS, *TO, *ENDS) if setting.alone else (*OPENERS, *BEGUN)

    def read(self, block: Block) -> Reading[Refused | None]:
        return (yield from read_message(block))

    def compose(self, items: Sequence[Item], tools: Mapping[str, ToolSpec]) -> str:
        messages: list[str] = []
        for at, item in enumerate(items, 1):
            if isinstance(item, Call):
                messages.append(self._compose_call(item, tools.get(item.name)))
            elif isinstance(item, Thought):
                messages.append(item)  # it comes in its channel
            elif isinstance(item, str):
                is_last = at == len(items)
                messages.append(f"{FINAL}{item}<|return|>" if is_last else f"{SAID}{item}<|end|>")
            else:
                raise Unwritable(self.name, f"the result of {item.id!r}: a model writes none")
        return NEXT.join(messages)

    def _compose_call(self, call: Call, tool: ToolSpec | None) -> str:
        value = in_schema_order(call.input, tool.parameters) if tool else call.input
        return f"{CALL}{call.name}{INPUT}{write_json(self.name, value)}<|call|>"

    def constrain(self, grammar: Grammar, tools: Sequence[ToolSpec]) -> None:
        """Add rules for reasoning, prose and calls, and then an answer or nothing more."""
        calls = (seq(lit(f"{tool.name}{INPUT}"), input_rule(grammar, tool)) for tool in tools)
        call = grammar.rule("call", seq(lit(CALL), alt(*calls), lit("<|call|>")))
        if not grammar.prose:
            row = grammar.row(call, lit(NEXT))
            grammar.rule("root", opt(row) if grammar.calls == "any" else row)
            return
        body = grammar.rule("message", until(["<|end|>"]))
        said = grammar.rule("said", seq(alt(lit(THOUGHT), lit(SAID)), body))
        final = seq(lit(FINAL), grammar.rule("answer", until(["<|return|>"])))
        words = many(seq(said, lit(NEXT)))
        answer = seq(words, final)
        calls = seq(grammar.row(seq(words, call), lit(NEXT)), opt(seq(lit(NEXT), answer)))
        grammar.rule("root", opt(alt(answer, calls)) if grammar.calls == "any" else calls)
