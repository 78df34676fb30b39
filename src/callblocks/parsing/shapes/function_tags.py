"""Calls as `<function=NAME>` with `<parameter=KEY>` tags, in a wrapper.

One newline at each end of a value belongs to its tags. Models forget the wrapper, closing tags
before the next tag, or write `<function name="NAME">`.
"""

from __future__ import annotations

from callblocks.parsing.shapes.tags import (
    Tag,
    attributed,
    closing,
    literal,
    misspelt,
    named,
    unclosed,
)
from callblocks.parsing.shapes.xml_form import XmlForm
from callblocks.parsing.shapes.xml_parameters import XmlParameters
from callblocks.parsing.shapes.xml_tags import XmlTags

__all__ = ("FunctionTags", "function_form", "function_tags")


class FunctionTags(XmlParameters):
    """A dialect of this shape."""

    trims = True
    rules = (
        "A call is a `<function=NAME>` inside its wrapper. Each argument stands in its own "
        "`<parameter=KEY>`, the value on lines of its own.",
        "Write text as it is, without quotes. Write numbers, booleans, lists and objects as JSON.",
        "A call without arguments has no `<parameter=…>`. Close every tag.",
        "You may write several calls, each in its own wrapper.",
    )


def function_tags(wrapper: str) -> XmlTags:
    """The tags with this wrapper."""
    return XmlTags(
        wrapper=closing(f"<{wrapper}>"),
        wrapper_end=closing(f"</{wrapper}>", others=[literal("</_call>")]),
        call=Tag(
            "<function=…>",
            named("<function="),
            others=[
                unclosed("<function=", "\\n"),
                unclosed("<function=", "(?=<)"),
                attributed("<function"),
            ],
        ),
        call_end=closing("</function>", others=[misspelt("</func")], covered=True),
        argument=Tag("<parameter=…>", named("<parameter="), others=[attributed("<parameter")]),
        argument_end=closing("</parameter>", others=[misspelt("</param")], covered=True),
    )


def function_form(wrapper: str) -> XmlForm:
    """How such calls are written."""
    return XmlForm(
        wrapper=(f"<{wrapper}>\n", f"\n</{wrapper}>"),
        head=("<function=", ">\n"),
        end="</function>",
        key=("<parameter=", ">\n"),
        value_end="\n</parameter>\n",
    )
