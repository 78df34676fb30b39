"""Calls whose arguments are pairs of tags: `<arg_key>KEY</arg_key><arg_value>VALUE</arg_value>`.

A value is text if the tool's schema says so, and JSON if the schema has another type or none. A key
without a value is dropped and reported. A value may lack its opening tag.
"""

from __future__ import annotations

import re
from typing import ClassVar

from callblocks.parsing.markers import Shape
from callblocks.parsing.shapes.foreign_body import Bodies
from callblocks.parsing.shapes.json_values import JsonValues
from callblocks.parsing.shapes.tags import BLANKS, Tag, begun, closing, literal, misspelt
from callblocks.parsing.shapes.xml_tags import XmlTags

__all__ = (
    "ARGUMENT",
    "NAME",
    "RULES",
    "SUFFIX",
    "ArgKeyValue",
    "argument",
    "named_call",
    "pair_tags",
    "suffixed",
    "wrapped_tags",
)

NAME = "[\\w./:-]{1,200}"
# A suffix that a model may add to the name of each tag: `<tool_call:v2>`.
SUFFIX = "[\\w.-]{1,40}"
RULES = (
    "For each argument write its name in `<arg_key>` and its value in `<arg_value>`.",
    "Write text as it is, without quotes. Write numbers, booleans, lists and objects as JSON.",
    "A call without arguments has no `<arg_key>`. Close every tag.",
)
_KEY = re.compile(r"<arg_key[^<>]*>\s*(.*?)\s*</arg_key", re.DOTALL)
_NAME = re.compile(rf"<(?:tool_call|user)[^<>]*>\s*({NAME})")


def argument(suffix: str = "") -> Shape:
    """Return the tags before a value, each with this suffix, an atom of a pattern."""
    return Shape(
        (
            *suffixed("<arg_key", suffix),
            "[^<]{1,200}",
            *suffixed("</arg_key", suffix),
            BLANKS,
            *suffixed("<arg_value", suffix),
        )
    )


def untagged(suffix: str = "") -> Shape:
    """Return the key of a value without an opening tag; text must follow it."""
    key = (*suffixed("<arg_key", suffix), "[^<]{1,200}", *suffixed("</arg_key", suffix))
    return Shape((*key, BLANKS, "(?=[^<\\s])"))


def suffixed(tag: str, suffix: str = "") -> tuple[str, ...]:
    """Return the atoms of a tag with a suffix to its name."""
    return (*literal(tag).atoms, *((":", suffix) if suffix else ()), ">")


def named_call(after: str, *others: str) -> Tag:
    """Return the tag of a call with its name, which a character of the class `after` must follow.

    `others` are tags that models write for it.
    """
    rest = (BLANKS, NAME, f"(?={after})")
    return Tag(
        "<tool_call>NAME",
        Shape((*literal("<tool_call>").atoms, *rest)),
        others=[Shape((*literal(one).atoms, *rest)) for one in others],
    )


ARGUMENT = "<arg_key>…</arg_key><arg_value>"


def pair_tags(*others: str) -> XmlTags:
    """Return the tags of calls that begin with `<tool_call>NAME`; `others` are variants of it."""
    key = (*suffixed("<arg_key"), "[^<]{1,200}", *suffixed("</arg_key"), BLANKS)
    end = literal("</tool_call>")
    return XmlTags(
        call=named_call("[\\s<]", *others),
        call_end=closing(
            "</tool_call>",
            others=[
                Shape((*key, *end.atoms)),
                *(literal(one.replace("<", "</")) for one in others),
            ],
        ),
        argument=Tag(ARGUMENT, argument(), others=[Shape((*key, *argument().atoms)), untagged()]),
        argument_end=closing("</arg_value>", others=[misspelt("</arg_v")], covered=True),
    )


def wrapped_tags(call: Tag) -> XmlTags:
    """Return the tags of calls in `<tool_calls>`; each may have a suffix."""
    return XmlTags(
        wrapper=Tag("<tool_calls>", *_spellings("<tool_calls")),
        wrapper_end=Tag("</tool_calls>", *_spellings("</tool_calls")),
        call=call,
        call_end=Tag("</tool_call>", *_spellings("</tool_call")),
        argument=Tag(ARGUMENT, argument(), argument(SUFFIX), others=[untagged(), untagged(SUFFIX)]),
        argument_end=Tag("</arg_value>", *_spellings("</arg_value"), others=[misspelt("</arg_v")]),
    )


def _spellings(tag: str) -> tuple[Shape, Shape]:
    return Shape(suffixed(tag)), Shape(suffixed(tag, SUFFIX))


class ArgKeyValue(JsonValues):
    """A dialect of this shape; a call's name stands right after its opening tag."""

    leaves_json = True
    call_openings: ClassVar[tuple[str, ...]] = ("<tool_call>",)

    @property
    def bodies_between(self) -> Bodies | None:
        """The bodies inside of `<tool_call>`, whatever wraps it."""
        section, section_end = (
            tuple(begun(shape) for shape in tag.exact[:1])
            for tag in (self.tags.wrapper, self.tags.wrapper_end)
        )
        return Bodies(
            self.call_openings,
            ("</tool_call>",),
            section=section,
            section_end=section_end,
            notation="tags",
        )

    def name_in(self, opening: str) -> str:
        found = _NAME.match(opening)
        return found[1] if found else ""

    def key_in(self, opening: str) -> str:
        return _KEY.findall(opening)[-1]
