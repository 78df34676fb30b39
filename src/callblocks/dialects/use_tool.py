"""Calls as `<use_tool>`, with the tool's name in a tag of its own::

    <use_tool>
    <name>NAME</name>
    <KEY>VALUE</KEY>
    </use_tool>

A prompt may use another tag: a subclass with a name and a `tag` of its own reads, writes and
teaches that.
"""

from __future__ import annotations

import re
from typing import ClassVar

from callblocks.parsing.engine.markers import Shape
from callblocks.parsing.readers.foreign_body import Bodies
from callblocks.parsing.readers.tags import BLANKS, NOTHING, Tag, XmlForm, XmlTags, closing, literal
from callblocks.parsing.shapes.element_bodies import ElementBodies

__all__ = ("UseTool",)

TAG = "use_tool"
_NAME = re.compile(r"<name>\s*(.*?)\s*</name>", re.DOTALL)


def _tags(tag: str) -> XmlTags:
    name = (*literal("<name>").atoms, "[^<]{1,200}", *literal("</name>").atoms)
    return XmlTags(
        call=Tag(f"<{tag}><name>NAME</name>", Shape((*literal(f"<{tag}>").atoms, BLANKS, *name))),
        call_end=closing(f"</{tag}>"),
        argument=NOTHING,
        argument_end=NOTHING,
    )


def _form(tag: str) -> XmlForm:
    head = (f"<{tag}>\n<name>", "</name>\n")
    return XmlForm(head=head, end=f"</{tag}>", key=("<", ">"), value_end="")


def _rules(tag: str) -> tuple[str, ...]:
    return (
        f"A call is a `<{tag}>`. First comes the tool's name in `<name>`, then each argument in "
        "a tag with its name.",
        "Write text as it is, without quotes and without escapes. Write numbers, booleans, lists "
        "and objects as JSON.",
        "A call without arguments has only its name. Close every tag.",
    )


class UseTool(ElementBodies):
    """`<use_tool>`, `<name>`, and an element for each argument."""

    name = "use_tool"
    summary = "<use_tool> with the name and each argument in a tag"
    syntax = "<use_tool>\n<name>NAME</name>\n<KEY>VALUE</KEY>\n</use_tool>"
    tag: ClassVar[str] = TAG
    rules = _rules(TAG)
    tags = _tags(TAG)
    form = _form(TAG)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.syntax = UseTool.syntax.replace(TAG, cls.tag)
        cls.rules, cls.tags, cls.form = _rules(cls.tag), _tags(cls.tag), _form(cls.tag)

    @property
    def bodies_between(self) -> Bodies | None:
        return Bodies((f"<{self.tag}>",), (f"</{self.tag}>",), notation="tags")

    def name_in(self, opening: str) -> str:
        found = _NAME.search(opening)
        return found[1] if found else ""
