r"""Calls without markers that models write into code fences, beside what the dialects read.

    {"name": "ls", "arguments": {"path": "."}}      also `parameters`, `input`, `args` …; in a list
    {'name': 'ls', 'arguments': {'path': '.'}}      as Python writes a dictionary
    {"tool_call": {"name": "ls", "args": {}}}       also `function`, `function_call`
    ls(path=".")                                    on lines of their own, or in a list

A fence around them, a declared tool and arguments that fit make them calls (`fenced_calls`).
Anywhere else these spellings are too common: each JSON example has a `name`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from callblocks.parsing.block import Block, Refused
from callblocks.parsing.markers import Markers, Shape
from callblocks.parsing.shapes.keys import Keys
from callblocks.parsing.shapes.python_calls import NAME_ATOMS, PythonRow, PythonRowReader
from callblocks.parsing.shapes.row import Row
from callblocks.parsing.shapes.row_reader import RowReader
from callblocks.parsing.stage import Reading

__all__ = ("FENCE_FORMS",)

_BLANKS = r"[ \t\r\n]{0,100}"
_OBJECTS = Row(
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
_LIST = PythonRow("<|python_end|>", "\n")
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
        row = _LIST if opening.startswith("[") else _LINES
        return (yield from PythonRowReader(block, row).read(name))


# They are asked before the dialects, so that a bare call in a fence reads the same whichever
# dialects are read.
FENCE_FORMS = (FencedObjects(), FencedPython())
