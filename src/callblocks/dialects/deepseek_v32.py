"""DeepSeek V3.2's calls::

<｜DSML｜function_calls>
<｜DSML｜invoke name="NAME">
<｜DSML｜parameter name="KEY" string="true">VALUE</｜DSML｜parameter>
</｜DSML｜invoke>
</｜DSML｜function_calls>
"""

from __future__ import annotations

from callblocks.parsing.shapes.tag_arguments import Dsml, dsml_form, dsml_rules, dsml_tags

__all__ = ("DeepseekV32",)


class DeepseekV32(Dsml):
    """`<｜DSML｜function_calls>` and the tags in it."""

    name = "deepseek_v32"
    summary = "<｜DSML｜invoke> with <｜DSML｜parameter> tags, in <｜DSML｜function_calls>"
    syntax = (
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="NAME">\n'
        '<｜DSML｜parameter name="KEY" string="true">VALUE</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>\n</｜DSML｜function_calls>"
    )
    rules = dsml_rules("function_calls")
    reasoning = (("<think>", "</think>"),)
    tags = dsml_tags("function_calls")
    form = dsml_form("function_calls")
