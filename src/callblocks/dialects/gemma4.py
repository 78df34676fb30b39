"""Calls as Gemma 4 writes them, and its thoughts::

    <|channel>thought
    Where is it?<channel|><|tool_call>call:get_weather{city:<|"|>Paris<|"|>}<tool_call|>

The bars stand on one side only. A channel that holds no thought is markup.
"""

from __future__ import annotations

from collections.abc import Sequence

from callblocks.parsing import Block, BraceCalls, Markers, Reading, Refused, Setting, Shape

__all__ = ("Gemma4",)

CHANNEL, END = "<|channel>", "<channel|>"
THOUGHT = Markers("thought")


class Gemma4(BraceCalls):
    """`<|tool_call>call:NAME{KEY:VALUE}<tool_call|>`."""

    name = "gemma4"
    summary = "call:name{key:value} between <|tool_call> and <tool_call|>"
    syntax = '<|tool_call>call:NAME{KEY:<|"|>TEXT<|"|>,…}<tool_call|>'
    rules = (
        "Between `<|tool_call>` and `<tool_call|>` stands `call:`, the tool's name, and its "
        "arguments in braces: `key:value`, with commas between them.",
        'Put `<|"|>` before and after every string; numbers, true, false and null stand bare, '
        "lists in square brackets, objects in braces.",
        "Write each call between its own markers. You may write prose before and between them.",
    )
    opening = "<|tool_call>"
    closing = "<tool_call|>"
    quote = '<|"|>'
    other_closers = ("<|tool_response>",)
    reasoning = ((f"{CHANNEL}thought\n", END), (f"{CHANNEL}thought", END))

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        return (*super().openers(setting), *((CHANNEL, END) if setting.alone else ()))

    def read(self, block: Block) -> Reading[Refused | None]:
        if block.opening not in (CHANNEL, END):
            return (yield from super().read(block))
        if block.opening == CHANNEL and (yield from block.match(THOUGHT)):
            return block.refuse(expected="a channel that is no thought", at=block.start)
        return block.markup()
