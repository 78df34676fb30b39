"""The reader of a row of Python calls: `[f(a=1), g()]`, or one on each line.

A call starts at its name and bracket, and the text in the brackets is its input. It is emitted when
the text behind it is known, so the last call owns the end of the row.

A broken call must not cost the others. If its brackets still show where it ends, and a comma, a
line end or the end of the row follows, the next call is read (`_skip`). Otherwise the rest of the
row belongs to it (`_broken`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from callblocks.core.specs import ToolSpec
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.ids import GENERAL_CODES
from callblocks.parsing.engine.markers import Markers, Shape
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.readers.announce import Telling
from callblocks.parsing.repair import PythonBrackets, escape_quotes
from callblocks.parsing.values.python_values import Arguments, PythonScan, read_arguments
from callblocks.parsing.values.strict_json import ScanState

__all__ = ("NAME", "NAME_ATOMS", "PythonRow", "PythonRowReader")

_BLANKS = "[ \\t\\r\\n]{0,100}"
# A call that is no Python is searched for its end only so far: if it is not found, the text is
# returned, and the search would repeat for each call.
_MOST = 300  # characters that are looked through for the end of a call that is no Python
NAME_ATOMS = ("[A-Za-z_]", r"[\w.-]{0,200}", r"\(")
NAME = Markers(Shape(NAME_ATOMS), what="a name and `(`")
_GENERAL = {"arguments": "arguments-not-python", "row": "stray-text"}


class PythonRow:
    """The syntax of a row: a list in brackets, or lines.

    `closing` and the markers `beside` it end the row; `stops` end a row that broke.
    """

    def __init__(
        self, closing: str, *stops: str, in_list: bool = True, beside: Sequence[str] = ()
    ) -> None:
        self.closing = closing
        self.in_list = in_list
        self.closers = Markers(closing, *beside)
        self.ends = Markers(closing, *stops)
        self.follows = Markers(
            *(Shape((_BLANKS, *map(re.escape, one))) for one in (closing, *beside)),
            Shape((_BLANKS, ",")),
            Shape((_BLANKS, r"\]")) if in_list else Shape(("[ \\t]{0,100}", "\\r?", "\\n")),
        )


class PythonRowReader:
    """A reader of the row at the current offset; codes begin with the dialect's name.

    `known` are arguments that were parsed before, by their text. `repair` is the code of a repair
    that each call needed; with it the other codes are general ones.
    """

    def __init__(
        self,
        block: Block,
        row: PythonRow,
        known: dict[str, Arguments] | None = None,
        repair: str = "",
    ) -> None:
        self.block = block
        self.row = row
        self._known = known or {}
        self._repair = {repair: GENERAL_CODES[repair]} if repair else {}
        self._telling = Telling(block)
        self._ended = False
        self._parted = True
        self._since = self._end = block.start

    def read(self, name: str = "") -> Reading[Refused | None]:
        """Read the row behind its bracket; `name` is set if a call's bracket was consumed."""
        yield from self.block.peek()
        name = name or (yield from self.block.match(NAME))
        if not name:
            return self.block.refuse()
        while name:
            if not (yield from self._call(name)):
                return None
            yield from self.block.peek()
            name = "" if self._ended else (yield from self.block.match(NAME))
            if name and not self._parted:
                if self.block.stage.strict:
                    break
                self.block.problem("repaired-commas", "a comma is missing")
        if not self._ended:
            return (yield from self._rest())
        if self._end < self.block.offset:
            self.block.give_back(self._end)
        return None

    def _call(self, name: str) -> Reading[bool]:
        """Read one call and its tail; return False if the row ended with it."""
        # Three outcomes: the scan stops behind the closing bracket; it breaks, but the brackets
        # still delimit the call (`_skip`), and the row goes on; it breaks for good (`_broken`), and
        # the row ends with this call.
        block, self._since = self.block, self._end
        block.started(name[:-1], end=block.offset - 1)
        block.input("(")
        mark, scan = len(block.taken), PythonScan(block.stage.limits.depth)
        scan.feed("(")
        yield from block.consume(scan, live=True)
        text = "(" + "".join(block.taken[mark:])
        if scan.too_deep or scan.state is not ScanState.STOPPED:
            whole = yield from self._skip(text)
            if not whole or scan.too_deep:
                yield from self._broken(scan, text)
                return False
            yield from self._tail()
            self._say_broken(whole)
            return True
        yield from self._tail()
        self._say(text, {})
        return True

    def _say(self, text: str, repairs: Mapping[str, str]) -> None:
        block = self.block
        try:
            given = self._known.pop(text, None) or read_arguments(text, strict=block.stage.strict)
        except ValueError as error:
            return self._bad("arguments", str(error))
        value, problems = _bound(given, block.stage.tools.get(block.name))
        written = partial(self._telling.slice, self._since, self._end)
        block.ready(value, size=len(text), end=self._end, text=written)
        for code, detail in {**self._repair, **given.repairs, **repairs, **problems}.items():
            block.problem(code, detail, (self._since, self._end))
        return None

    def _bad(self, code: str, detail: str) -> None:
        own = _GENERAL.get(code, code) if self._repair else f"{self.block.dialect}.{code}"
        name = code if code.startswith("too-") else own
        written = self._telling.slice(self._since, self._end)
        self.block.malformed(name, detail, end=self._end, text=written)

    def _tail(self) -> Reading[None]:
        """Consume the tail of a call: a comma, or the end of the row."""
        block = self.block
        self._end, self._parted = block.offset, not self.row.in_list
        char = yield from block.peek()
        if char == "," or (char == ";" and not block.stage.strict):
            # A semicolon parts statements. In a list it stands for a comma.
            block.step()
            self._end, self._parted = block.offset, self._parted or char == ","
            char = yield from block.peek()
        if char == "]" and self.row.in_list:
            block.step()
            self._end, self._ended = block.offset, True
            char = yield from block.peek()
        if (yield from block.match(self.row.closers)):
            self._end, self._ended = block.offset, True

    def _skip(self, text: str) -> Reading[str]:
        """Consume a call that is no Python up to its end; return its arguments, or `""`.

        Nothing is consumed if its brackets do not close within `_MOST` characters, or if the text
        behind them belongs to no row.
        """
        block, start = self.block, self.block.offset
        brackets = PythonBrackets(_MOST + len(text))
        brackets.feed(text)
        if brackets.is_closed:
            return ""
        mark = len(block.taken)
        yield from block.consume(brackets)
        rest = "".join(block.taken[mark:])
        end = block.offset
        if brackets.is_closed and (yield from block.stands(self.row.follows)):
            block.input(rest, end=end)
            return text + rest
        block.give_back(start)
        return ""

    def _say_broken(self, text: str) -> None:
        """Emit a call whose arguments are no Python, repaired or as malformed."""
        whole = "" if self.block.stage.strict else _mended(text)
        if not whole:
            return self._bad("arguments", "they are no Python")
        return self._say(whole, {"repaired-strings": "quotes stand in a string as they are"})

    def _broken(self, scan: PythonScan, text: str) -> Reading[None]:
        """Emit a call whose arguments break off, with the text up to the closing marker."""
        block, stage = self.block, self.block.stage
        marker = yield from block.match(self.row.closers)
        here, rest = marker, ""
        if not marker:
            rest, marker = yield from block.stream(self.row.ends)
            if marker != self.row.closing:
                block.give_back(block.offset - len(marker))
                marker = ""
        self._end = block.offset
        if scan.too_deep:
            return self._bad("too-deep", f"more than {stage.limits.depth} levels")
        whole = text + scan.closing if here else _mended(text + rest)
        if stage.strict or not marker or not whole:
            return self._bad("arguments", "they are not closed, or no Python")
        if here:
            return self._say(whole, {"repaired-closing": f"{scan.closing!r} is missing"})
        return self._say(whole, {"repaired-strings": "quotes stand in a string as they are"})

    def _rest(self) -> Reading[None]:
        """Emit text behind a call that is no call as malformed, if the row is closed later."""
        block, start = self.block, self._end
        block.give_back(start)
        _, marker = yield from block.until(self.row.ends)
        if marker != self.row.closing:
            return block.give_back(start)
        self._since, self._end = start, block.offset
        return self._bad("row", "it is no call")


def _mended(text: str) -> str:
    """Return the arguments with inner quotes escaped, if that completes them; else `""`."""
    escaped, scan = escape_quotes(text), PythonScan()
    end = scan.feed(escaped)
    is_whole = scan.state is ScanState.STOPPED and escaped[end:].strip() in ("", "]")
    return escaped[:end] if is_whole else ""


def _bound(given: Arguments, tool: ToolSpec | None) -> tuple[dict[str, Any], dict[str, str]]:
    """Bind positional values to the parameters without a value, in order."""
    if not given.by_place:
        return given.by_name, {}
    free = [name for name in tool.properties if name not in given.by_name] if tool else []
    if len(given.by_place) > len(free):
        value = {"args": given.by_place, **given.by_name}
        return value, {"unbound-arguments": "it is not known what they are for"}
    named = dict(zip(free, given.by_place, strict=False))
    return {**named, **given.by_name}, {"positional-arguments": f"bound to {', '.join(named)}"}
