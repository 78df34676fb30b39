"""Calls whose body is a row of elements: `<path>a.txt</path><content>…</content>`.

If the tag of a call is the tool's name (`NamedTags`), only declared tools and their parameters are
tags; anything else is text. `<b>` in a value is HTML; `<path>` is a tag if it is a parameter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import ClassVar

from callblocks.core.calls import Call
from callblocks.core.errors import Unwritable
from callblocks.core.specs import ToolSpec
from callblocks.parsing.engine.block import Block
from callblocks.parsing.engine.markers import Markers, Shape
from callblocks.parsing.engine.parse_state import ParseState, Reading
from callblocks.parsing.readers.announce import BadBody
from callblocks.parsing.readers.tags import NOTHING, Tag, XmlForm, XmlTags, closing, literal
from callblocks.parsing.shapes.elements import Elements, Nesting, grouped, read_elements
from callblocks.parsing.shapes.xml_call import (
    Input,
    ReadsBodies,
    TextBody,
    XmlCall,
    has_lone_bracket,
    is_balanced,
    unmatched,
)
from callblocks.parsing.shapes.xml_parameters import XmlParameters
from callblocks.parsing.values.typed import may_have, plain_values, problems_of, schema_of

__all__ = (
    "NAME",
    "ElementBodies",
    "GuessedCall",
    "NamedTags",
)

# --- A call whose only sign is a tag with the name of a tool, `<read_file>`, when guessing ---
#
# Prose mentions such tags. So nothing is emitted before the closing tag has arrived and the
# arguments satisfy the tool's schema; everything else is prose. A tag is refused as soon as its
# first argument shows that it is no call: `<search> finds …` waits for one character, not for a
# closing tag.


class GuessedCall(XmlCall):
    """A call that is read to its end before anything is emitted."""

    def __init__(self, shape: NamedTags, block: Block) -> None:
        super().__init__(shape, block)
        self._named = shape

    def read(self, name: str, stop: int) -> Reading[str | None]:
        # Cheap checks first: the character and the first tag behind the opening tag. Only if these
        # may begin a call of this tool, text is held back up to the closing tag.
        block, shape, first = self._block, self._named, len(self._block.taken)
        block.name, self.end = name, shape.end_of(name)
        tool = block.stage.tools.get(name)
        char = yield from block.peek()
        blanks = "".join(block.taken[first:])
        head = yield from block.match(shape.heads)
        block.give_back(block.offset - len(head))
        is_end = self.end.is_in(head)
        if not shape.may_begin(blanks, char) or not (is_end or shape.may_hold(head, tool)):
            return None
        self._body = body = TextBody(block, shape, self.end.markers, blanks, self._call_tags)
        end = yield from self._read_body(body)
        if not (end and self.sure and self._is_of(tool)):
            self.dead = block.offset
            return None
        self._start(name, stop)
        if body.text:
            block.input(body.text, end=stop + len(body.text))
        return end

    def read_whole(self, name: str, stop: int) -> bool:
        tool = self._block.stage.tools.get(name)
        if tool is None or tool.required:
            return False
        self._start(name, stop)
        return True

    def _start(self, name: str, stop: int) -> None:
        opening = self._block.opening
        self._block.lead(len(opening) - len(opening.lstrip()))
        self._block.started(name, end=stop)

    def _is_of(self, tool: ToolSpec | None) -> bool:
        """Return whether the arguments fit the tool: all required ones, and at least one known."""
        try:
            value, problems = self.value(tool)
        except BadBody:
            return False
        known = [key for key in value if self._named.is_key(key, tool)]
        if tool and not value.keys() >= set(tool.required):
            return False
        # Unknown arguments beside them do not matter if all required ones are there.
        return bool(known) or not (value or problems)


# --- Calls whose body is a row of elements: `<path>a.txt</path><content>…</content>` ---

NAME = "[A-Za-z_][\\w.:-]{0,100}"
INDENT = "[ \\t]{0,40}"
# Blanks, also in the escapes of a JSON string.
_GAP = r"(?:\s|\\[nrt]){0,100}"
_BEFORE_ELEMENT = rf"(?=[^<>]*>(?:\s|\\[nrt])*<{_GAP}[A-Za-z_])"
# The last tag of a text, if it closes an element or is an empty one.
_LAST_END = re.compile(r"<(?:/\s*([A-Za-z_][\w.:-]*)|([A-Za-z_][\w.:-]*)[^<>]*/)\s*>\s*\Z")


_WHOLE = Shape(("<", " {0,3}", NAME, "[ \\t\\r\\n]{0,20}", "/", ">"))


class ElementBodies(XmlParameters):
    """A dialect of this shape; any element is an argument."""

    form: ClassVar[XmlForm]
    # True if entities such as `&lt;` and `<![CDATA[…]]>` are decoded as in XML.
    escapes: ClassVar[bool] = False
    may_lack_ends: ClassVar[bool] = True

    def bodies(self) -> ReadsBodies:
        return self

    def is_key(self, key: str, tool: ToolSpec | None) -> bool:
        """Return whether an element of this name is an argument."""
        return True

    def may_begin(self, blanks: str, char: str) -> bool:
        return char in ("<", "")

    def is_whole_body(self, text: str, tool: ToolSpec | None, *, is_all: bool) -> bool:
        if self.escapes and text.rfind("<![CDATA[") > text.rfind("]]>"):
            return False
        last = _LAST_END.search(text, max(text.rfind("<"), 0))
        if last and self.is_key(last[1] or last[2], tool):
            return True
        return is_all and self._is_balanced(text)

    def _is_balanced(self, text: str) -> bool:
        """Return whether all elements of a text are closed, whatever their names.

        If tags in text are escaped, stray text may stand between the elements.
        """
        found, repairs = read_elements(text, lambda _: True, escapes=self.escapes)
        codes = {code for code, _ in repairs} - {"misspelt-tag"}
        # A value that quotes its own opening tag may continue behind the closing one.
        quoted = any(one.count(f"<{key}>") > one.count(f"</{key}>") for key, one in found)
        return not quoted and codes <= ({"stray-text"} if self.escapes else set())

    def read_body(self, body: str, tool: ToolSpec | None, depth: int) -> Input:
        found, repairs = self._elements(body, tool)
        texts = grouped((key, ("", text)) for key, text in found)
        values = {key: self.typed_values(given, tool, key) for key, given in texts.items()}
        return plain_values(values), [*repairs, *problems_of(values)]

    def value_end_of(self, key: str) -> str:
        return f"</{key}>\n"

    def early_ends(self, tools: Mapping[str, ToolSpec] | None) -> Sequence[Shape]:
        keys = tools and dict.fromkeys(key for tool in tools.values() for key in tool.properties)
        # The closing tag of a value counts only if another element follows it.
        values = _closing_tags(keys, _BEFORE_ELEMENT)
        return [*values, *self.tags.call_end.shapes, *self.tags.wrapper_end.shapes]

    def _elements(self, body: str, tool: ToolSpec | None) -> Elements:
        """Return the arguments; raise `BadBody` for a text without any."""
        read = read_elements(body, lambda key: self.is_key(key, tool), escapes=self.escapes)
        if read.repairs and not read.found:
            raise BadBody(*read.repairs[0])
        doubts = [unmatched(key) for key, text in read.found if self._is_doubtful(key, text)]
        return read._replace(repairs=[*read.repairs, *doubts])

    def _is_doubtful(self, key: str, text: str) -> bool:
        """Return whether the tags in a value do not match, or a stray bracket stands beside one."""
        if self.escapes and "<![CDATA[" in text:
            return False
        has_bracket = self.escapes and text.endswith("<")
        return has_bracket or has_lone_bracket(text) or not is_balanced(key, text)


class NamedTags(ElementBodies):
    """A dialect in which the tag of a call is the tool's name."""

    needs_tools = True
    tags = XmlTags(
        call=Tag("<NAME>", Shape(("<", NAME, ">")), others=[_WHOLE]),
        call_end=NOTHING,
        argument=NOTHING,
        argument_end=NOTHING,
    )
    form = XmlForm(head=("<", ">\n"), end="", key=("<", ">"), value_end="")

    # The tags with which the body of a call may begin, or its end.
    heads: ClassVar[Markers] = Markers(Shape(("<", "/?", NAME, "[^<>]{0,200}", ">")))

    def reading(self, block: Block, *, in_wrapper: bool = False) -> XmlCall:
        return XmlCall(self, block) if block.stage.alone else GuessedCall(self, block)

    def may_hold(self, head: str, tool: ToolSpec | None) -> bool:
        """Return whether the body of a call of this tool may begin with this tag."""
        words = head[1:-1].rstrip("/").split()
        return bool(words) and self.is_key(words[0], tool)

    def may_begin(self, blanks: str, char: str) -> bool:
        return char == "<"

    def read_body(self, body: str, tool: ToolSpec | None, depth: int) -> Input:
        found, repairs = self._elements(body, tool)
        nesting = Nesting(tool.parameters if tool else {}, self.escapes, self.decode)
        texts = grouped((key, self.bare(text)) for key, text in found)
        values = {
            key: nesting.value(written, schema_of(tool, key), key, depth)
            for key, written in texts.items()
        }
        return plain_values(values), [*repairs, *problems_of(values)]

    def decode(self, text: str) -> str:
        """Return the decoded form of a text without elements."""
        return text

    def is_tool(self, name: str, tools: Mapping[str, ToolSpec]) -> bool:
        return name in tools

    def declines(self, opener: str, stage: ParseState) -> bool:
        """Return whether a tag names no tool: markup is full of such tags."""
        return not self.is_tool(self.name_in(opener), stage.tools)

    def is_key(self, key: str, tool: ToolSpec | None) -> bool:
        return tool is not None and may_have(tool, key)

    def name_in(self, opening: str) -> str:
        return opening.strip("</ \t\r\n>")

    def end_of(self, name: str) -> Tag:
        return _end_of(name)

    def tail_of(self, name: str) -> str:
        return f"</{name}>"

    def openings(self, tools: Sequence[ToolSpec]) -> list[str]:
        return [f"<{tool.name}" for tool in tools]

    def early_ends(self, tools: Mapping[str, ToolSpec] | None) -> Sequence[Shape]:
        return [*super().early_ends(tools), *_closing_tags(tools)]

    def _compose_call(self, number: int, call: Call, tools: Mapping[str, ToolSpec]) -> str:
        if call.name not in tools:
            raise Unwritable(self.name, f"the call of {call.name!r}: `tools` must name it")
        return super()._compose_call(number, call, tools)


def _closing_tags(names: Iterable[str] | None, *after: str) -> list[Shape]:
    """Return the closing tags of these names, or of all names, before `after`."""
    rows = [(NAME,)] if names is None else [literal(name).atoms for name in names]
    return [Shape(("<", "/", _GAP, *row, "(?![\\w.:-])", *after)) for row in rows]


@lru_cache(maxsize=256)
def _end_of(name: str) -> Tag:
    blanks = "[ \\t\\r\\n]{0,20}"
    spaced = Shape(("<", "/", blanks, *literal(name).atoms, blanks, ">"))
    return closing(f"</{name}>", others=[spaced], covered=True)
