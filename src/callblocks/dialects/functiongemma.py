"""Calls as FunctionGemma writes them::

<start_function_call>call:get_weather{city:<escape>Paris<escape>,days:3}<end_function_call>
"""

from __future__ import annotations

from callblocks.parsing import BraceCalls

__all__ = ("FunctionGemma",)


class FunctionGemma(BraceCalls):
    """`<start_function_call>call:NAME{KEY:VALUE}<end_function_call>`."""

    name = "functiongemma"
    summary = "call:name{key:value} between <start_function_call> and <end_function_call>"
    syntax = "<start_function_call>call:NAME{KEY:<escape>TEXT<escape>,…}<end_function_call>"
    rules = (
        "Between `<start_function_call>` and `<end_function_call>` stands `call:`, the tool's "
        "name, and its arguments in braces: `key:value`, with commas between them.",
        "Put `<escape>` before and after every string; numbers, true, false and null stand bare, "
        "lists in square brackets, objects in braces.",
        "Write each call between its own markers. You may write prose before and between them.",
    )
    opening = "<start_function_call>"
    closing = "<end_function_call>"
    quote = "<escape>"
    other_closers = ("<start_function_response>",)
