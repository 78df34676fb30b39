"""The machinery that dialects are built from.

    engine/   blocks, markers, fences, reasoning: what the loop in loop.py is made of
    values/   JSON, Python, YAML and typed text become values
    readers/  calls in one notation: JSON rows, Python calls, tags, a name and JSON
    repair    what models get wrong in calls, read all the same and named
    grammar/  rules that hold a decoder to a dialect: GBNF, Lark, structural tags
    shapes/   forms that many dialects share; a dialect adds markers and keys

dialect.py has the contract of a dialect; teaching.py writes prompts; conversion.py joins two
dialects.

The author of a dialect needs one import, `from callblocks.parsing import Dialect, …`. Each of the
names below is imported from its module when it is first used; tests/unit/test_api.py pins them.
What few dialects use is imported from its module.

Start with loop.py. Does no input or output. May import: core.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from callblocks.core.calls import Call, Item, Result, Thought
    from callblocks.core.errors import Unwritable
    from callblocks.core.specs import ToolSpec
    from callblocks.parsing.dialect import Dialect
    from callblocks.parsing.engine.block import Block, Refused
    from callblocks.parsing.engine.ids import read_id
    from callblocks.parsing.engine.markers import Markers, Shape, damaged, spellings
    from callblocks.parsing.engine.openers import TURN_ENDS
    from callblocks.parsing.engine.parse_state import Reading
    from callblocks.parsing.grammar.argument_rules import input_lines, input_rule
    from callblocks.parsing.grammar.expressions import (
        Expr,
        alt,
        chars,
        lit,
        many,
        none_of,
        opt,
        repeat,
        seq,
        until,
        without,
    )
    from callblocks.parsing.grammar.grammar import Grammar
    from callblocks.parsing.limits import Limits
    from callblocks.parsing.loop import Setting
    from callblocks.parsing.readers.call_keys import Keys
    from callblocks.parsing.readers.foreign_body import Bodies
    from callblocks.parsing.readers.named_reader import Head
    from callblocks.parsing.readers.python_calls import PythonRow, PythonRowReader
    from callblocks.parsing.readers.row import CallRow
    from callblocks.parsing.readers.tags import Tag, XmlForm, XmlTags
    from callblocks.parsing.shapes.brace_calls import BraceCalls
    from callblocks.parsing.shapes.element_bodies import ElementBodies, NamedTags
    from callblocks.parsing.shapes.json_calls import CommandCalls, JsonCalls, NamedJson
    from callblocks.parsing.shapes.python_marked import PythonMarked
    from callblocks.parsing.shapes.tag_arguments import ArgKeyValue, Framed, FunctionTags
    from callblocks.parsing.shapes.xml_call import Input
    from callblocks.parsing.shapes.xml_parameters import XmlParameters
    from callblocks.parsing.values.python_values import PythonScan, read_arguments
    from callblocks.parsing.values.schema_shape import in_schema_order
    from callblocks.parsing.values.strict_json import JsonScan, ScanState, read_json, write_json

__all__ = (
    "TURN_ENDS",
    "ArgKeyValue",
    "Block",
    "Bodies",
    "BraceCalls",
    "Call",
    "CallRow",
    "CommandCalls",
    "Dialect",
    "ElementBodies",
    "Expr",
    "Framed",
    "FunctionTags",
    "Grammar",
    "Head",
    "Input",
    "Item",
    "JsonCalls",
    "JsonScan",
    "Keys",
    "Limits",
    "Markers",
    "NamedJson",
    "NamedTags",
    "PythonMarked",
    "PythonRow",
    "PythonRowReader",
    "PythonScan",
    "Reading",
    "Refused",
    "Result",
    "ScanState",
    "Setting",
    "Shape",
    "Tag",
    "Thought",
    "ToolSpec",
    "Unwritable",
    "XmlForm",
    "XmlParameters",
    "XmlTags",
    "alt",
    "chars",
    "damaged",
    "in_schema_order",
    "input_lines",
    "input_rule",
    "lit",
    "many",
    "none_of",
    "opt",
    "read_arguments",
    "read_id",
    "read_json",
    "repeat",
    "seq",
    "spellings",
    "until",
    "without",
    "write_json",
)

_HOMES = {
    "TURN_ENDS": "parsing.engine.openers",
    "ArgKeyValue": "parsing.shapes.tag_arguments",
    "Block": "parsing.engine.block",
    "Bodies": "parsing.readers.foreign_body",
    "BraceCalls": "parsing.shapes.brace_calls",
    "Call": "core.calls",
    "CallRow": "parsing.readers.row",
    "CommandCalls": "parsing.shapes.json_calls",
    "Dialect": "parsing.dialect",
    "ElementBodies": "parsing.shapes.element_bodies",
    "Expr": "parsing.grammar.expressions",
    "Framed": "parsing.shapes.tag_arguments",
    "FunctionTags": "parsing.shapes.tag_arguments",
    "Grammar": "parsing.grammar.grammar",
    "Head": "parsing.readers.named_reader",
    "Input": "parsing.shapes.xml_call",
    "Item": "core.calls",
    "JsonCalls": "parsing.shapes.json_calls",
    "JsonScan": "parsing.values.strict_json",
    "Keys": "parsing.readers.call_keys",
    "Limits": "parsing.limits",
    "Markers": "parsing.engine.markers",
    "NamedJson": "parsing.shapes.json_calls",
    "NamedTags": "parsing.shapes.element_bodies",
    "PythonMarked": "parsing.shapes.python_marked",
    "PythonRow": "parsing.readers.python_calls",
    "PythonRowReader": "parsing.readers.python_calls",
    "PythonScan": "parsing.values.python_values",
    "Reading": "parsing.engine.parse_state",
    "Refused": "parsing.engine.block",
    "Result": "core.calls",
    "ScanState": "parsing.values.strict_json",
    "Setting": "parsing.loop",
    "Shape": "parsing.engine.markers",
    "Tag": "parsing.readers.tags",
    "Thought": "core.calls",
    "ToolSpec": "core.specs",
    "Unwritable": "core.errors",
    "XmlForm": "parsing.readers.tags",
    "XmlParameters": "parsing.shapes.xml_parameters",
    "XmlTags": "parsing.readers.tags",
    "alt": "parsing.grammar.expressions",
    "chars": "parsing.grammar.expressions",
    "damaged": "parsing.engine.markers",
    "in_schema_order": "parsing.values.schema_shape",
    "input_lines": "parsing.grammar.argument_rules",
    "input_rule": "parsing.grammar.argument_rules",
    "lit": "parsing.grammar.expressions",
    "many": "parsing.grammar.expressions",
    "none_of": "parsing.grammar.expressions",
    "opt": "parsing.grammar.expressions",
    "read_arguments": "parsing.values.python_values",
    "read_id": "parsing.engine.ids",
    "read_json": "parsing.values.strict_json",
    "repeat": "parsing.grammar.expressions",
    "seq": "parsing.grammar.expressions",
    "spellings": "parsing.engine.markers",
    "until": "parsing.grammar.expressions",
    "without": "parsing.grammar.expressions",
    "write_json": "parsing.values.strict_json",
}


def __getattr__(name: str) -> Any:
    """Import a name for authors of dialects when it is first used: shapes import this package."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"callblocks.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
