"""MiniMax-M2's calls::

    <minimax:tool_call>
    <invoke name="NAME">
    <parameter name="KEY">VALUE</parameter>
    </invoke>
    </minimax:tool_call>

The quotes of an attribute may be single, or missing.
"""

from __future__ import annotations

from callblocks.parsing.shapes.tag_arguments import RULES, invoke_form, invoke_tags
from callblocks.parsing.shapes.xml_parameters import XmlParameters

__all__ = ("MinimaxM2",)


class MinimaxM2(XmlParameters):
    """`<minimax:tool_call>`, `<invoke name="…">`, `<parameter name="…">`."""

    name = "minimax_m2"
    result_tags = ("<response>", "</response>")
    summary = "<invoke> with <parameter> tags, in <minimax:tool_call>"
    syntax = (
        '<minimax:tool_call>\n<invoke name="NAME">\n<parameter name="KEY">VALUE</parameter>\n'
        "</invoke>\n</minimax:tool_call>"
    )
    rules = (
        'A call is an `<invoke name="NAME">` inside `<minimax:tool_call>`. Each argument stands '
        'in its own `<parameter name="KEY">`.',
        *RULES,
    )
    reasoning = (("<think>", "</think>"),)
    calls_end_reasoning = True
    shares_calls = True
    tags = invoke_tags("minimax:tool_call")
    form = invoke_form("minimax:tool_call")
