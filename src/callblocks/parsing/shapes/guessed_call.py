"""A call that only the name of a tool tells, where it is not known who wrote it.

Prose mentions such tags. So nothing is said before the closing tag has come, and what the tool's
schema demands stands before it; all else is prose. What cannot be a call is given back as soon as
the first argument shows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from callblocks.model.specs import ToolSpec
from callblocks.parsing.block import Block
from callblocks.parsing.shapes.bad_body import BadBody
from callblocks.parsing.shapes.xml_bodies import TextBody
from callblocks.parsing.shapes.xml_call import XmlCall
from callblocks.parsing.stage import Reading

if TYPE_CHECKING:
    from callblocks.parsing.shapes.element_bodies import NamedTags

__all__ = ("GuessedCall",)


class GuessedCall(XmlCall):
    """Read to its end before it is said to be one."""

    def __init__(self, shape: NamedTags, block: Block) -> None:
        super().__init__(shape, block)
        self._named = shape

    def read(self, name: str, stop: int) -> Reading[str | None]:
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
        self._body = body = TextBody(block, shape, self.end.markers, blanks)
        end = yield from self._read_body(body)
        if not (end and self.sure and self._is_of(tool)):
            self.dead = block.offset
            return None
        self._start(name, stop)
        if body.text:
            block.input(body.text, end=block.offset - len(end))
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
        """Whether the arguments are the tool's: all that it needs, and one at least if any."""
        try:
            value, problems = self.value(tool)
        except BadBody:
            return False
        known = [key for key in value if self._named.is_key(key, tool)]
        if tool and not value.keys() >= set(tool.required):
            return False
        # What else stands beside them costs no call that has all it needs.
        return bool(known) or not (value or problems)
