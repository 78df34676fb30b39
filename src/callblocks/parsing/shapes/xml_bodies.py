"""Bodies between the tags of a call that are not rows of arguments: JSON, or text."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

from callblocks.model.specs import ToolSpec
from callblocks.parsing.block import Block
from callblocks.parsing.codes import GENERAL_CODES
from callblocks.parsing.json_scan import JsonScan, ScanState
from callblocks.parsing.markers import Markers
from callblocks.parsing.shapes.bad_body import BadBody
from callblocks.parsing.shapes.inputs import read_input
from callblocks.parsing.stage import Reading

__all__ = ("Input", "JsonBody", "ReadsBodies", "TextBody")

# The input of a call, and its problems, each a code and a detail.
Input: TypeAlias = tuple[dict[str, Any], list[tuple[str, str]]]


class ReadsBodies(Protocol):
    """A reader for the complete body of a call."""

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


class TextBody:
    """A text that the shape reads when it is complete.

    A closing tag in it counts if the body before it is complete, or if nothing follows it.
    """

    def __init__(self, block: Block, shape: ReadsBodies, ends: Markers, blanks: str) -> None:
        self._block, self._shape, self._ends = block, shape, ends
        self._parts = [blanks]
        self.is_open = False
        self.is_sure = True

    def read(self) -> Reading[str]:
        """Read up to the tag that ends the call; return it."""
        block = self._block
        while True:
            text, end = yield from block.stream(self._ends)
            tool, is_all = block.stage.tools.get(block.name), len(self._parts) == 1
            last = self._parts[0] + text if is_all else text
            is_whole = self._shape.is_whole_body(last, tool, is_all=is_all)
            self._parts.append(text)
            if is_whole or not end:
                self.is_open = not is_whole
                return end
            first = len(block.taken)
            if not (yield from block.peek()):
                self.is_sure = False
                return end
            rest = end + "".join(block.taken[first:])
            self._parts.append(rest)
            block.input(rest)

    @property
    def text(self) -> str:
        """The whole body, as written."""
        return "".join(self._parts)

    def value(self, tool: ToolSpec | None) -> Input:
        """Return the input that the shape reads from the body."""
        return self._shape.read_body(self.text, tool, self._block.stage.limits.depth)
