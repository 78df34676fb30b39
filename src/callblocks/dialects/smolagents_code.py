"""Code as the CodeAgent of smolagents writes it: between tags, or in a fence of Python::

    <code>
    get_weather(city="Paris")
    </code>

Code that only calls tools with plain values is read as these calls. Any other code is one call of
`python_interpreter`. If other dialects are read too, the tag must stand on a line of its own, and
the tools must be declared.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import ClassVar

from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.fences import END_OF_LINE, read_fence
from callblocks.parsing.engine.markers import Markers, Shape, line, without_line_end
from callblocks.parsing.engine.parse_state import ParseState, Reading
from callblocks.parsing.loop import Setting
from callblocks.parsing.readers.foreign_body import Bodies
from callblocks.parsing.readers.python_calls import NAME, PythonRow, PythonRowReader
from callblocks.parsing.shapes.python_marked import PythonMarked
from callblocks.parsing.values.python_values import Arguments, PythonScan, read_arguments
from callblocks.parsing.values.strict_json import ScanState

__all__ = ("SmolagentsCode",)

INTERPRETER = "python_interpreter"
TAG_LINE = line("<code>")
FENCES = (line("```py"), line("```python"))
# smolagents ends its code with `<end_code>`, inside or behind the fence.
FENCE_ROW = PythonRow("```", in_list=False, beside=("```<end_code>", "```\n<end_code>"))
CLOSING = Markers("</code>", "```")
NEWLINE = Markers("\n")
NOTHING = Markers()
CODE_END = Markers("</code>")
FENCE_END = Markers(line("```"))
END = Markers("<end_code>", "\n<end_code>")


class SmolagentsCode(PythonMarked):
    """`<code>`, Python, `</code>`."""

    name = "smolagents_code"
    summary = "smolagents CodeAgent: Python between <code> tags or in a fence"
    syntax = "<code>\nNAME(KEY=VALUE, …)\n</code>"
    rules = (
        "Between `<code>` and `</code>` stands Python that calls tools, one on each line, with "
        "their arguments by name.",
        "Values are plain Python: strings in quotes, numbers, True, False, None, lists and "
        "dictionaries of these.",
        "You may write prose before and after the tags.",
    )
    codes: ClassVar = {}  # what is no plain call is code
    opening = "<code>"
    closing = "</code>"
    in_list = False

    @property
    def bodies_between(self) -> Bodies | None:
        return None  # any code may stand there

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        # Any text about programs has `<code>` in it, so in `auto` the tag must be alone on a line.
        return (self.opening, *FENCES) if setting.alone else (TAG_LINE,)

    def read(self, block: Block) -> Reading[Refused | None]:
        fenced = not block.opening.endswith(self.opening)
        if fenced:
            rest, newline = yield from block.until(END_OF_LINE)
            fence = read_fence(block.opening + rest)
            if not newline or not fence or fence.info not in ("py", "python"):
                return block.refuse(expected="a fence of Python", at=block.start)
        # Two passes: the first consumes the code and decides whether it is only calls; then the
        # text is returned and read as calls or as code. Nothing is emitted before the decision,
        # because the name of the first call differs: the tool's, or the interpreter's.
        start = block.offset
        guessed = not block.stage.alone
        if guessed and not (yield from block.stands(NEWLINE)):
            return block.refuse()
        known: dict[str, Arguments] = {}
        if (yield from self._only_calls(block, known)):
            block.give_back(start)
            row = FENCE_ROW if fenced else self.row
            return (yield from PythonRowReader(block, row, known).read())
        if guessed and INTERPRETER not in block.stage.tools:
            expected = "nothing but calls of declared tools"
            return block.refuse(until=block.offset, expected=expected, at=start)
        # If the text ends among calls, the rest might have been other code: all of it is one call
        # of the interpreter then.
        ends = NOTHING if _breaks_off(block) else FENCE_END if fenced else CODE_END
        block.give_back(start)
        return (yield from self._read_code(block, fenced, ends))

    def _only_calls(self, block: Block, known: dict[str, Arguments]) -> Reading[bool]:
        """Consume a body of nothing but calls with plain values; return whether it is one.

        The parsed arguments are kept in `known`, so that they are not parsed again.
        """
        count = 0
        while True:
            yield from block.peek()
            name = yield from block.match(NAME)
            if not name:
                return bool(count) and bool((yield from block.match(CLOSING)))
            if not _is_tool(block.stage, name[:-1]):
                return False
            if not (yield from _plain(block, known)):
                return False
            count += 1

    def _read_code(self, block: Block, fenced: bool, ends: Markers) -> Reading[None]:
        block.started(INTERPRETER)
        if fenced:
            block.stage.scan.fresh = True
        elif (yield from block.match(NEWLINE)):
            block.input("")
        code, end = yield from block.stream(ends)
        yield from block.match(END)
        block.ready({"code": without_line_end(code)}, size=len(code), ended=bool(end))


def _plain(block: Block, known: dict[str, Arguments]) -> Reading[bool]:
    """Return whether the arguments behind a consumed bracket are plain values."""
    mark, scan = len(block.taken), PythonScan(block.stage.limits.depth)
    scan.feed("(")
    yield from block.consume(scan)
    if scan.state is not ScanState.STOPPED:
        return False
    # The text is returned and read again; joined into one part, that is cheap.
    text = "".join(block.taken[mark:])
    block.taken[mark:] = [text]
    try:
        known[f"({text}"] = read_arguments(f"({text}", strict=True)
    except ValueError:
        return False
    return True


def _breaks_off(block: Block) -> bool:
    """Return whether the text ended where a call or the closing tag might still follow."""
    scan = block.stage.scan
    hits = (markers.growing.match(scan.text, scan.pos) for markers in (NAME, CLOSING))
    return scan.closed and (scan.empty or any(hit and not hit.lastindex for hit in hits))


def _is_tool(stage: ParseState, name: str) -> bool:
    """Return whether a name is a declared tool, or, if none is declared, no Python built-in."""
    # `print(x)` in a text without declared tools is code, and no call of a tool `print`.
    is_known = name in stage.tools
    return is_known or (stage.alone and not stage.tools and not hasattr(builtins, name))
