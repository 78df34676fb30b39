"""Values with missing tags, which are split when a call is over.

    <parameter=a>1<parameter=b>2</parameter>                        a is 1, b is 2
    <parameter=a>1</parameter> and <parameter=b>2</parameter>       a is 1, b is 2, "and" is stray
    <parameter=a>see <parameter=x>1</parameter> there</parameter>   a quotes a tag

A value may quote the dialect's own tags, as a file about them does. The rules:

- An opening tag whose closing tag stands in the same value is quoted.
- An opening tag without one opens an argument if its key is a parameter of the tool that the call
  has nowhere else; if the tool is not declared, any such key counts.
- A closing tag that closes no opening tag of the value ends the value, if such an argument comes
  later, or if nothing else ended the value.

Any other unmatched tag stays in the value, and is reported.
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
