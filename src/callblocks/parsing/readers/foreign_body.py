"""A reader for another notation than the dialect's own between its markers.

Models keep the markers of their family and write between them what they have seen elsewhere:

    <|tool_call_start|>{"name": "ls", "arguments": {}}<|tool_call_end|>     JSON
    <tool_call>ls\n{"path": "."}</tool_call>                               a name and JSON
    <seed:tool_call>ls(path=".")</seed:tool_call>                          Python

Or they leave out the list around calls, or add one. Each call gets a problem: `repaired-list` if
the notation is the dialect's own, else `foreign-body`.

The markers alone do not make a call certain, since prose quotes them. The name of a declared tool
does; if no tools are declared and the dialect was named, any name does. In a named dialect, an
object with a name and arguments needs no declared tool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar, Literal

from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import Markers, Shape
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.readers.call_keys import Keys
from callblocks.parsing.readers.named_reader import Head, Named, NamedReader
from callblocks.parsing.readers.python_calls import NAME as PYTHON_NAME
from callblocks.parsing.readers.python_calls import NAME_ATOMS, PythonRow, PythonRowReader
from callblocks.parsing.readers.row import CallRow, RowReader

__all__ = (
    "FENCE_FORMS",
    "Bodies",
    "read_foreign_body",
    "stands_python_list",
)

_NAME = Markers(Shape((r"[A-Za-z_]", r"[\w.:/-]{0,127}", r"(?![\w.:/-])")))
_LIST = Markers(Shape((r"\[", r"[ \t\r\n]{0,1000}", r"(?=\{)")))
_PYTHON_LIST = Markers(Shape((r"\[", r"[ \t\r\n]{0,1000}", *NAME_ATOMS)))
_KEYS = Keys(
    name=("name", "tool_name", "tool"),
    input=("arguments", "parameters", "args", "input"),
    nested=("function", "tool_call", "function_call"),
)
# A stand-in for the closing marker of dialects that have none; it never occurs.
_NO_CLOSING = "<|python_end|>"


class Bodies:
    """The places of a dialect's bodies: its markers, and its own `notation`.

    Behind a `section` marker the `opening` of the first call follows. `keys` are those of objects.
    """

    def __init__(
        self,
        opening: tuple[str | Shape, ...],
        closing: tuple[str, ...],
        *,
        section: tuple[str, ...] = (),
        section_end: tuple[str, ...] = (),
        trailing: tuple[str, ...] = (),
        notation: Literal["json", "python", "tags", "named", "braces"],
        keys: Keys = _KEYS,
    ) -> None:
        self.opening = opening
        self.section = section
        self.notation = notation
        self.keys = keys
        self.trailing = trailing
        self._literals = tuple(one for one in opening if isinstance(one, str))
        # The end of a section belongs to the last call in it.
        ends = (f"{one}{gap}{end}" for one in closing for end in section_end for gap in ("", "\n"))
        self.closing = (*closing, *ends)

    @cached_property
    def openers(self) -> Markers:
        """The markers that begin a call in a section."""
        return Markers(*self.opening)

    @property
    def begins_as_prose(self) -> bool:
        """True if a marker ends in a word, behind which names stand in prose, too."""
        return any(one[-1].isalnum() for one in self._literals)

    def code(self, notation: str) -> str:
        """Return the code of the problem of a body in this notation."""
        return "repaired-list" if notation == self.notation else "foreign-body"

    @cached_property
    def row(self) -> CallRow:
        """A row of objects."""
        return CallRow(
            self.keys,
            self._literals,
            self.closing,
            trailing=self.trailing,
            repairs=(self.code("json"),),
            sure=False,
            may_lack_input=True,
            mends=True,
            general=True,
        )

    @cached_property
    def named(self) -> Named:
        """A name and an object."""
        return Named(self._literals, self.closing, (), ())

    @cached_property
    def python_list(self) -> PythonRow:
        """A row of Python calls in brackets."""
        return self._python(in_list=True)

    @cached_property
    def python_lines(self) -> PythonRow:
        """A row of Python calls, one on each line."""
        return self._python(in_list=False)

    def _python(self, *, in_list: bool) -> PythonRow:
        first, *beside = self.closing or (_NO_CLOSING,)
        return PythonRow(first, *self._literals, in_list=in_list, beside=beside)


def read_foreign_body(block: Block, bodies: Bodies) -> Reading[Refused | None]:
    """Read the calls of a block that a marker of the dialect opened, or refuse it."""
    if block.marker in bodies.section:
        yield from block.peek()
        if not (yield from block.match(bodies.openers)):
            return block.refuse()
    char = yield from block.peek()
    if char == "{" or (char == "[" and (yield from block.stands(_LIST))):
        return (yield from RowReader(block, bodies.row).read(char))
    in_list = char == "["
    if in_list:
        block.step()
        yield from block.peek()
    start = block.offset
    if bodies.begins_as_prose and not in_list:
        return block.refuse(until=start)
    name = yield from block.match(PYTHON_NAME)
    if name and _may_be_tool(block, name[:-1]):
        row = bodies.python_list if in_list else bodies.python_lines
        return (yield from PythonRowReader(block, row, repair=bodies.code("python")).read(name))
    if name or in_list:
        return block.refuse(until=start)
    repairs = (bodies.code("named"),)
    return (yield from NamedReader(block, bodies.named, _read_head, _begins, repairs).read())


def stands_python_list(block: Block) -> Reading[bool]:
    """Return whether a list of Python calls stands at the current offset, without consuming it."""
    start = yield from block.match(_PYTHON_LIST)
    if not start:
        return False
    block.give_back(block.offset - len(start))
    return _may_be_tool(block, start[1:-1].lstrip())


def _may_be_tool(block: Block, name: str) -> bool:
    stage = block.stage
    return block.known_name(name) in stage.tools or (stage.alone and not stage.tools)


def _read_head(block: Block) -> Reading[Head | None]:
    # `ls: {"path": "."}` has a colon between the two.
    name = (yield from block.match(_NAME)).rstrip(":")
    return Head(name) if name and _may_be_tool(block, name) else None


def _begins(block: Block) -> Reading[bool]:
    return (yield from block.peek()) == "{"


# --- Calls without markers that models write into code fences, beside what the dialects read ---
#
#     {"name": "ls", "arguments": {"path": "."}}      also `parameters`, `input` …, or in a list
#     {'name': 'ls', 'arguments': {'path': '.'}}      as Python writes a dictionary
#     {"tool_call": {"name": "ls", "args": {}}}       also `function`, `function_call`
#     ls(path=".")                                    on lines of their own, or in a list
#
# A fence around them, a declared tool and arguments that fit make them calls (`FencedCalls`).
# Anywhere else these spellings are too common: each JSON example has a `name`.

_BLANKS = r"[ \t\r\n]{0,100}"
_OBJECTS = CallRow(
    Keys(
        name=("name", "tool", "tool_name", "toolName", "function_name", "function", "action"),
        input=(
            *("arguments", "parameters", "input", "args", "params", "kwargs"),
            *("tool_input", "toolInput", "tool_args", "action_input"),
        ),
        id="id",
        nested=("function", "tool_call", "function_call"),
    ),
    opening=(),
    closing=(),
    as_text=True,
    sure=False,
    may_lack_input=True,
    early=True,
)
# A dictionary in Python's quotes. It is decided only at its last bracket, by a repair.
_QUOTED = Markers(Shape((r"\[?", _BLANKS, r"\{", _BLANKS, "(?=')")))
_DICTS = replace(_OBJECTS, natural=("repaired-quotes", "repaired-literals"))
# A row of Python needs a closing marker; here the fence's end closes it, so this one never occurs.
_FENCED_LIST = PythonRow("<|python_end|>", "\n")
_LINES = PythonRow("<|python_end|>", "\n", in_list=False)


class _Form:
    """The base of the forms: they open at the start of a line and have no marker of their own."""

    follows_fences: ClassVar = False
    in_fence_bodies: ClassVar = True
    reasoning: ClassVar = ()
    calls_end_reasoning: ClassVar = False
    reasoning_breaks: ClassVar = ()
    turn_ends: ClassVar = ()
    closers: tuple[str, ...] = ()


class FencedObjects(_Form):
    """JSON objects, in a list or one after the other, as in `llama3_json`."""

    name: ClassVar = "llama3_json"

    def openers(self, setting: object) -> Sequence[str | Shape]:
        return (Shape((_BLANKS, r"(?=[\[{])"), at_line_start=True),)

    def read(self, block: Block) -> Reading[Refused | None]:
        quoted = yield from block.stands(_QUOTED)
        return (yield from RowReader(block, _DICTS if quoted else _OBJECTS).read())


class FencedPython(_Form):
    """Python calls, in a list or on lines of their own, as in `pythonic`."""

    name: ClassVar = "pythonic"

    def openers(self, setting: object) -> Sequence[str | Shape]:
        gap = (r"\[", r"[ \t\r\n]{0,20}")
        return (
            Shape((_BLANKS, *gap, *NAME_ATOMS), at_line_start=True),
            Shape((_BLANKS, *NAME_ATOMS), at_line_start=True),
        )

    def read(self, block: Block) -> Reading[Refused | None]:
        opening = block.opening.lstrip()
        name = opening.removeprefix("[").lstrip()
        if name[:-1] not in block.stage.tools:
            return block.refuse(expected="the name of a declared tool", at=block.start)
        row = _FENCED_LIST if opening.startswith("[") else _LINES
        return (yield from PythonRowReader(block, row).read(name))


# They are asked before the dialects, so that a bare call in a fence reads the same whichever
# dialects are read.
FENCE_FORMS = (FencedObjects(), FencedPython())
