"""dots' calls::

    <dots_function_call>
    <invoke name="NAME">
    <parameter name="KEY">VALUE</parameter>
    </invoke>
    </dots_function_call>

The wrapper may also hold one call as JSON: `{"name": NAME, "arguments": {…}}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.ids import GENERAL_CODES
from callblocks.parsing.engine.markers import Markers, Shape
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.readers.announce import read_input
from callblocks.parsing.readers.tags import BLANKS
from callblocks.parsing.shapes.tag_arguments import RULES, invoke_form, invoke_tags
from callblocks.parsing.shapes.xml_parameters import XmlParameters
from callblocks.parsing.values.strict_json import JsonScan

__all__ = ("Dots",)

WRAPPER = "dots_function_call"
BRACE = Markers(Shape((BLANKS, "\\{")))
END = Markers(f"</{WRAPPER}>")


class Dots(XmlParameters):
    """`<dots_function_call>`, `<invoke name="…">`, `<parameter name="…">`."""

    name = "dots"
    summary = "<invoke> with <parameter> tags, in <dots_function_call>"
    syntax = (
        f'<{WRAPPER}>\n<invoke name="NAME">\n<parameter name="KEY">VALUE</parameter>\n'
        f"</invoke>\n</{WRAPPER}>"
    )
    rules = (
        f'A call is an `<invoke name="NAME">` inside `<{WRAPPER}>`. Each argument stands in its '
        'own `<parameter name="KEY">`.',
        *RULES,
    )
    reasoning = (("<think>", "</think>"),)
    # `<invoke name=…>` without the wrapper is read as `anthropic_xml`.
    shares_calls = True
    tags = invoke_tags(WRAPPER)
    form = invoke_form(WRAPPER)

    def read(self, block: Block) -> Reading[Refused | None]:
        if block.opening == f"<{WRAPPER}>" and (yield from block.match(BRACE)):
            return (yield from self._read_json(block))
        return (yield from super().read(block))

    def _read_json(self, block: Block) -> Reading[Refused | None]:
        # The scan only tells whether a closing tag lies inside of a string; the text up to the real
        # one is read as a whole, with repairs.
        scan, parts = JsonScan(block.stage.limits.depth), ["{"]
        scan.feed("{")
        while True:
            text, end = yield from block.until(END)
            scan.feed(text)
            parts.append(text)
            # A closing tag inside of an open JSON string is text.
            if not end or not scan.in_string:
                break
            scan.feed(end)
            parts.append(end)
        if not end:
            return block.malformed("truncated-call", "the text ended inside a call")
        stage = block.stage
        try:
            said, repairs = read_input(
                "".join(parts), ended=True, strict=stage.strict, depth=stage.limits.depth
            )
            name, value = _call(said)
        except ValueError as error:
            return block.malformed("arguments-not-json", str(error))
        block.started(name)
        block.ready(value, size=sum(map(len, parts)))
        for code in repairs:
            block.problem(code, GENERAL_CODES[code])
        return None


def _call(said: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    name, value = said.get("name"), said.get("arguments", said.get("parameters", {}))
    if not isinstance(name, str) or not isinstance(value, dict):
        raise ValueError('it is no {"name": …, "arguments": {…}}')
    return name, cast("dict[str, Any]", value)
