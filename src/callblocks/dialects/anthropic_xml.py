"""Function calls as Claude's prompts show them, and as many agents copy them::

    <function_calls>
    <invoke name="NAME">
    <parameter name="KEY">VALUE</parameter>
    </invoke>
    </function_calls>

Newer texts put `antml:` before the name of each tag; both are read alike.
"""

from __future__ import annotations

from callblocks.parsing.shapes.tag_arguments import RULES, invoke_form, invoke_tags
from callblocks.parsing.shapes.xml_parameters import XmlParameters

__all__ = ("AnthropicXml",)


class AnthropicXml(XmlParameters):
    """`<function_calls>`, `<invoke name="…">`, `<parameter name="…">`."""

    name = "anthropic_xml"
    summary = "<invoke> with <parameter> tags, in <function_calls>"
    syntax = (
        '<function_calls>\n<invoke name="NAME">\n<parameter name="KEY">VALUE</parameter>\n'
        "</invoke>\n</function_calls>"
    )
    rules = (
        'A call is an `<invoke name="NAME">` inside `<function_calls>`. Each argument stands in '
        'its own `<parameter name="KEY">`.',
        *RULES,
    )
    tags = invoke_tags("function_calls", ("", "antml:"))
    form = invoke_form("function_calls")
