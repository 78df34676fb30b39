"""Python calls and values in braces: what cannot be read or written is told, and never raises."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from callblocks import Call, Limits, ToolSpec, dialects, parse
from callblocks.core.errors import Unwritable
from callblocks.parsing.shapes.brace_calls import BraceValues
from callblocks.parsing.values.python_values import PythonScan, read_arguments
from callblocks.parsing.values.strict_json import ScanState, Search
from support.guidance import accepts
from support.soup import markers

DEEP = 100_000
ODD = ToolSpec("put", "", {"properties": {"a b": {"type": "integer"}}, "required": ["a b"]})
TREE = ToolSpec(
    "grow",
    "",
    {
        "properties": {"root": {"$ref": "#/$defs/node"}},
        "$defs": {
            "node": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "inner": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                },
            }
        },
    },
)


def test_what_is_nested_beyond_reason_is_no_value() -> None:
    with pytest.raises(ValueError, match="too deep"):
        read_arguments(f"({'[' * DEEP}{']' * DEEP})", strict=True)
    with pytest.raises(ValueError, match="too deep"):
        BraceValues(f"{{a:{'[' * DEEP}1{']' * DEEP}}}", "'", strict=True).read({})


@pytest.mark.parametrize(("dialect", "opening"), [("lfm2", "[f(a="), ("gemma4", "call:f{a:")])
@pytest.mark.no_cover  # the same ways as of a short text, many times
def test_no_depth_of_a_text_raises(dialect: str, opening: str) -> None:
    found = parse(
        f"{markers(dialect)[0]}{opening}{'[' * DEEP}", dialect, limits=Limits(depth=10**9)
    )
    assert len(found.problems) == 1


@pytest.mark.parametrize("dialect", ["lfm2", "gemma4"])
@pytest.mark.parametrize("value", [{"a": {1: 2}}, {1: 2}], ids=["inside", "outside"])
def test_a_name_that_is_no_text_is_refused(dialect: str, value: Any) -> None:
    with pytest.raises(Unwritable, match="is no name"):
        dialects[dialect].write([Call(id="a", name="f", input=value)])


@pytest.mark.parametrize("kind", ["gbnf", "lark"])
@pytest.mark.parametrize("dialect", ["lfm2", "gemma4"])
def test_a_grammar_holds_names_that_are_no_words_and_schemas_that_hold_themselves(
    dialect: str, kind: Any
) -> None:
    made = dialects[dialect]
    node = {"name": "a", "inner": [{"name": "b", "inner": []}]}
    put, grow = ({"a b": 3}, {"root": node})
    calls = [Call(id="1", name="put", input=put), Call(id="2", name="grow", input=grow)]
    grammar = made.grammar([ODD, TREE], kind)
    text = made.write(calls, [ODD, TREE])
    assert accepts(grammar, kind, text)
    assert not accepts(grammar, kind, text.replace("3", '"3"'))


@pytest.mark.parametrize("mark", ["'", '"'])
def test_the_search_in_a_string_passes_what_the_scan_passes(mark: str) -> None:
    def is_over(text: str) -> bool:
        scan = PythonScan()
        scan.feed(f"({mark}a{text}")
        return scan.state is ScanState.STOPPED

    def in_string(text: str) -> bool:
        return not is_over(f"{text})") and is_over(f"{text}{mark})")

    scan, searches = PythonScan(), list[Search]()
    scan.feed(f"({mark}a")
    search = scan.search(searches.append)
    for size in range(1, 6):
        for letters in product("\\\"'n", repeat=size):
            text = "".join(letters)
            hit = search(text)
            if hit is None:
                assert all(in_string(text[:end]) or text[end - 1] == "\\" for end in range(1, size))
            if hit is None or not hit.lastindex:
                assert in_string(text if hit is None else text[: hit.start()]), text
