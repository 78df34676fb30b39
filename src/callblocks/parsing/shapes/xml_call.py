"""One call in tags while it is read: its arguments, or its body.

Values are raw text, and a value may quote the dialect's own tags (a file that documents them). So a
closing tag ends a value only if the next tag confirms it:

    </parameter> <parameter=…>     ends: another argument follows
    </parameter> </function>       ends: the call ends
    </parameter> and more text     is part of the value

Models also forget closing tags. Two mechanisms handle that:
    - The end of the call (`</function>`) inside of a value may be real. From there on the text is
      held back (`_OuterEnd`). If no closing tag of a value follows up to the end of the text, the
      value and the call end there; otherwise it was quoted.
    - A text that was read as one value may be several whose tags are not all there. That is judged
      when all arguments of the call are known (`unclosed_values`).

`stage.unclosed` remembers that a closing tag does not occur any more, so that a text with many such
calls is searched to its end only once.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from callblocks.model.specs import ToolSpec
from callblocks.parsing.block import Block
from callblocks.parsing.markers import Markers, Shape
from callblocks.parsing.shapes.bad_body import BadBody
from callblocks.parsing.shapes.tags import BLANKS, Tag, literal
from callblocks.parsing.shapes.unclosed_values import Value, part_values, unmatched_tags
from callblocks.parsing.shapes.xml_bodies import Input, JsonBody, ReadsBodies, TextBody
from callblocks.parsing.stage import Reading
from callblocks.parsing.turn_end import TURN_ENDS

if TYPE_CHECKING:
    from callblocks.parsing.shapes.xml_parameters import XmlParameters

__all__ = ("XmlCall",)

_CDATA = re.compile(r"\s*<!\[CDATA\[")
_ELEMENT = re.compile(r"<[A-Za-z_][\w.-]{0,60}>")
_ATTRIBUTE = re.compile(r"\s[\w:.-]{1,60}=")
_TURN_END = re.compile(rf"\s*(?:(?:{'|'.join(map(re.escape, TURN_ENDS))})\s*)+")
_CDATA_END = re.compile(r"\]\]>\s*\Z")


@lru_cache(maxsize=256)
def _elements(keys: tuple[str, ...]) -> Markers:
    """Return tags that are the names of arguments, or, if no names are known, any simple tag."""
    if not keys:
        return Markers(Shape((BLANKS, "<", "[A-Za-z_]", r"[\w.-]{0,60}", ">")))
    return Markers(*(Shape((BLANKS, *literal(f"<{key}>").atoms)) for key in keys))


class _OuterEnd(NamedTuple):
    """The end of a call inside of a value: the index of its part, and the offset behind it."""

    part: int
    offset: int


class XmlCall:
    """A reader of one call.

    `repairs`: the repairs, each a code and a detail.
    `over`: the text ended before the call did; `inside`: it ended within a value.
    `sure`: the end of the call is certain.
    `follows`: the tag behind its end, if that had to be read already.
    `dead`: if this is no call, no other call begins before this offset.
    `in_wrapper`: the tags around it make certain that a tool is called.
    """

    def __init__(self, shape: XmlParameters, block: Block, *, in_wrapper: bool = False) -> None:
        self._shape, self._block, self._tags = shape, block, shape.tags
        self.end = shape.tags.call_end
        self.repairs: list[tuple[str, str]] = []
        self.follows: str | None = None
        self.over = self.inside = False
        self.in_wrapper = in_wrapper
        self.sure = True
        self.dead = 0
        self._values: list[Value] = []
        self._fault: BadBody | None = None
        self._body: JsonBody | TextBody | None = None
        self._unsaid: list[str] = []
        self._key = ""
        self._has_elements = False

    def read(self, name: str, stop: int) -> Reading[str | None]:
        """Read a call whose opening tag ends at `stop`; return the tag behind its arguments.

        The tag is `""` where the text ended; None is returned if this is no call.
        """
        block, inside = self._block, self._tags.inside
        self.end = self._shape.end_of(name)
        if bodies := self._shape.bodies():
            return (yield from self._read_text(bodies, name, stop))
        if is_begun := (yield from block.stands(self._tags.begun)):
            block.started(name, end=stop)
        tag = yield from self._match_inside(name)
        self.over = not tag and block.ends_within(inside)
        if not tag and not self.over:
            self._fault = BadBody("stray-text", "what should open an argument does not")
            if self.in_wrapper and name in block.stage.tools:
                if not is_begun:
                    block.started(name, end=stop)
                return (yield from self._skip())
            return "" if is_begun else None
        if not is_begun:
            block.started(name, end=stop)
        self._unsaid = [tag]
        if tag.endswith("{"):
            return (yield from self._read_json(tag))
        while self._is_argument(tag.lstrip()):
            tag = yield from self._read_argument(tag.lstrip())
        return tag

    def _read_json(self, tag: str) -> Reading[str]:
        """Read arguments that are one JSON object; `tag` is the text up to its brace."""
        block, tags, is_element = self._block, self._tags, tag.strip() != "{"
        if is_element:
            block.input("", end=block.offset - 1)
        block.input("{" if is_element else tag)
        self._body = JsonBody(block, tags.element_ends if is_element else tags.call_ends)
        end = yield from self._read_body(self._body)
        if not (is_element and tags.element_end.is_in(end)):
            return end
        end = yield from block.match(tags.after_element)
        if not end and not block.ends_within(tags.after_element) and (yield from block.peek()):
            self.missing(tags.call_end)
        else:
            self.over = not end
        return end

    def _match_inside(self, name: str) -> Reading[str]:
        """Consume the first tag of a call: an argument, its end, or a variant of these."""
        block = self._block
        tag = yield from block.match(self._tags.inside)
        if tag.strip() != "{" or self._tags.json_bodies:
            return tag or (yield from self._match_element(name))
        is_tool = self._may_be_tool(name) and not self._shape.leaves_json
        if not self._block.stage.strict and (self._is_wrapped or is_tool):
            self.repair("foreign-body", "the arguments are a JSON object")
            return tag
        block.give_back(block.offset - len(tag))
        return ""

    @property
    def _is_wrapped(self) -> bool:
        tags = self._tags
        return tags.has_wrapper and tags.wrapper.is_in(self._block.opening.lstrip())

    def _may_be_tool(self, name: str) -> bool:
        """Return whether a name alone makes a call certain although its body is irregular."""
        stage = self._block.stage
        return name in stage.tools or (stage.alone and not stage.tools)

    def _match_element(self, name: str) -> Reading[str]:
        """Consume a tag that is the bare name of an argument: `<path>` for `<parameter=path>`."""
        stage = self._block.stage
        keys = tuple(stage.tools[name].properties) if name in stage.tools else ()
        # If tools are declared, only their keys are such tags; otherwise any tag in a call is.
        is_sure = bool(keys) if stage.tools else self._is_wrapped or stage.alone
        if stage.strict or not is_sure:
            return ""
        tag = yield from self._block.match(_elements(keys))
        self._has_elements = self._has_elements or bool(tag)
        return tag

    def _is_argument(self, tag: str) -> bool:
        """Return whether a tag opens an argument, by the grammar or by its bare name."""
        is_element = self._has_elements and _ELEMENT.fullmatch(tag) is not None
        return is_element or self._tags.argument.is_in(tag)

    def _key_in(self, opening: str) -> str:
        is_own = self._tags.argument.is_in(opening)
        return self._shape.key_in(opening) if is_own else opening[1:-1]

    def _skip(self) -> Reading[str]:
        """Consume irregular text up to the end of the call, or up to the next call."""
        _, end = yield from self._block.stream(self._tags.skipped_to)
        self.over = not end
        return end

    def read_whole(self, name: str, stop: int) -> bool:
        """Start a call whose opening tag, which ends at `stop`, also ends it; return whether."""
        self._block.started(name, end=stop)
        return True

    def _read_text(self, bodies: ReadsBodies, name: str, stop: int) -> Reading[str | None]:
        block, first = self._block, len(self._block.taken)
        char = yield from block.peek()
        blanks = "".join(block.taken[first:])
        if not bodies.may_begin(blanks, char):
            return None
        block.started(name, end=stop)
        if blanks:
            block.input(blanks)
        own = self._tags.call_end is self.end
        ends = self._tags.call_ends if own else self.end.markers
        self._body = TextBody(block, bodies, ends, blanks)
        return (yield from self._read_body(self._body))

    def value(self, tool: ToolSpec | None) -> Input:
        """Return the input of the call and its problems, or raise `BadBody`."""
        if self._fault:
            raise self._fault
        if self._body is not None:
            return self._body.value(tool)
        values, repairs = part_values(self._values, self._shape, tool)
        self.repairs += repairs
        written: dict[str, list[tuple[str, str]]] = {}
        for one in values:
            written.setdefault(one.key, []).append((one.opening, one.text))
        value, problems = self._shape.typed_arguments(written, tool)
        return value, [*problems, *unmatched_tags(values, self._shape)]

    def missing(self, tag: Tag) -> None:
        """Record that a closing tag is missing."""
        self.repair("missing-closer", f"{tag.name} is missing")

    def note_spelling(self, tag: Tag, text: str) -> None:
        """Record a tag that is not spelt as its grammar says."""
        if not tag.is_exact(text):
            self.repair("misspelt-tag", f"{text!r:.80} stands for {tag.name}")

    def repair(self, code: str, detail: str) -> None:
        """Record a repair."""
        self.repairs.append((code, detail))

    def swallowed(self) -> str:
        """Return the declared tool whose call begins in a value and does not end there, or ""."""
        tags, tools = self._tags, self._block.stage.tools
        for value in self._values if tools else ():
            openings = list(tags.call.markers.final.finditer(value.text))
            names = ((hit.end(), self._shape.name_in(hit[0])) for hit in reversed(openings))
            last, name = next((one for one in names if one[1] in tools), (0, ""))
            is_open = name and not tags.call_end.markers.final.search(value.text, last)
            if is_open and not self._shape.is_quoted(value.text):
                return name
        return ""

    def _read_body(self, body: JsonBody | TextBody) -> Reading[str]:
        end = yield from body.read()
        self.over, self.inside, self.sure = not end, body.is_open, body.is_sure
        return end

    def _read_argument(self, opening: str) -> Reading[str]:
        """Read an argument whose opening tag was consumed; return the tag behind it."""
        # Each turn of the loop reads up to a tag that may end the value, and asks what stands
        # behind it (`_tag_after`). If that confirms the end, the argument is done. If not, the tag
        # is part of the value, and the loop goes on. At the end of the text, in this order:
        #   - an outer end was held back and no closing tag came: the call ended there;
        #   - the value ended right before the turn did: only the call's end is missing;
        #   - otherwise the call is cut off, inside of the value unless that has a closing tag.
        block = self._block
        self.note_spelling(self._tags.argument, opening)
        key = self._key = self._key_in(opening)
        if not key or (opening.count('"') % 2 and _ATTRIBUTE.search(opening)):
            self.repair("misspelt-tag", f"{opening!r:.80} does not name its argument as it should")
        block.input("".join(self._unsaid))
        if opening.endswith("/>"):
            return (yield from self._read_empty(key, opening))
        parts: list[str] = []
        # The first end of the call or of its wrapper inside of the value. The text from there on is
        # held back, and not emitted: if no tag closes the value, it ends there.
        outer: _OuterEnd | None = None
        while True:
            ask = block.until if outer else block.stream
            text, end = yield from ask(self._tags.value_ends)
            parts.append(text)
            self._unsaid, at = [end], block.offset - len(end)
            if not end and outer and not self._is_closed_in("".join(parts)):
                return self._end_at(outer, Value(key, opening, "", is_closed=False), parts)
            if not end and self._ends_turn(parts):
                self._values.append(Value(key, opening, "".join(parts[:-2]), is_closed=True))
                self.missing(self._tags.call_end)
                return ""
            if not end:
                self._values.append(Value(key, opening, "".join(parts), is_closed=False))
                self.over = True
                # A value that contains its closing tag is complete, whatever stands behind it.
                self.inside = self._in_cdata(parts) or not self._is_closed_in("".join(parts))
                if outer:
                    block.input("".join(parts[outer.part :]))
                return ""
            tag = None if self._in_cdata(parts) else (yield from self._tag_after(end))
            if tag is not None:
                is_closed = self._closes_argument(end.lstrip())
                self._values.append(Value(key, opening, "".join(parts), is_closed=is_closed))
                if outer:
                    block.input("".join(parts[outer.part :]), end=at)
                return tag
            parts.append(end)
            if outer is None:
                outer = self._outer_end_in(parts)
            if outer is None:
                block.input(end)
            if outer and block.stage.unclosed.get(self._tags.argument_end.name, at + 1) <= at:
                return self._end_at(outer, Value(key, opening, "", is_closed=False), parts)

    def _is_closed_in(self, text: str) -> bool:
        """Return whether an argument's closing tag stands in the text of a value."""
        return self._tags.argument_end.markers.final.search(text) is not None

    def _outer_end_in(self, parts: list[str]) -> _OuterEnd | None:
        """Return the last tag of a value, if it may end the call or its wrapper."""
        end, is_strict = parts[-1].lstrip(), self._block.stage.strict
        if is_strict or self._in_cdata(parts) or not self._tags.is_call_or_wrapper_end(end):
            return None
        return _OuterEnd(len(parts) - 1, self._block.offset)

    def _end_at(self, outer: _OuterEnd, value: Value, parts: list[str]) -> str:
        """End an unclosed value, and the call, at the end of the call inside of the value.

        The text may have broken off in a value that quotes such an end. So the call is certain only
        if the value is a single line and the end is the last text of its line.
        """
        block, tags, text = self._block, self._tags, "".join(parts[: outer.part])
        if not tags.call_end.is_in(parts[outer.part].lstrip()):
            self.missing(tags.call_end)
        self._values.append(value._replace(text=text))
        block.give_back(outer.offset)
        # The search reached the end of the text, so no later value is closed either. The next one
        # need not search again.
        block.stage.unclosed.setdefault(tags.argument_end.name, outer.offset)
        ahead = block.scan.text[block.scan.pos : block.scan.pos + 9].lstrip(" \t\r")
        self.sure = "\n" not in text.strip() and ahead.startswith("\n")
        self.follows = ""
        return ""

    def _ends_turn(self, parts: list[str]) -> bool:
        """Return whether the text ends with the end of a value and the end of the turn."""
        return (
            len(parts) > 1
            and self._tags.argument_end.is_in(parts[-2].lstrip())
            and _TURN_END.fullmatch(parts[-1]) is not None
        )

    def _read_empty(self, key: str, opening: str) -> Reading[str]:
        """Read the tag behind an argument whose opening tag also closes it."""
        self._values.append(Value(key, opening, "", is_closed=True))
        self.repair("misspelt-tag", f"{opening!r:.80} stands for an empty value")
        tag = yield from self._block.match(self._tags.after_argument)
        self.over = not tag and self._block.ends_within(self._tags.after_argument)
        if not tag and not self.over:
            self._fault = BadBody("stray-text", f"behind {opening!r:.60}")
            return (yield from self._skip())
        self._unsaid = [tag]
        return tag

    def _in_cdata(self, parts: list[str]) -> bool:
        """Return whether `<![CDATA[` is open in a value."""
        opened = self._shape.cdata and _CDATA.match(parts[0])
        # `]]>` may be split over the last two parts: in `</]]>` the stream stopped inside of it,
        # because `</` begins like a closing tag.
        return bool(opened) and not _CDATA_END.search("".join(parts[-2:]))

    def _closes_argument(self, end: str) -> bool:
        return self._tags.argument_end.is_in(end) or end == f"</{self._key}>"

    def _tag_after(self, end: str) -> Reading[str | None]:
        """Return the tag behind a possible end of a value; None if `end` is part of the value."""
        tags, bare = self._tags, end.lstrip()
        if not self._closes_argument(bare):
            return (yield from self._outer_end(bare)) if tags.is_call_or_wrapper_end(bare) else None
        tag = yield from self._block.match(tags.after_argument)
        tag = tag or (yield from self._match_element(self._block.name))
        if not tag:
            self.over = self._block.ends_within(tags.after_argument)
            if not self.over:
                return None
        self._unsaid.append(tag)
        self.note_spelling(tags.argument_end, bare)
        return tag

    def _outer_end(self, end: str) -> Reading[str | None]:
        """Return the end of the call or wrapper in a value, if a call or an end follows it."""
        tags = self._tags
        after = tags.after_call if tags.call_end.is_in(end) else tags.after_wrapper
        follows = yield from self._block.match(after)
        self._unsaid.append(follows)
        if not follows and not self._block.ends_within(after):
            return None
        self.follows = follows
        # At the end of the text it is not certain: more text might show that the tag is quoted.
        self.sure = bool(follows)
        return end
