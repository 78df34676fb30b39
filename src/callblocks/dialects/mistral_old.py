"""A marker and a JSON array of calls with ids, as Mistral's models up to v7 write it::

[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Paris"}, "id": "D681PevKs"}]
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256

import msgspec

from callblocks.core.calls import Call, Item, Result
from callblocks.core.specs import ToolSpec
from callblocks.parsing.engine.openers import TURN_ENDS
from callblocks.parsing.grammar import json_rules as rules
from callblocks.parsing.grammar.argument_rules import input_rule
from callblocks.parsing.grammar.expressions import Expr, chars, lit, repeat, seq
from callblocks.parsing.grammar.grammar import Grammar
from callblocks.parsing.readers.call_keys import Keys
from callblocks.parsing.shapes.json_calls import JsonCalls

__all__ = ("MistralOld",)

# The length of Mistral's ids. Its models were trained on nothing else.
SIZE = 9
_ID = re.compile(rf"[A-Za-z0-9]{{{SIZE}}}")


class MistralOld(JsonCalls):
    """`[TOOL_CALLS]` and an array of calls."""

    name = "mistral_old"
    summary = "[TOOL_CALLS] and a JSON array of calls with ids"
    syntax = '[TOOL_CALLS][{"name": NAME, "arguments": {KEY: VALUE}, "id": ID}]'
    rules = (
        "Write `[TOOL_CALLS]` and then one JSON array with all calls.",
        "Each call has `name` (the tool's name), `arguments` (an object) and `id` (nine letters "
        "and digits, your own and unique).",
    )
    opening = ("[TOOL_CALLS]",)
    keys = Keys(id="id")
    frame = ("[", ", ", "]")
    together = True
    keeps_ids = True
    turn_ends = (*TURN_ENDS, "</s>")
    other_closers = ("[/TOOL_CALLS]",)

    # An id of another form is replaced by a hash of it. The hash is the same for a call and its
    # result, so they still belong together after the conversion.
    def said(self, item: Call | Result, tools: Mapping[str, ToolSpec]) -> Call | Result:
        return msgspec.structs.replace(item, id=_fitting(item.id))

    def compose(self, items: Sequence[Item], tools: Mapping[str, ToolSpec]) -> str:
        said = [item if isinstance(item, str) else self.said(item, tools) for item in items]
        return super().compose(said, tools)

    def _call_rule(self, grammar: Grammar, tool: ToolSpec) -> Expr:
        id_ = seq(lit('"'), repeat(chars("a-zA-Z0-9"), SIZE, SIZE), lit('"'))
        value = input_rule(grammar, tool)
        members = {"name": rules.key(tool.name), "arguments": value, "id": id_}
        return self._object_rule(grammar, members)


def _fitting(id_: str) -> str:
    """Return an id of Mistral's form: the id itself if it has that, else one derived from it."""
    if _ID.fullmatch(id_):
        return id_
    return sha256(id_.encode(errors="surrogatepass")).hexdigest()[:SIZE]
