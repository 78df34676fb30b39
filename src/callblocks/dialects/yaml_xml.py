"""Calls with the tool's name as the tag and YAML in it::

    <NAME>
      KEY: VALUE
    </NAME>

Only declared tools are tags. A value that is a string in the schema is read as written, even if
YAML would make a number of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from callblocks.core.calls import Call
from callblocks.core.errors import Unwritable
from callblocks.core.specs import ToolSpec
from callblocks.parsing.engine.markers import Markers, Shape
from callblocks.parsing.grammar.argument_rules import input_lines
from callblocks.parsing.grammar.expressions import alt, lit, opt, seq
from callblocks.parsing.grammar.grammar import Grammar
from callblocks.parsing.readers.announce import BadBody
from callblocks.parsing.shapes.element_bodies import NAME, NamedTags
from callblocks.parsing.shapes.xml_call import Input
from callblocks.parsing.values.schema_shape import fits, in_schema_order
from callblocks.parsing.values.typed import Typed, plain_values, problems_of, schema_of
from callblocks.parsing.values.yaml_core import Doubts, YamlError, dump, load

__all__ = ("YamlXml",)

# A key and its plain value on one line, as written.
_PAIR = re.compile(r"^[ \t]*([^\s:#][^:\n]*?):[ \t]+([^\n]*?)[ \t\r]*$", re.MULTILINE)


class YamlXml(NamedTags):
    """`<NAME>` with a YAML mapping."""

    name = "yaml_xml"
    summary = "the tool's name as a tag, with YAML in it"
    syntax = "<NAME>\n  KEY: VALUE\n</NAME>"
    rules = (
        "A call is a tag with the tool's name. Between its tags the arguments stand as YAML, "
        "`key: value`, two spaces in.",
        "Text of several lines is a block: `key: |` and the lines below it, four spaces in.",
        "A call without arguments has nothing between its tags. Close every tag.",
    )
    values_are_text = False
    may_lack_ends = False

    heads = Markers(
        Shape(("{",)), Shape(("[^\\s:{<]", "[^\\n:]{0,200}", ":")), Shape(("<", "/", NAME, ">"))
    )

    def may_hold(self, head: str, tool: ToolSpec | None) -> bool:
        return head == "{" or self.is_key(head[:-1].strip("\"' "), tool)

    # YAML begins on a line of its own. `<search> finds` on one line is prose; `{` begins a flow
    # mapping, and `<` an element or the end.
    def may_begin(self, blanks: str, char: str) -> bool:
        return bool(char) and ("\n" in blanks or char in "{<")

    def is_whole_body(self, text: str, tool: ToolSpec | None, *, is_all: bool) -> bool:
        return text.endswith("\n") or (is_all and "\n" not in text)

    def read_body(self, body: str, tool: ToolSpec | None, depth: int) -> Input:
        if body.lstrip().startswith("<") and (found := self._in_elements(body, tool, depth)):
            return found
        doubts: Doubts = []
        try:
            value = load(body, depth, doubts)
        except YamlError as error:
            raise BadBody("arguments-not-yaml", error.reason) from error
        if not isinstance(value, dict | None):
            raise BadBody("arguments-not-yaml", "it is no mapping")
        given = cast("dict[str, Any]", value or {})
        values = {key: _fitted(one, body, tool, key) for key, one in given.items()}
        return plain_values(values), [*problems_of(values), *doubts]

    def _in_elements(self, body: str, tool: ToolSpec | None, depth: int) -> Input | None:
        """Return the arguments if they stand in elements, as in other dialects; else None."""
        try:
            value, problems = super().read_body(body, tool, depth)
        except BadBody:
            return None
        if not value or any(code == "stray-text" for code, _ in problems):
            return None
        return value, [("foreign-body", "elements stand where YAML should"), *problems]

    def constrain(self, grammar: Grammar, tools: Sequence[ToolSpec]) -> None:
        calls = [
            seq(lit(f"<{tool.name}>\n"), lines if tool.required else opt(lines))
            for tool in tools
            for lines in [input_lines(grammar, tool)]
        ]
        call = alt(
            *(seq(rule, lit(f"</{tool.name}>")) for rule, tool in zip(calls, tools, strict=True))
        )
        grammar.text(self.openings(grammar.known or tools), grammar.rule("call", call))

    def _compose_call(self, number: int, call: Call, tools: Mapping[str, ToolSpec]) -> str:
        head = super()._compose_call(number, Call(id="", name=call.name, ended=False), tools)
        value = in_schema_order(call.input, tools[call.name].parameters)
        try:
            body = dump({"input": value}).removeprefix("input:\n") if value else ""
        except YamlError as error:
            raise Unwritable(self.name, f"the input of {call.name!r}: {error.reason}") from error
        return f"{head}{body}{self.tail_of(call.name) if call.ended else ''}"


def _fitted(value: Any, body: str, tool: ToolSpec | None, key: str) -> Typed:
    """Return a value as YAML reads it, or as written if the schema wants a string."""
    schema, document = schema_of(tool, key), tool.parameters if tool else True
    if fits(value, schema, document):
        return Typed(value, True)
    # `version: 1.10` is the number 1.1 to YAML. If the schema wants a string, the written text is
    # looked up again, as the loaded value has lost its spelling.
    if isinstance(value, bool | int | float | None):
        written = dict(_PAIR.findall(body)).get(key)
        if written and fits(written, schema, document):
            return Typed(written, True)
    return Typed(value, False)
