"""Qwen3-Coder's calls, and those of the many models that were taught the same::

    <tool_call>
    <function=NAME>
    <parameter=KEY>
    VALUE
    </parameter>
    </function>
    </tool_call>

One newline at each end of a value belongs to its tags. Models forget the wrapper, closing tags
before the next tag, or write `<function name="NAME">`.
"""

from __future__ import annotations

from callblocks.parsing.shapes.tags import Tag, attributed, closing, literal, misspelt, named
from callblocks.parsing.shapes.xml_form import XmlForm
from callblocks.parsing.shapes.xml_parameters import XmlParameters
from callblocks.parsing.shapes.xml_tags import XmlTags

__all__ = ("Qwen3Coder",)


class Qwen3Coder(XmlParameters):
    """`<tool_call>`, `<function=…>`, `<parameter=…>`."""

    name = "qwen3_coder"
    summary = "<function=name> with <parameter=key> tags, in <tool_call>"
    syntax = (
        "<tool_call>\n<function=NAME>\n<parameter=KEY>\nVALUE\n</parameter>\n"
        "</function>\n</tool_call>"
    )
    rules = (
        "A call is a `<function=NAME>` inside a `<tool_call>`. Each argument stands in its own "
        "`<parameter=KEY>`, the value on lines of its own.",
        "Write text as it is, without quotes. Write numbers, booleans, lists and objects as JSON.",
        "A call without arguments has no `<parameter=…>`. Close every tag.",
        "You may write several calls, each in its own `<tool_call>`.",
    )
    reasoning = (("<think>", "</think>"),)
    calls_end_reasoning = True
    trims = True
    tags = XmlTags(
        wrapper=closing("<tool_call>"),
        wrapper_end=closing("</tool_call>", others=[literal("</_call>")]),
        call=Tag(
            "<function=…>",
            named("<function="),
            others=[named("<function=", "\\n"), attributed("<function")],
        ),
        call_end=closing("</function>", others=[misspelt("</func")]),
        argument=Tag("<parameter=…>", named("<parameter="), others=[attributed("<parameter")]),
        argument_end=closing("</parameter>", others=[misspelt("</param")]),
    )
    form = XmlForm(
        wrapper=("<tool_call>\n", "\n</tool_call>"),
        head=("<function=", ">\n"),
        end="</function>",
        key=("<parameter=", ">\n"),
        value_end="\n</parameter>\n",
    )
