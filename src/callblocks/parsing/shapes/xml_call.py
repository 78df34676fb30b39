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
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeAlias

from callblocks.core.specs import ToolSpec
from callblocks.parsing.engine.block import Block
from callblocks.parsing.engine.ids import GENERAL_CODES
from callblocks.parsing.engine.markers import Markers, Shape, without_line_end
from callblocks.parsing.engine.openers import TURN_ENDS
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.readers.announce import BadBody, read_input
from callblocks.parsing.readers.tags import BLANKS, Tag, literal
from callblocks.parsing.values.strict_json import JsonScan, ScanState
from callblocks.parsing.values.typed import may_have

if TYPE_CHECKING:
    from callblocks.parsing.shapes.xml_parameters import XmlParameters

__all__ = (
    "Input",
    "JsonBody",
    "ReadsBodies",
    "TextBody",
    "Value",
    "XmlCall",
    "has_lone_bracket",
    "is_balanced",
    "part_values",
    "unmatched",
    "unmatched_tags",
)

# --- Values with missing tags, which are split when a call is over ---
#
#     <parameter=a>1<parameter=b>2</parameter>                        a is 1, b is 2
#     <parameter=a>1</parameter> and <parameter=b>2</parameter>       a is 1, b is 2, "and" is stray
#     <parameter=a>see <parameter=x>1</parameter> there</parameter>   a quotes a tag
#
# A value may quote the dialect's own tags, as a file about them does. The rules:
#
# - An opening tag whose closing tag stands in the same value is quoted.
# - An opening tag without one opens an argument if its key is a parameter of the tool that the call
#   has nowhere else; if the tool is not declared, any such key counts.
# - A closing tag that closes no opening tag of the value ends the value, if such an argument comes
#   later, or if nothing else ended the value.
#
# Any other unmatched tag stays in the value, and is reported.

_TAG = re.compile(r"<[^<>]*>")


class Value(NamedTuple):
    """A text with its key and its opening tag; `is_closed` if a closing tag of its own ended it."""

    key: str
    opening: str
    text: str
    is_closed: bool


class _Mark(NamedTuple):
    """A tag in a value: its span, and its key if it opens an argument."""

    start: int
    end: int
    key: str
    opening: str


def part_values(
    values: Sequence[Value], shape: XmlParameters, tool: ToolSpec | None
) -> tuple[list[Value], list[tuple[str, str]]]:
    """Split values with missing tags; return all values in order, and the repairs."""
    parting = _Parting(values, shape, tool)
    for value in values:
        parting.take(value)
    return parting.values, parting.repairs


def unmatched_tags(values: Sequence[Value], shape: XmlParameters) -> list[tuple[str, str]]:
    """Return a problem for each value that holds a tag of an argument without its match."""
    parting = _Parting((), shape, None)
    return [
        unmatched(value.key)
        for value in values
        if not shape.is_quoted(value.text)
        and (
            any(parting.marks(value.text))
            or not is_balanced(value.key, value.text)
            or _has_parts(value, shape)
        )
    ]


def _has_parts(value: Value, shape: XmlParameters) -> bool:
    """Return whether a value holds a part of the tags that together open or close an argument.

    A bracket that is doubled leaves one on a line of its own, beside the tag.
    """
    text = value.text
    if has_lone_bracket(text):
        return True
    if "<" not in text:
        return False
    rows = (_TAG.findall(value.opening), _TAG.findall(shape.tags.argument_end.name))
    parts = [tag for row in rows if len(row) > 1 for tag in row]
    rest = shape.tags.argument_marks.sub("", text) if parts else ""
    return any(tag in rest for tag in parts)


def has_lone_bracket(text: str) -> bool:
    """Return whether the first or last line of a value is nothing but the bracket of a tag."""
    return text.startswith((">\n", ">\r\n")) or text.endswith("\n<")


def is_balanced(key: str, text: str) -> bool:
    """Return whether tags with the name of the key match in a value: `<path>` and `</path>`."""
    return text.count(f"<{key}>") == text.count(f"</{key}>")


def unmatched(key: str) -> tuple[str, str]:
    """Return the problem of a value that holds a tag without its match."""
    return "unmatched-tags", f"the value of {key!r:.60} holds a tag without its match"


class _Parting:
    def __init__(
        self, values: Sequence[Value], shape: XmlParameters, tool: ToolSpec | None
    ) -> None:
        self.values: list[Value] = []
        self.repairs: list[tuple[str, str]] = []
        self._shape, self._tool = shape, tool
        self._opens, self._closes = shape.tags.argument, shape.tags.argument_end
        self._given = {value.key for value in values}

    def take(self, value: Value) -> None:
        """Split one value at the openings of arguments that the call lacks."""
        # `openings` and `closings` are the unmatched tags only; matched pairs are quoted text. Each
        # opening that counts ends the value before it, at the last unmatched closing tag between.
        if self._shape.is_quoted(value.text):
            return self._keep(value, value.text, value.is_closed)
        openings, closings = self.marks(value.text)
        key, opening, at = value.key, value.opening, 0
        for mark in openings:
            if mark.key in self._given or not may_have(self._tool, mark.key):
                continue
            self._given.add(mark.key)
            end = _last(closings, mark.start)
            self._part(Value(key, opening, value.text[at : mark.start], False), at, end)
            key, opening, at = mark.key, mark.opening, mark.end
        rest = Value(key, opening, value.text[at:], value.is_closed)
        if value.is_closed:
            return self._keep(rest, rest.text, True)
        return self._part(rest, at, _last(closings, len(value.text)))

    def _part(self, value: Value, at: int, end: _Mark | None) -> None:
        """Keep a value that ends at `end`, or, without it, before the next opening tag."""
        if end is None:
            return self._keep(value, without_line_end(value.text), False)
        stray = value.text[end.end - at :].strip()
        if stray:
            self.repairs.append(("stray-text", f"{stray!r:.60}"))
        return self._keep(value, value.text[: end.start - at], True)

    def _keep(self, value: Value, text: str, is_closed: bool) -> None:
        if not is_closed:
            self.repairs.append(("missing-closer", f"{self._closes.name} is missing"))
        self.values.append(value._replace(text=text))

    def marks(self, text: str) -> tuple[list[_Mark], deque[_Mark]]:
        """Return the unmatched opening tags and the unmatched closing tags of a text."""
        open_: list[_Mark] = []
        closings: deque[_Mark] = deque()
        for mark in self._tags_in(text):
            if mark.opening:
                open_.append(mark)
            elif open_:
                open_.pop()
            else:
                closings.append(mark)
        return open_, closings

    def _tags_in(self, text: str) -> Iterator[_Mark]:
        for hit in self._shape.tags.argument_marks.finditer(text):
            tag = hit[0]
            is_opening = self._opens.is_in(tag)
            if is_opening and tag.endswith("/>"):
                continue
            key = self._shape.key_in(tag) if is_opening else ""
            yield _Mark(hit.start(), hit.end(), key, tag if is_opening else "")


def _last(closings: deque[_Mark], before: int) -> _Mark | None:
    """Remove the closing tags before a position, and return the last of them."""
    found = None
    while closings and closings[0].start < before:
        found = closings.popleft()
    return found


# --- Bodies between the tags of a call that are not rows of arguments: JSON, or text ---

# The input of a call, and its problems, each a code and a detail.
Input: TypeAlias = tuple[dict[str, Any], list[tuple[str, str]]]


class ReadsBodies(Protocol):
    """A reader for the complete body of a call.

    `may_lack_ends`: parts of a body have closing tags, which may be missing.
    """

    may_lack_ends: ClassVar[bool]

    def may_begin(self, blanks: str, char: str) -> bool:
        """Return whether a body may begin with these blanks and `char` (`""` at the end)."""
        ...

    def is_whole_body(self, text: str, tool: ToolSpec | None, *, is_all: bool) -> bool:
        """Return whether a body with this last part can end here; `is_all` if it is all of it."""
        ...

    def read_body(self, body: str, tool: ToolSpec | None, depth: int) -> Input:
        """Return the input that a body stands for, or raise `BadBody`."""
        ...


class JsonBody:
    """A JSON object whose first brace was consumed. A tag inside of its strings is text.

    `is_open`: the text ended within it.
    """

    is_sure = True
    may_go_on = False

    def __init__(self, block: Block, ends: Markers) -> None:
        self._block, self._ends = block, ends
        self._scan = JsonScan(block.stage.limits.depth)
        self._parts: list[str] = []

        self.is_open = self._ended = False

    def read(self) -> Reading[str]:
        """Read up to the tag that ends the call; return it."""
        self._take("{")
        while True:
            text, end = yield from self._block.stream(self._ends)
            self._take(text)
            if not end or not self._scan.in_string:
                break
            self._take(end)
            self._block.input(end)
        self._ended = bool(end)
        self.is_open = not end and self._scan.state is ScanState.OPEN
        return end

    def value(self, tool: ToolSpec | None) -> Input:
        """Return the object, or raise `BadBody`."""
        stage, text = self._block.stage, "".join(self._parts)
        try:
            # Text that was cut off is not repaired: more of it might have given another value.
            strict = stage.strict or not self._ended
            value, codes = read_input(text, ended=True, strict=strict, depth=stage.limits.depth)
        except ValueError as error:
            raise BadBody("arguments-not-json", str(error)) from error
        return value, [(code, GENERAL_CODES[code]) for code in codes]

    def _take(self, text: str) -> None:
        self._parts.append(text)
        self._scan.feed(text)


class CallTags(NamedTuple):
    """The tags that open a call of a tool."""

    block: Block
    tags: Markers
    is_call: Callable[[str], bool]

    def are_in(self, text: str) -> bool:
        """Return whether a text has such a tag."""
        return any(self.is_call(hit[0]) for hit in self.tags.final.finditer(text))

    def stand_here(self) -> Reading[bool]:
        """Return whether such a tag stands at the current offset."""
        tag = yield from self.block.match(self.tags)
        self.block.give_back(self.block.offset - len(tag))
        return bool(tag) and self.is_call(tag)


class _EarlyEnd(NamedTuple):
    """A closing tag behind a body that is not complete: the parts before it, and its offset."""

    part: int
    offset: int
    end: str


class TextBody:
    """A text that the shape reads when it is complete.

    A closing tag in it counts if the body before it is complete, if nothing follows it, or if the
    next call does: then the body lacks its last end tag. Behind another closing tag the text is
    held back. If no call is complete up to the end of the text, or another begins before, that tag
    was the end; a body that quotes its own opening tag is never ended so.
    """

    def __init__(
        self, block: Block, shape: ReadsBodies, ends: Markers, blanks: str, calls: CallTags
    ) -> None:
        self._block, self._shape, self._ends = block, shape, ends
        self._parts = [blanks]
        self._calls = calls
        self._early: _EarlyEnd | None = None
        self._may_lack_end = shape.may_lack_ends and not block.stage.strict
        # True if the call may go on behind the tag that ended it.
        self.may_go_on = False
        self.is_open = False
        self.is_sure = True

    def read(self) -> Reading[str]:
        """Read up to the tag that ends the call; return it."""
        block = self._block
        while True:
            held = self._early
            text, end = yield from (block.until if held else block.stream)(self._ends)
            tool, is_all = block.stage.tools.get(block.name), len(self._parts) == 1
            last = self._parts[0] + text if is_all else text
            is_whole = self._shape.is_whole_body(last, tool, is_all=is_all)
            self._parts.append(text)
            if held and (not end or (is_whole and self._opens(held))):
                return self._go_back(held, is_over=not end)
            if is_whole or not end:
                self._emit_held(block.offset - len(end))
                self.is_open = not is_whole
                return end
            at, first = block.offset, len(block.taken)
            if not (yield from block.peek()):
                self._emit_held(at - len(end))
                self.is_sure = False
                return end
            rest = end + "".join(block.taken[first:])
            if held is None and self._may_lack_end:
                early = _EarlyEnd(len(self._parts), at, end)
                is_known = block.stage.unclosed.get(end, at + 1) <= at
                # A body that quotes a call is never ended early, so it is searched only once.
                self._may_lack_end = not self._calls.are_in(self.text)
                if self._may_lack_end and (is_known or (yield from self._calls.stand_here())):
                    self.may_go_on = is_known
                    return self._go_back(early, is_over=False)
                self._early = early if self._may_lack_end else None
            self._parts.append(rest)
            if self._early is None:
                block.input(rest)

    def _opens(self, early: _EarlyEnd) -> bool:
        """Return whether a call begins between an end that was held back and the current one."""
        return self._calls.are_in("".join(self._parts[early.part :]))

    def _go_back(self, early: _EarlyEnd, *, is_over: bool) -> str:
        """End the body at a closing tag that was held back; the text behind it is read again."""
        if is_over:
            self.may_go_on = True
            self._block.stage.unclosed.setdefault(early.end, early.offset)
        del self._parts[early.part :]
        self._block.give_back(early.offset)
        return early.end

    def _emit_held(self, end: int) -> None:
        """Emit the text that was held back, which ends at `end`."""
        if self._early is not None:
            self._block.input("".join(self._parts[self._early.part :]), end=end)

    @property
    def text(self) -> str:
        """The whole body, as written."""
        return "".join(self._parts)

    def value(self, tool: ToolSpec | None) -> Input:
        """Return the input that the shape reads from the body."""
        return self._shape.read_body(self.text, tool, self._block.stage.limits.depth)


# --- One call in tags while it is read: its arguments, or its body ---

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
    """The end of a call inside of a value: the index of its part, and the offset behind it.

    `is_quoted`: the value before it has the opening tag of a call.
    """

    part: int
    offset: int
    is_quoted: bool


class XmlCall:
    """A reader of one call.

    `repairs`: the repairs, each a code and a detail.
    `over`: the text ended before the call did; `inside`: it ended within a value.
    `sure`: the end of the call is certain.
    `may_go_on`: its end may be text in a value that is cut off.
    `follows`: the tag behind its end, if that had to be read already.
    `dead`: if this is no call, no other call begins before this offset.
    `in_wrapper`: the tags around it make certain that a tool is called.
    """

    def __init__(self, shape: XmlParameters, block: Block, *, in_wrapper: bool = False) -> None:
        self._shape, self._block, self._tags = shape, block, shape.tags
        self.end = shape.tags.call_end
        self.repairs: list[tuple[str, str]] = []
        self.follows: str | None = None
        self.over = self.inside = self.may_go_on = False
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
        self._body = TextBody(block, bodies, ends, blanks, self._call_tags)
        return (yield from self._read_body(self._body))

    @property
    def _call_tags(self) -> CallTags:
        shape, tools = self._shape, self._block.stage.tools

        def is_call(tag: str) -> bool:
            name = shape.name_in(tag)
            return bool(name) and shape.is_tool(name, tools)

        return CallTags(self._block, self._tags.call.markers, is_call)

    def value(self, tool: ToolSpec | None) -> Input:
        """Return the input of the call and its problems, or raise `BadBody`."""
        if self._fault:
            raise self._fault
        if self._body is not None:
            return self._body.value(tool)
        # Most values hold no tag and no part of one: there is nothing to split or to report.
        values, is_plain = self._values, all(map(self._is_plain, self._values))
        if not is_plain:
            values, repairs = part_values(values, self._shape, tool)
            self.repairs += repairs
        written: dict[str, list[tuple[str, str]]] = {}
        for one in values:
            written.setdefault(one.key, []).append((one.opening, one.text))
        value, problems = self._shape.typed_arguments(written, tool)
        return value, problems if is_plain else [*problems, *unmatched_tags(values, self._shape)]

    def _is_plain(self, value: Value) -> bool:
        """Return whether a value is closed and holds nothing of a tag."""
        _, _, text, is_closed = value
        has_bracket = "<" in text or text.startswith(">")
        return is_closed and not has_bracket and not self._tags.argument_marks.search(text)

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
        self.may_go_on = body.may_go_on
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
            if outer and self._is_unclosed(outer, end, parts):
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
        is_quoted = self._next_openers.search("".join(parts[:-1])) is not None
        return _OuterEnd(len(parts) - 1, self._block.offset, is_quoted)

    def _is_unclosed(self, outer: _OuterEnd, end: str, parts: list[str]) -> bool:
        """Return whether a value ends at the end of the call in it, which is no quotation then.

        Either the text is over and has no closing tag, or the last part begins the next call.
        """
        if not end and not self._is_closed_in("".join(parts)):
            # The search reached the end of the text, so no later value is closed either. The next
            # one need not search again.
            name = self._tags.argument_end.name
            self._block.stage.unclosed.setdefault(name, outer.offset)
            return True
        return not outer.is_quoted and self._begins_next_call(parts[-1])

    def _begins_next_call(self, text: str) -> bool:
        """Return whether a call of a declared tool begins in a text behind the end of this call."""
        tools = self._block.stage.tools
        hits = self._next_openers.finditer(text) if tools else ()
        return any(self._shape.name_in(self._tags.bare(hit[0])) in tools for hit in hits)

    @property
    def _next_openers(self) -> re.Pattern[str]:
        """The opening tags of the next call, with its wrapper if it has one."""
        tags = self._tags
        return (tags.after_wrapper if tags.has_wrapper else tags.call.markers).final

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
