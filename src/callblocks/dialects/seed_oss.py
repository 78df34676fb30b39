"""Seed-OSS's calls: those of Qwen3-Coder in a wrapper of its own::

<seed:tool_call>
<function=NAME>
<parameter=KEY>
VALUE
</parameter>
</function>
</seed:tool_call>
"""

from __future__ import annotations

from callblocks.parsing.shapes.tag_arguments import FunctionTags, function_form, function_tags

__all__ = ("SeedOss",)


class SeedOss(FunctionTags):
    """`<seed:tool_call>`, `<function=…>`, `<parameter=…>`."""

    name = "seed_oss"
    summary = "<function=name> with <parameter=key> tags, in <seed:tool_call>"
    syntax = (
        "<seed:tool_call>\n<function=NAME>\n<parameter=KEY>\nVALUE\n</parameter>\n"
        "</function>\n</seed:tool_call>"
    )
    reasoning = (
        ("<seed:think>", "</seed:think>"),
        ("<seed:cot_budget_reflect>", "</seed:cot_budget_reflect>"),
    )
    shares_calls = True
    tags = function_tags("seed:tool_call")
    form = function_form("seed:tool_call")
