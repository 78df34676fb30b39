"""Calls as `<function=NAME>` with `<parameter=KEY>` tags, in a wrapper.

One line end on each side of a value belongs to its tags. Models forget the wrapper, or closing tags
before the next tag, or write `<function name="NAME">`. Inside of the wrapper a tag may also be the
bare name of a declared tool: `<NAME>…</NAME>`.
"""

from __future__ import annotations

import re
from copy import copy
from functools import lru_cache

from callblocks.parsing.block import Block, Refused
from callblocks.parsing.markers import Markers, Shape
from callblocks.parsing.shapes.tags import (
    BLANKS,
    WORD,
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
from callblocks.parsing.shapes.xml_reader import XmlReader
from callblocks.parsing.shapes.xml_tags import XmlTags
from callblocks.parsing.stage import Reading

__all__ = ("FunctionTags", "function_form", "function_tags")

# Words that models write for `function` inside of the wrapper.
_OTHER_CALLS = ("call", "tool", "invoke")
# A key between tags, with the value behind them.
_KEY_END = literal("</parameter>").atoms
_KEY = re.compile(r"<parameter>\s*(\S+)\s*</parameter>")
_BARE = Markers(Shape((BLANKS, "<", WORD, ">")))


class FunctionTags(XmlParameters):
    """A dialect of this shape."""

    trims = True
    leaves_json = True
    _tool = ""
    rules = (
        "A call is a `<function=NAME>` inside its wrapper. Each argument stands in its own "
        "`<parameter=KEY>`, the value on lines of its own.",
        "Write text as it is, without quotes. Write numbers, booleans, lists and objects as JSON.",
        "A call without arguments has no `<parameter=…>`. Close every tag.",
        "You may write several calls, each in its own wrapper.",
    )

    def read(self, block: Block) -> Reading[Refused | None]:
        if not self.tags.wrapper.is_in(block.opening):
            return (yield from super().read(block))
        bare = yield from block.match(_BARE)
        block.give_back(block.offset - len(bare))
        name = bare.strip()[1:-1]
        shape = self._of(name) if name in block.stage.tools else self
        return (yield from XmlReader(shape, block).read())

    def _of(self, name: str) -> FunctionTags:
        """Return the same dialect with the bare name of a tool as a further tag of a call."""
        shape = copy(self)
        shape.tags, shape._tool = function_tags(self.tags.wrapper.name[1:-1], name), name
        return shape

    def name_in(self, opening: str) -> str:
        return self._tool if opening == f"<{self._tool}>" else super().name_in(opening)

    def key_in(self, opening: str) -> str:
        key = _KEY.fullmatch(opening)
        return key[1] if key else super().key_in(opening)


@lru_cache(maxsize=256)
def function_tags(wrapper: str, name: str = "") -> XmlTags:
    """Return the tags with this wrapper; `name` may be a tag of its own."""
    bare = [literal(f"<{name}>")] if name else []
    bare_end = [literal(f"</{name}>")] if name else []
    return XmlTags(
        wrapper=closing(f"<{wrapper}>"),
        wrapper_end=closing(f"</{wrapper}>", others=[literal("</_call>")]),
        call=Tag(
            "<function=…>",
            named("<function="),
            others=[
                unclosed("<function=", "[\\r\\n]"),
                unclosed("<function=", "(?=<)"),
                attributed("<function"),
                *(named(f"<{word}=") for word in _OTHER_CALLS),
                *bare,
            ],
        ),
        call_end=closing(
            "</function>",
            others=[
                misspelt("</func"),
                *(literal(f"</{word}>") for word in _OTHER_CALLS),
                *bare_end,
            ],
            covered=True,
        ),
        argument=Tag(
            "<parameter=…>",
            named("<parameter="),
            others=[
                attributed("<parameter"),
                named("<param="),
                attributed("<param"),
                Shape((*literal("<parameter>").atoms, BLANKS, WORD, BLANKS, *_KEY_END)),
            ],
        ),
        argument_end=closing("</parameter>", others=[misspelt("</param")], covered=True),
    )


def function_form(wrapper: str) -> XmlForm:
    """Return the form in which such calls are written."""
    return XmlForm(
        wrapper=(f"<{wrapper}>\n", f"\n</{wrapper}>"),
        head=("<function=", ">\n"),
        end="</function>",
        key=("<parameter=", ">\n"),
        value_end="\n</parameter>\n",
    )
