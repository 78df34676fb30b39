"""Qwen3-Coder's calls, and those of the many models that were taught the same::

<tool_call>
<function=NAME>
<parameter=KEY>
VALUE
</parameter>
</function>
</tool_call>
"""

from __future__ import annotations

from callblocks.parsing.shapes.tag_arguments import FunctionTags, function_form, function_tags

__all__ = ("Qwen3Coder",)


class Qwen3Coder(FunctionTags):
    """`<tool_call>`, `<function=…>`, `<parameter=…>`."""

    name = "qwen3_coder"
    result_tags = ("<tool_response>", "</tool_response>")
    summary = "<function=name> with <parameter=key> tags, in <tool_call>"
    syntax = (
        "<tool_call>\n<function=NAME>\n<parameter=KEY>\nVALUE\n</parameter>\n"
        "</function>\n</tool_call>"
    )
    reasoning = (("<think>", "</think>"),)
    calls_end_reasoning = True
    tags = function_tags("tool_call")
    form = function_form("tool_call")
