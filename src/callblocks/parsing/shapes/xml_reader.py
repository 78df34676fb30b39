"""Reads one block of calls in tags: a wrapper, calls in it, and each call's arguments.

What a value holds is text, so a closing tag in it is one only if the next tag tells: after
`</parameter>` comes another parameter or the end of the call, else it belongs to the value. Where
a closing tag is missing, the tag that comes next closes what is open, with a problem.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from callblocks.parsing.block import Block, Refused
from callblocks.parsing.json_scan import JsonScan, ScanState
from callblocks.parsing.json_value import read_json
from callblocks.parsing.markers import Markers
from callblocks.parsing.shapes.tags import Tag
from callblocks.parsing.stage import Reading

if TYPE_CHECKING:
    from callblocks.parsing.shapes.xml_parameters import XmlParameters

__all__ = ("XmlReader",)

_CDATA = re.compile(r"\s*<!\[CDATA\[")
_CDATA_END = re.compile(r"\]\]>\s*\Z")


class XmlReader:
    """The reading of one block; `repairs` are what was wrong with the call that is open."""

    def __init__(self, shape: XmlParameters, block: Block) -> None:
        self._shape, self._block, self._tags = shape, block, shape.tags
        wrapper = self._tags.wrapper
        self._wrapped = wrapper is not None and wrapper.is_in(block.opening)
        self._repairs: list[tuple[str, str]] = []
        self._written: dict[str, tuple[str, str]] = {}
        self._fault: tuple[str, str] | None = None
        self._json: list[str] = []
        self._unsaid: list[str] = []
        self._key = ""
        self._first_part = 0
        self._begin = block.start
        self._follows: str | None = None
        self._over = self._inside = self._lost = False

    def read(self) -> Reading[Refused | None]:
        """Read all calls of the block."""
        block, opening = self._block, self._block.opening
        if self._wrapped:
            self._note_spelling(self._tags.wrapper, opening)
            opening = yield from block.match(self._tags.first)
            if not opening:
                return (yield from self._read_no_call())
        elif self._tags.wrapper and block.stage.strict:
            return block.refuse()
        elif self._tags.wrapper:
            self._repair("missing-wrapper", f"{opening!r:.60} stands outside of its wrapper")
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
        """Read a call whose opening tag was taken; return the next one's, or that it was none."""
        block, stop = self._block, self._block.offset
        bare = self._tags.bare(opening)
        self._note_spelling(self._tags.call, bare)
        name = self._shape.name_in(bare)
        is_whole = self._shape.is_whole(opening)
        tag = "" if is_whole else (yield from block.match(self._tags.inside))
        over = not (tag or is_whole) and block.ends_within(self._tags.inside)
        if not name or not (tag or is_whole or over):
            return "", self._give_up(stop - len(opening))
        block.started(name, end=stop)
        if over:
            self._over = True
        elif not is_whole:
            self._unsaid = [tag]
            if tag.endswith("{"):
                tag = yield from self._read_json()
            while self._tags.argument.is_in(tag.lstrip()):
                tag = yield from self._read_argument(tag.lstrip())
        return (yield from self._close(tag, stop)), None

    def _give_up(self, start: int) -> Refused | None:
        """This is no call: the first one of a block makes it no block."""
        block = self._block
        if block.start == self._begin:
            return block.refuse()
        block.give_back(start)
        return None

    def _read_argument(self, opening: str) -> Reading[str]:
        """Read an argument whose opening tag was taken; return the tag that follows."""
        block = self._block
        self._note_spelling(self._tags.argument, opening)
        key = self._key = self._shape.key_in(opening)
        if key in self._written:
            self._fault = "repeated-argument", f"{key!r:.60} is given twice"
        block.input("".join(self._unsaid))
        parts: list[str] = []
        while True:
            text, end = yield from block.stream(self._tags.value_ends)
            parts.append(text)
            self._unsaid, self._lost = [end], False
            if not end:
                self._over = self._inside = True
                return ""
            tag = None if self._in_cdata(parts) else (yield from self._tag_after(end))
            if tag is not None:
                value = "".join(parts)
                # A line end before the tag that closed it in its stead belongs to that tag.
                self._written[key] = opening, value.removesuffix("\n") if self._lost else value
                return tag
            parts.append(end)
            block.input(end)

    def _in_cdata(self, parts: list[str]) -> bool:
        """Whether a value has opened `<![CDATA[` and not closed it."""
        opened = self._shape.cdata and _CDATA.match(parts[0])
        return bool(opened) and not _CDATA_END.search(parts[-1])

    def _tag_after(self, end: str) -> Reading[str | None]:
        """What follows a value that `end` may have ended; None if it belongs to the value."""
        tags, bare = self._tags, end.lstrip()
        if tags.argument.is_in(bare):
            self._lost = bare == end
            return self._next_argument(bare)
        if tags.is_call_or_wrapper_end(bare):
            return (yield from self._outer_end(bare))
        if not tags.argument_end.is_in(bare) and bare != f"</{self._key}>":
            return None
        tag = yield from self._match(tags.after_argument)
        self._over = not tag and self._block.ends_within(tags.after_argument)
        if not tag and not self._over:
            return None
        self._note_spelling(tags.argument_end, bare)
        return tag

    def _read_json(self) -> Reading[str]:
        """Read arguments that are one JSON object; return the tag that ends the call."""
        scan, (opening,) = JsonScan(self._block.stage.limits.depth), self._unsaid
        self._block.input(opening)
        self._json, text = [], "{"
        while True:
            self._json.append(text)
            scan.feed(text)
            text, end = yield from self._block.stream(self._tags.call_ends)
            self._json.append(text)
            scan.feed(text)
            self._unsaid = [end]
            # In a JSON string that is open, an end is text.
            if scan.state is not ScanState.OPEN or not end:
                self._over = not end
                self._inside = scan.state is ScanState.OPEN
                return end
            self._block.input(end)
            text = end

    def _next_argument(self, opening: str) -> str | None:
        """An opening tag in a value is one if its key is still to come."""
        tool = self._block.stage.tools.get(self._block.name)
        key = self._shape.key_in(opening)
        if key in self._written or (tool and key not in tool.properties):
            return None
        self._missing(self._tags.argument_end)
        return opening

    def _outer_end(self, end: str) -> Reading[str | None]:
        """The end of the call, or of the wrapper, in a value: one if a call or an end follows."""
        tags = self._tags
        after = tags.after_call if tags.call_end.is_in(end) else tags.after_wrapper
        follows = yield from self._match(after)
        if not follows and not self._block.ends_within(after):
            return None
        self._missing(tags.argument_end)
        self._follows, self._lost = follows, True
        return end

    def _close(self, tag: str, start: int) -> Reading[str]:
        """Say the call; return the opening tag of the next one, if that was taken already."""
        block, tags, follows = self._block, self._tags, self._follows
        if tags.call_end.is_in(tag.lstrip()):
            self._note_spelling(tags.call_end, tag.lstrip())
        if tags.call.is_in(tags.bare(tag)):
            follows = tag
            self._missing(tags.call_end)
        elif tags.is_wrapper_end(tag):
            self._missing(tags.call_end)
            self._note_spelling(tags.wrapper_end, tag.lstrip())
        elif follows is None and not self._over:
            follows = yield from self._read_wrapper_end()
        elif self._wrapped and not follows and not self._over:
            self._missing(tags.wrapper_end)
        opening = follows if follows and tags.call.is_in(tags.bare(follows)) else ""
        stop = block.offset - len(opening)
        self._say(start, stop)
        self._first_part, self._begin = len(block.taken) - 1, stop
        self._repairs, self._written, self._json = [], {}, []
        self._follows = self._fault = None
        return opening

    def _read_wrapper_end(self) -> Reading[str]:
        """What follows the end of a call: the end of the wrapper, or another call in it."""
        block, tags = self._block, self._tags
        if tags.wrapper is None:
            return ""
        follows = yield from block.match(tags.after_call)
        if tags.is_wrapper_end(follows):
            self._note_spelling(tags.wrapper_end, follows.lstrip())
        if self._wrapped and not follows:
            block.ends_within(tags.after_call)
            self._missing(tags.wrapper_end)
        return follows

    def _say(self, start: int, stop: int) -> None:
        block, shape = self._block, self._shape
        text = "".join(block.taken[self._first_part :])[: stop - self._begin]
        if self._inside:
            return block.malformed("truncated-call", "the text ended inside a value", stop, text)
        if self._fault:
            return block.malformed(*self._fault, stop, text)
        if self._over:
            self._missing(self._tags.call_end)
        tool = block.stage.tools.get(block.name)
        try:
            given = read_json("".join(self._json) or "{}", block.stage.limits.depth)
        except ValueError as error:
            return block.malformed("arguments-not-json", str(error), stop, text)
        value, problems = shape.typed_arguments(self._written, tool)
        repairs = [*self._repairs, *(one for one in problems if one[0].startswith("repaired-"))]
        if repairs and block.stage.strict:
            return block.malformed(*repairs[0], stop, text)
        block.ready(
            {**given, **value}, size=stop - start, ended=not self._over, end=stop, text=text
        )
        for code, detail in (*self._repairs, *problems):
            block.problem(code, detail)
        return None

    def _match(self, markers: Markers) -> Reading[str]:
        tag = yield from self._block.match(markers)
        self._unsaid.append(tag)
        return tag

    def _missing(self, tag: Tag | None) -> None:
        if tag is not None:
            self._repair("missing-closer", f"{tag.name} is missing")

    def _note_spelling(self, tag: Tag | None, text: str) -> None:
        if tag is not None and not tag.is_exact(text):
            self._repair("misspelt-tag", f"{text!r:.80} stands for {tag.name}")

    def _repair(self, code: str, detail: str) -> None:
        self._repairs.append((code, detail))
