"""A call in a guessed dialect whose only sign is a tag with the name of a tool: `<read_file>`.

Prose mentions such tags. So nothing is emitted before the closing tag has arrived and the arguments
satisfy the tool's schema; everything else is prose. A tag is refused as soon as its first argument
shows that it is no call: `<search> finds …` waits for one character, not for a closing tag.
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
