"""Calls as `<invoke name="NAME">` with `<parameter name="KEY">VALUE</parameter>`, in a wrapper.

Model families differ in the wrapper and in a prefix of every tag. Values are raw text.
"""

from __future__ import annotations

from collections.abc import Sequence

from callblocks.parsing.shapes.tags import Tag, attributed, closing, misspelt
from callblocks.parsing.shapes.xml_form import XmlForm
from callblocks.parsing.shapes.xml_tags import XmlTags

__all__ = ("RULES", "invoke_form", "invoke_tags")

RULES = (
    "Write text as it is, without quotes and without escapes. Write numbers, booleans, lists and "
    "objects as JSON.",
    "A call without arguments has no parameters. Close every tag.",
    "Calls that belong together stand in one wrapper, one after the other.",
)


def invoke_tags(wrapper: str, prefixes: Sequence[str] = ("",)) -> XmlTags:
    """Return tags with this wrapper, each with any of the prefixes."""
    return XmlTags(
        wrapper=closing(*(f"<{one}{wrapper}>" for one in prefixes)),
        wrapper_end=closing(*(f"</{one}{wrapper}>" for one in prefixes)),
        call=_opening("invoke", prefixes),
        call_end=_ending("invoke", "invo", prefixes),
        argument=_opening("parameter", prefixes),
        argument_end=_ending("parameter", "para", prefixes),
    )


def invoke_form(wrapper: str, prefix: str = "") -> XmlForm:
    """Return the form in which such calls are written."""
    return XmlForm(
        wrapper=(f"<{prefix}{wrapper}>\n", f"</{prefix}{wrapper}>"),
        head=(f'<{prefix}invoke name="', '">\n'),
        end=f"</{prefix}invoke>\n",
        key=(f'<{prefix}parameter name="', '">'),
        value_end=f"</{prefix}parameter>\n",
        shared=True,
    )


def _opening(name: str, prefixes: Sequence[str]) -> Tag:
    return Tag(f"<{prefixes[0]}{name}>", *(attributed(f"<{one}{name}") for one in prefixes))


def _ending(name: str, start: str, prefixes: Sequence[str]) -> Tag:
    others = [misspelt(f"</{one}{start}") for one in prefixes]
    return closing(*(f"</{one}{name}>" for one in prefixes), others=others, covered=True)
