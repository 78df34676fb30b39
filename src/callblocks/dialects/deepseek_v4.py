"""DeepSeek V4's calls: those of V3.2 in another wrapper::

<｜DSML｜tool_calls>
<｜DSML｜invoke name="NAME">
<｜DSML｜parameter name="KEY" string="true">VALUE</｜DSML｜parameter>
</｜DSML｜invoke>
</｜DSML｜tool_calls>
"""

from __future__ import annotations

from callblocks.parsing.shapes.tag_arguments import Dsml, dsml_form, dsml_rules, dsml_tags

__all__ = ("DeepseekV4",)


class DeepseekV4(Dsml):
    """`<｜DSML｜tool_calls>` and the tags in it."""

    name = "deepseek_v4"
    summary = "<｜DSML｜invoke> with <｜DSML｜parameter> tags, in <｜DSML｜tool_calls>"
    syntax = (
        '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="NAME">\n'
        '<｜DSML｜parameter name="KEY" string="true">VALUE</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>\n</｜DSML｜tool_calls>"
    )
    rules = dsml_rules("tool_calls")
    reasoning = (("<think>", "</think>"),)
    calls_end_reasoning = True
    tags = dsml_tags("tool_calls", "calls")
    form = dsml_form("tool_calls")
