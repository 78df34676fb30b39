"""The reader of one block of calls in tags: a wrapper, and the calls in it.

If a closing tag is missing, the next tag closes what is open, and the call gets a problem; with
`strict` such a call is malformed. Each call is read by an `XmlCall`; this class decides where one
call ends and the next begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.readers.announce import BadBody

if TYPE_CHECKING:
    from callblocks.parsing.shapes.xml_parameters import XmlParameters

__all__ = ("XmlReader",)

_REPAIRS = ("missing-closer", "stray-text", "foreign-body", "misspelt-tag")


class XmlReader:
    """A reader of one block."""

    def __init__(self, shape: XmlParameters, block: Block) -> None:
        self._shape, self._block, self._tags = shape, block, shape.tags
        self._wrapped = self._tags.wrapper.is_in(block.opening.lstrip())
        self._call = shape.reading(block, in_wrapper=self._wrapped)
        self._first_part = 0
        self._begin = block.start

    def read(self) -> Reading[Refused | None]:
        """Read all calls of the block."""
        block, opening = self._block, self._block.opening
        if self._wrapped:
            self._call.note_spelling(self._tags.wrapper, opening)
            opening = yield from block.match(self._tags.first)
            if not opening:
                return (yield from self._read_no_call())
        elif self._tags.has_wrapper and block.stage.strict:
            return block.refuse(expected="the tag that wraps calls", at=block.start)
        elif self._tags.has_wrapper:
            self._call.repair("missing-wrapper", f"{opening!r:.60} stands outside of its wrapper")
        refused: Refused | None = None
        while opening and not refused:
            opening, refused = yield from self._read_call(opening)
        return refused

    def _read_no_call(self) -> Reading[Refused | None]:
        block = self._block
        if (yield from block.match(self._tags.wrapper_ends)):
            return block.malformed("empty-calls", "there is no call in it")
        if block.rest.strip() and block.ends_within(self._tags.first):
            return block.malformed("truncated-call", "the text ended inside a tag")
        return block.refuse()

    def _read_call(self, opening: str) -> Reading[tuple[str, Refused | None]]:
        """Read a call whose opening tag was consumed; return the next one's tag, or a refusal."""
        block, stop, bare = self._block, self._block.offset, self._tags.bare(opening)
        self._call.note_spelling(self._tags.call, bare)
        name = self._shape.name_in(bare)
        if not name or not self._shape.is_tool(name, block.stage.tools):
            return "", self._give_up(stop - len(opening), "the name of a tool")
        if self._shape.is_whole(opening):
            if self._shape.form.head[0].endswith("="):
                # `<function=ls/>` is no part of the grammar; `<invoke name="ls"/>` is XML.
                self._call.repair("misspelt-tag", f"{bare!r:.80} stands for an empty call")
            tag = "" if self._call.read_whole(name, stop) else None
        else:
            tag = yield from self._call.read(name, stop)
        if tag is None:
            lacks = "a tag with what the tool requires" * self._shape.is_whole(opening)
            return "", self._give_up(stop - len(opening), lacks)
        if not self._first_part:
            self._begin = block.start
        return (yield from self._close(tag, stop)), None

    def _give_up(self, start: int, expected: str = "") -> Refused | None:
        """Give up on a call: the first one refuses the block, a later one ends it before itself."""
        block = self._block
        if block.start == self._begin:
            return block.refuse(self._call.dead, expected=expected, at=start)
        block.give_back(start)
        return None

    def _close(self, tag: str, start: int) -> Reading[str]:
        """Emit the call; return the opening tag of the next one, if that was consumed already."""
        # `tag` ended the arguments. Five cases: the end of the call; the start of the next call
        # (the end is missing); a tag of an outer frame (missing, and the tag is returned); the end
        # of the wrapper (missing); the end of the text. The call is emitted only after the wrapper
        # end was looked for, because the last call owns it.
        block, tags, call, bare = self._block, self._tags, self._call, tag.lstrip()
        follows = call.follows
        if call.end.is_in(bare):
            call.note_spelling(call.end, bare)
        elif tags.call.is_in(tags.bare(tag)):
            follows = tag
            call.missing(call.end)
        elif tags.outer.is_in(bare):
            call.missing(call.end)
            block.give_back(block.offset - len(tag))
            follows = follows or ""
        elif tags.wrapper_end.is_in(bare):
            call.missing(call.end)
            call.note_spelling(tags.wrapper_end, bare)
            follows = follows or ""
        if follows is None and not call.over:
            follows = yield from self._read_wrapper_end()
        elif self._wrapped and not follows and not call.over and call.end.is_in(bare):
            call.missing(tags.wrapper_end)
        opening = follows if follows and tags.call.is_in(tags.bare(follows)) else ""
        stop = block.offset - len(opening)
        self._say(start, stop)
        self._first_part, self._begin = len(block.taken) - 1, stop
        self._call = self._shape.reading(block, in_wrapper=self._wrapped)
        return opening

    def _read_wrapper_end(self) -> Reading[str]:
        """Read the tag behind the end of a call: the end of the wrapper, or another call in it."""
        block, tags = self._block, self._tags
        if not tags.has_wrapper:
            return ""
        follows = yield from block.match(tags.after_call)
        if self._wrapped and not follows and not block.stage.strict:
            follows = yield from self._read_stray()
        if tags.wrapper_end.is_in(follows.lstrip()):
            self._call.note_spelling(tags.wrapper_end, follows.lstrip())
            return ""
        if self._wrapped and not follows:
            block.ends_within(tags.after_call)
            self._call.missing(tags.wrapper_end)
        return follows

    def _read_stray(self) -> Reading[str]:
        """Consume a few stray words behind a call in its wrapper, and the tag behind them."""
        found = yield from self._block.match(self._tags.after_stray)
        stray, bracket, tag = found.partition("<")
        if found:
            self._call.repair("stray-text", f"{stray.strip()!r:.60}")
        return bracket + tag

    def _say(self, start: int, stop: int) -> None:
        block, call = self._block, self._call
        text = "".join(block.taken[self._first_part :])[: stop - self._begin]
        if call.inside:
            return block.malformed("truncated-call", "the text ended inside a value", stop, text)
        if call.over:
            call.missing(call.end)
        try:
            value, problems = call.value(block.stage.tools.get(block.name))
        except BadBody as bad:
            code = "truncated-call" if call.over else bad.code
            return block.malformed(code, bad.detail, stop, text)
        swallowed = call.swallowed()
        if swallowed:
            # Either the value quotes that call, or its closing tag is missing. Both are possible,
            # so the call is not marked as ended.
            detail = f"a value holds the beginning of a call of {swallowed}"
            problems = [*problems, ("missing-closer", detail)]
        found = [*call.repairs, *problems]
        repairs = [one for one in problems if one[0].startswith("repaired-") or one[0] in _REPAIRS]
        if block.stage.strict and (call.repairs or repairs):
            return block.malformed(*(*call.repairs, *repairs)[0], stop, text)
        ended = call.sure and not call.over and not swallowed
        block.ready(value, size=stop - start, ended=ended, end=stop, text=text)
        for code, detail in found:
            block.problem(code, detail)
        return None
