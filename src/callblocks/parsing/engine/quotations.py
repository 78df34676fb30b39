"""Mentions: text in the form of a call that quotes one instead of making it.

Where the dialect is guessed, a text may be *about* calls: documentation, an answer that quotes a
chat template, a diff of a parser. These signs tell a mention from a call while the text arrives:

- the opener stands right behind an opening quotation mark or an escaped line break, or begins the
  line behind an opener that does;
- it stands in `<pre>`, or in `<code>` that is closed in the same line;
- it stands in a code span that begins and ends inside its line. A span that begins a line does not
  count: small models wrap a call in backticks;
- it stands in a hunk of a diff, whose header says how many lines it has (`DiffHunks`);
- its name is no name of a tool but an expression or a placeholder (`Block.started` checks it).

None of these applies if the caller named a dialect or asked for calls in code: then each call
counts.

Most signs stand before the opener, and the scanner's lookbehind of `SIGHT` characters decides at
once. Only an open code span or `<code>` needs lookahead: whether it is closed in the same line. The
lookahead rewinds, and ends at the line end, so prose waits for at most one line.
"""

from __future__ import annotations

import re
from typing import ClassVar

from callblocks.core.events import Text
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.fences import END_OF_LINE
from callblocks.parsing.engine.markers import Markers, ends_in_code_tag, line, opens_quotation
from callblocks.parsing.engine.parse_state import ParseState, Reading

__all__ = ("DiffHunks", "is_quoted")

# Characters that may stand before the opening backtick of a code span; behind a letter or a digit a
# backtick closes one.
_LEFT_OF_SPAN = " \t([{<\"'“‘«:=,;|/*_~>-—–"
_TICKS = re.compile("`+")
_TICK_OR_END = Markers("`", "\n")
# The next opening tag ends the search, so that a line is not searched anew for each of many.
_CODE_TAG_OR_END = Markers(
    *(f"{bracket}{tag}" for tag in ("code", "kbd", "samp") for bracket in ("<", "</")), "\n"
)
# The header of a hunk with the number of its old and new lines. Six digits are enough for any real
# diff; a larger number would make prose of the rest of the text.
_HUNK = re.compile(r"@@ -\d+(?:,(\d{1,6}))? \+\d+(?:,(\d{1,6}))? @@")


def is_quoted(stage: ParseState, before: str) -> Reading[bool]:
    """Return whether the opener at the current offset is quoted; `before` is the lookbehind.

    In a possible code span, wait until the span is closed or the line ends.
    """
    # A line marker begins with its newline, and the line before may end in quoted markup:
    # `"<tool_call>` and then `{"name": …` on the next line.
    if stage.scan.text[stage.scan.pos] in "\r\n":
        return opens_quotation(before + "\n")
    if opens_quotation(before):
        return True
    if ends_in_code_tag(before):
        return (yield from _ahead_in_line(stage, _CODE_TAG_OR_END)).startswith("</")
    return _ends_in_span(before) and (yield from _ahead_in_line(stage, _TICK_OR_END)) == "`"


def _ends_in_span(before: str) -> bool:
    """Return whether a code span that begins inside the last line is still open."""
    # Counting backticks would be simpler, but the start of a long line may lie before the
    # lookbehind, so their parity is unknown. The nearest run that decides is used instead:
    # `see `x` opens (a blank on the left, none on the right), `x`. closes (a letter on the left).
    start = before.rfind("\n") + 1
    for run in reversed(list(_TICKS.finditer(before, start))):
        if run.start() == 0 or before[run.start() - 1] == "\n":
            return False
        if before[run.start() - 1] not in _LEFT_OF_SPAN:
            return False
        if before[run.end() : run.end() + 1] not in (" ", "\t"):
            return True
    return False


def _ahead_in_line(stage: ParseState, markers: Markers) -> Reading[str]:
    """Return the next of these markers; the scanner is rewound to where it was."""
    start, scan = stage.scan.offset, stage.scan
    before, fresh = scan.before, scan.fresh
    ahead = Block(stage, "code-span", "")
    _, end = yield from ahead.until(markers)
    scan.rewind(start, ahead.taken, fresh, before)
    return end


class DiffHunks:
    """A reader that makes prose of a diff's hunk: its header, and the lines that this counts."""

    name: ClassVar = "diff-hunk"
    OPENERS = (line("@@ -", indent=""),)

    def read(self, block: Block) -> Reading[Refused | None]:
        rest, end = yield from block.until(END_OF_LINE)
        header = _HUNK.match((block.marker + rest).lstrip("\n"))
        if header is None:
            return block.refuse(expected="the header of a hunk of a diff", at=block.start)
        old, new = (1 if size is None else int(size) for size in header.groups())
        # The newline is returned, and consumed with the next line: it may be the first character of
        # a line marker once the hunk is over.
        block.give_back(block.offset - len(end))
        block.prose()
        scan = block.stage.scan
        while old > 0 or new > 0:
            sign = yield from _sign_of_line(block.stage)
            if sign not in ("+", "-", " ", "\n", "\\"):
                break
            old -= sign in ("-", " ", "\n")
            new -= sign in ("+", " ", "\n")
            block.stage.prose(scan.take(scan.text.index("\n", scan.pos) + 1))
            yield from block.stage.stream(END_OF_LINE, Text)
        return None


def _sign_of_line(stage: ParseState) -> Reading[str]:
    """Return the first character of the next line, or `""` at the end of the text.

    The scanner stands before a line end; nothing is consumed.
    """
    scan = stage.scan
    while True:
        waiting = scan.text[scan.pos : scan.pos + 3].lstrip("\r")
        if len(waiting) > 1:
            return waiting[1]
        if scan.closed:
            return ""
        yield
