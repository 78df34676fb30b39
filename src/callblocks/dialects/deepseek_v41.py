"""DeepSeek V4.1's calls: those of V4 with a blank after the bars, in a shorter wrapper::

<｜DSML｜ calls>
<｜DSML｜ invoke name="NAME">
<｜DSML｜ parameter name="KEY" string="true">VALUE</｜DSML｜ parameter>
</｜DSML｜ invoke>
</｜DSML｜ calls>
"""

from __future__ import annotations

from collections.abc import Sequence

from callblocks.parsing.engine.markers import Shape
from callblocks.parsing.engine.openers import Setting
from callblocks.parsing.shapes.tag_arguments import (
    Dsml,
    dsml_form,
    dsml_rules,
    dsml_tags,
    spaced_openers,
)

__all__ = ("DeepseekV41",)

GAP = " "


class DeepseekV41(Dsml):
    """`<｜DSML｜ calls>` and the tags in it, each with a blank after its bars."""

    name = "deepseek_v41"
    summary = "<｜DSML｜ invoke> with <｜DSML｜ parameter> tags, in <｜DSML｜ calls>"
    syntax = (
        '<｜DSML｜ calls>\n<｜DSML｜ invoke name="NAME">\n'
        '<｜DSML｜ parameter name="KEY" string="true">VALUE</｜DSML｜ parameter>\n'
        "</｜DSML｜ invoke>\n</｜DSML｜ calls>"
    )
    rules = dsml_rules("calls", GAP)
    reasoning = (("<think>", "</think>"),)
    calls_end_reasoning = True
    tags = dsml_tags("calls", "tool_calls", "function_calls", gap=GAP)
    form = dsml_form("calls", GAP)

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        # Some models write the tags of V3.2 and V4 with a blank by mistake, and these without one.
        # In `auto` this dialect is asked before the others, so it opens only with the spelling that
        # only V4.1 has; alone it opens with all of them.
        return super().openers(setting) if setting.alone else spaced_openers("calls")
