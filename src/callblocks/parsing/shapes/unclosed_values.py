"""Values in tags whose tags are not all there, taken apart when a call is over.

    <parameter=a>1<parameter=b>2</parameter>                        a is 1, b is 2
    <parameter=a>1</parameter> and <parameter=b>2</parameter>       a is 1, b is 2, "and" is stray
    <parameter=a>see <parameter=x>1</parameter> there</parameter>   a quotes a tag

A value may quote the very tags that it stands in, as a file about them does. What counts:

- An opening tag whose closing tag stands in the same value is quoted.
- One that has none opens an argument if its key is a parameter of the tool that the call does not
  give elsewhere; where no tool is known, if it is any key that the call does not give elsewhere.
- A closing tag that closes no opening tag of the value ends it, if such an argument comes later,
  or if nothing else ended the value.

Any other tag without its match stays in the value, and a problem says so.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from callblocks.model.specs import ToolSpec
from callblocks.parsing.arguments import may_have
from callblocks.parsing.line_ends import without_line_end

if TYPE_CHECKING:
    from callblocks.parsing.shapes.xml_parameters import XmlParameters

__all__ = ("Value", "has_lone_bracket", "is_balanced", "part_values", "unmatched", "unmatched_tags")

_TAG = re.compile(r"<[^<>]*>")
_LONE_BRACKET = re.compile(r"\A>\r?\n|\n<\Z")


class Value(NamedTuple):
    """A text with its key and its opening tag; whether a closing tag of its own ended it."""

    key: str
    opening: str
    text: str
    is_closed: bool


class _Mark(NamedTuple):
    """A tag in a value: where it stands, and its key if it opens an argument."""

    start: int
    end: int
    key: str
    opening: str


def part_values(
    values: Sequence[Value], shape: XmlParameters, tool: ToolSpec | None
) -> tuple[list[Value], list[tuple[str, str]]]:
    """All values that were meant, in order, and what was wrong with their tags."""
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
    """Whether a value holds some of the tags that only together open or close an argument.

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
    """Whether a value begins or ends with a line that is nothing but the bracket of a tag."""
    return _LONE_BRACKET.search(text) is not None


def is_balanced(key: str, text: str) -> bool:
    """Whether the tags in a value that are named as its key match: `<path>` and `</path>`."""
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
        """Part one value where it must be."""
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
        """Keep a value that another tag than its own ended, or that has text behind its own."""
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
        """The opening tags that nothing in the text closes, and the closing tags of none in it."""
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
    """Take the closing tags that stand before a place; give the last of them."""
    found = None
    while closings and closings[0].start < before:
        found = closings.popleft()
    return found
