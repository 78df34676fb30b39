"""Calls in a section, each an id with the name in it and JSON, as Kimi K2 writes it::

    <|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0
    <|tool_call_argument_begin|>{"city": "Paris"}<|tool_call_end|><|tool_calls_section_end|>

The id is `functions.NAME:INDEX`, without a newline. A call with another id is written with the
number of its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count

import msgspec

from callblocks.core.calls import Call, Item
from callblocks.core.specs import ToolSpec
from callblocks.parsing.engine.block import Block
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.grammar.expressions import Expr, chars, lit, many, seq
from callblocks.parsing.grammar.grammar import Grammar
from callblocks.parsing.readers.named_reader import Head
from callblocks.parsing.shapes.json_calls import NAME, NamedJson

__all__ = ("KimiK2",)

_ID = re.compile(r"(?:functions\.)?(.+?)(:[0-9]+)?")


class KimiK2(NamedJson):
    """A section of calls: an id and a JSON object."""

    name = "kimi_k2"
    summary = "a section of calls, each an id with the name in it and a JSON object"
    syntax = (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.NAME:INDEX"
        "<|tool_call_argument_begin|>{KEY: VALUE}<|tool_call_end|><|tool_calls_section_end|>"
    )
    rules = (
        "Write all calls in one section, from `<|tool_calls_section_begin|>` to "
        "`<|tool_calls_section_end|>`.",
        "Each call is `<|tool_call_begin|>`, then `functions.`, the tool's name, a colon and the "
        "number of the call (the first is 0), then `<|tool_call_argument_begin|>`, its input as "
        "one JSON object, and `<|tool_call_end|>`.",
    )
    section = ("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>")
    opening = ("<|tool_call_begin|>",)
    after_name = ("<|tool_call_argument_begin|>",)
    closing = ("<|tool_call_end|>",)
    section_end = ("<|tool_calls_section_end|>", "<|tool_call_section_end|>")
    reasoning = (("<think>", "</think>"), ("◁think▷", "◁/think▷"))
    calls_end_reasoning = True

    def read_head(self, block: Block) -> Reading[Head | None]:
        yield from block.peek()
        id_ = yield from block.match(NAME)
        yield from block.peek()
        found = _ID.fullmatch(id_)
        if found is None or not (yield from block.match(self.separators)):
            return None
        return Head(found[1], id_ if found[2] else None)

    def compose(self, items: Sequence[Item], tools: Mapping[str, ToolSpec]) -> str:
        return super().compose(list(_numbered(items)), tools)

    def written_head(self, call: Call) -> str:
        return f"{self.opening[0]}{call.id}{self.after_name[0]}"

    def head_rule(self, grammar: Grammar, tool: ToolSpec) -> Expr:
        number = many(chars("0-9"), 1)
        begin = lit(f"{self.opening[0]}functions.{tool.name}:")
        return seq(begin, number, lit(self.after_name[0]))


def _numbered(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items, each call with a unique id that contains its name."""
    row = list(items)
    own = {item.id for item in row if isinstance(item, Call) and _is_own(item)}
    given: set[str] = set()
    for item in row:
        if not isinstance(item, Call):
            yield item
            continue
        ids = (f"functions.{item.name}:{number}" for number in count(len(given)))
        keeps = item.id in own and item.id not in given
        id_ = item.id if keeps else next(id_ for id_ in ids if id_ not in own and id_ not in given)
        given.add(id_)
        yield msgspec.structs.replace(item, id=id_)


def _is_own(call: Call) -> bool:
    found = _ID.fullmatch(call.id)
    return found is not None and call.id == f"functions.{call.name}{found[2]}"
