"""JSON in a message of its own kind, as Inkling writes it::

    <|message_model|><|content_invoke_tool_json|>{"name": "get_weather", "args": {"city": "Paris"}}
    <|end_message|>

The tool's name may stand behind `<|message_model|>`. Then the tool may also receive raw text behind
`<|content_invoke_tool_text|>`. The markers of other messages are markup.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import Markers, Shape
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.engine.reasoning import Thinking
from callblocks.parsing.loop import Setting
from callblocks.parsing.readers.announce import raw_input
from callblocks.parsing.readers.call_keys import Keys
from callblocks.parsing.shapes.json_calls import JsonCalls

__all__ = ("Inkling",)

MESSAGE, INVOKE, END = "<|message_model|>", "<|content_invoke_tool_json|>", "<|end_message|>"
TEXT, THOUGHT = "<|content_invoke_tool_text|>", "<|content_thinking|>"
ENDS = (END, "<|content_model_end_sampling|>")

# The start of another message ends a thought that lacks its end.
_BREAKS = (MESSAGE, INVOKE)
_THOUGHT = Thinking((END,), breaks=_BREAKS)


def _named(kind: str) -> Shape:
    """Return the opener of a message of this kind with the name of its tool."""
    return Shape((*map(re.escape, MESSAGE), r"[\w.-]{1,64}", *map(re.escape, kind)))


class Inkling(JsonCalls):
    """`<|content_invoke_tool_json|>`, a JSON object, `<|end_message|>`."""

    name = "inkling"
    summary = "a JSON object with name and args between <|content_invoke_tool_json|> and its end"
    syntax = f'{MESSAGE}{INVOKE}{{"name": NAME, "args": {{KEY: VALUE}}}}{END}'
    rules = (
        f"Write each call as a message of its own: `{MESSAGE}{INVOKE}`, one JSON object, `{END}`.",
        "In the object `name` is the tool's name, `args` an object with its input.",
    )
    opening = (MESSAGE + INVOKE, INVOKE)
    shapes = (_named(INVOKE),)
    closing = ENDS
    keys = Keys(input=("args", "arguments"), nested=())
    starts = "{"
    frame = ("", "", "")
    hidden = (
        *(MESSAGE, *ENDS, "<|content_text|>", "<|message_user|>"),
        *(TEXT, "<|content_tool_error|>"),
    )
    reasoning = ((THOUGHT, END),)
    reasoning_breaks = _BREAKS

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        # No other dialect has these markers, so they are markup in `auto`, too.
        hidden = () if setting.alone else self.hidden
        return (*super().openers(setting), *hidden, MESSAGE + THOUGHT, _named(TEXT))

    def read(self, block: Block) -> Reading[Refused | None]:
        if block.opening == MESSAGE + THOUGHT:
            return _THOUGHT.read_opened(block)
        if block.opening.endswith(TEXT) and block.opening != TEXT:
            return _read_text(block)
        return super().read(block)


def _read_text(block: Block) -> Reading[None]:
    block.started(block.opening.removeprefix(MESSAGE).removesuffix(TEXT))
    text, stop = yield from block.stream(Markers(*ENDS))
    value = raw_input(block.stage.tools.get(block.name), text, usual="text")
    block.ready(value, size=len(text), ended=bool(stop))
