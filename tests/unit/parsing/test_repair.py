"""What models get wrong in JSON is read as it was meant, and named; what is not sure is not."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.json_values import same
from callblocks.parsing.repair import (
    Brackets,
    Broken,
    PythonBrackets,
    mend,
    read_keywords,
    read_mended,
)
from callblocks.parsing.values.strict_json import ScanState
from callblocks.parsing.values.tolerant_json import Tolerant, Unrepairable

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    SCALARS.filter(lambda value: value not in (float("inf"), float("-inf"))),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)

WORDS = st.sampled_from(["a", "path", "/tmp", "dry_run", "a b", "x: 1", "it's"])


def read(text: str, *, ended: bool = True) -> tuple[Any, set[str]]:
    tolerant = Tolerant(text, ended=ended, max_depth=5)
    value, _ = tolerant.read(0)
    return value, set(tolerant.repairs)


@given(VALUES, st.booleans())
def test_json_needs_no_repair(value: Any, ascii_only: bool) -> None:
    text = json.dumps([value], ensure_ascii=ascii_only)
    tolerant = Tolerant(text, ended=False, max_depth=100)
    found, end = tolerant.read(0)
    assert same(found, [value])
    assert end == len(text)
    assert not tolerant.repairs


@pytest.mark.parametrize(
    ("text", "value", "repairs"),
    [
        ("{'a': 'b'}", {"a": "b"}, {"quotes"}),
        ("{a: 1}", {"a": 1}, {"quotes"}),
        (r"{'a': 'it\'s'}", {"a": "it's"}, {"quotes"}),
        ("{'a': 'it's'}", {"a": "it's"}, {"quotes", "strings"}),
        ('{"a": "say "hi" now"}', {"a": 'say "hi" now'}, {"strings"}),
        ('{"a": "x\ty\nz"}', {"a": "x\ty\nz"}, {"strings"}),
        (r'{"a": "\d\u00e9\\"}', {"a": "\\dé\\"}, {"strings"}),
        (r'{"a": "\ud83d\ude00\n"}', {"a": "\U0001f600\n"}, set()),
        ("[True, False, None, null]", [True, False, None, None], {"literals"}),
        ('["a", "b",]', ["a", "b"], {"commas"}),
        ('["a,\nb" c"]', ['a,\nb" c'], {"strings"}),
        ('["5" wide", "say, "a""]', ['5" wide', 'say, "a"'], {"strings"}),
        ('["say "a", or", true]', ['say "a", or', True], {"strings"}),
        ('{"a": [1, {"b": 2}', {"a": [1, {"b": 2}]}, {"closing"}),
        ('{"a": [1, 2}', {"a": [1, 2]}, {"closing"}),
        ('{"a": {', {"a": {}}, {"closing"}),
        ('{"a": 1,', {"a": 1}, {"closing", "commas"}),
        ('{{"a": 1}}', {"a": 1}, {"braces"}),
        ('{{"a": 1}', {"a": 1}, {"braces"}),
        ('{"a": 1, "b": 2, "a": 3}', {"b": 2, "a": 3}, {"keys"}),
        ('{"a": {"b": 1, "b": 2}}', {"a": {"b": 2}}, {"keys"}),
        ('{"a": 1 "c": 2}', {"a": 1, "c": 2}, {"commas"}),
        ('{"a": ["b"]\n"c": 2}', {"a": ["b"], "c": 2}, {"commas"}),
        ('{"a": "b" "c": "d"}', {"a": "b", "c": "d"}, {"commas"}),
        ("{'a': 'b'\n'c': 'd'}", {"a": "b", "c": "d"}, {"commas", "quotes"}),
        ('{"a": 1,, "c": 2}', {"a": 1, "c": 2}, {"commas"}),
        ('{"a": "b",, "c": ["d",, "e"],,}', {"a": "b", "c": ["d", "e"]}, {"commas"}),
        ("[{} {}, [] []]", [{}, {}, [], []], {"commas"}),
        ('{"a": 1, // one\n"b": /* two */ 2 # end\n}', {"a": 1, "b": 2}, {"comments"}),
        ('{"a": "b", // it\'s "c"\n"c" /* d */: "e" /* f */}', {"a": "b", "c": "e"}, {"comments"}),
        ('{"a": "http://x # y", "b": "/* c */"}', {"a": "http://x # y", "b": "/* c */"}, set()),
        ('"a", b', "a", set()),
        ("-1.5e3", -1500.0, set()),
    ],
)
def test_a_mistake_is_repaired_and_named(text: str, value: Any, repairs: set[str]) -> None:
    found, codes = read(text)
    assert same(found, value)
    assert codes == {f"repaired-{code}" for code in repairs}


@pytest.mark.parametrize(
    "text",
    [
        *(
            '{"a": "b',
            '{"a": ',
            '{"a"',
            "{1: 2}",
            '{"a" 1}',
            "[1 2]",
            "[1}",
            "",
        ),
        *(
            "[[[[[[1]]]]]]",
            '["a": "b"]',
            '{"a": "say "no" "c": "d"}',
            '{"a": "b" "c d": "e"}',
            "[01]",
            "[nope]",
            "[NaN]",
            '{"a": }',
        ),
        *(
            '{"a": 1, "b: true, "c": 2}',
            '{"a: "b", "c": true}',
            '{"a"b": 1}',
            "{'it's': 1}",
            '["a, "b"]',
            '["a, "b", "c"]',
            '["a", b"]',
            "{{{{{{",
            '{{{"a": {{{"b": 1}}}}}}',
            '{"a": 1, // "b": 2}',
            '{"a": 1 /* "b": 2}',
        ),
    ],
)
def test_what_is_not_sure_is_not_repaired(text: str) -> None:
    with pytest.raises(Unrepairable):
        read(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": "b" "c d": 1}', 'a comma is missing before "c d"'),
        ("{'a': 'b'\n'c,': 'd'}", "a comma is missing before 'c,'"),
        ('["a", 1 "c"]', "a comma is missing before character 9"),
        ('{"a": "b', "a string is not closed"),
        ('{"a" 1}', 'a colon or a comma is missing after "a"'),
        ('{"a" "b"}', 'a colon or a comma is missing after "a"'),
        ('{"a": "b, "c": 1}', "a string is not closed"),
    ],
)
def test_what_is_missing_is_said(text: str, why: str) -> None:
    with pytest.raises(Unrepairable, match=f"^{re.escape(why)}$"):
        read(text)


@pytest.mark.parametrize("bracket", ["{", "[", '{"a":', '{{"a":', "[{{'a':"])
def test_what_is_deeper_than_the_stack_is_not_repaired_whatever_is_allowed(bracket: str) -> None:
    with pytest.raises(Unrepairable, match="nested too deep"):
        Tolerant(bracket * 3000, ended=True, max_depth=10**9).read(0)


@given(st.dictionaries(WORDS, WORDS | st.integers() | st.lists(WORDS, max_size=2)), st.data())
def test_a_quote_that_is_missing_makes_nothing_that_was_not_there(
    value: dict[str, Any], data: st.DataObject
) -> None:
    text = json.dumps(value)
    quotes = [at for at, char in enumerate(text) if char == '"']
    at = data.draw(st.sampled_from(quotes)) if quotes else len(text)
    try:
        found, _ = read(text[:at] + text[at + 1 :])
    except Unrepairable:
        return
    assert same(found, value)


@pytest.mark.parametrize("text", ["[1", '{"a": 1', "[", "{", "[1,", '{"a": {', '{"a": tru'])
def test_a_text_that_breaks_off_is_not_closed_in_the_middle_of_a_value(text: str) -> None:
    with pytest.raises(Unrepairable):
        read(text, ended=False)


@pytest.mark.parametrize("text", ["[true", '{"a": "b"', '[{"a": []'])
def test_a_text_that_breaks_off_after_a_value_is_closed(text: str) -> None:
    assert read(text, ended=False)[1] == {"repaired-closing"}


@pytest.mark.parametrize("piece", [1, 2, 50])
@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("{'a}': [\"]\"]} x", 13),
        (r"['\']', 1]]", 10),
        ("{{}", None),
        ("['", None),
        ("[1, // it's ]\n 2] x", 17),
        ('[/* " ] */ 1/2 /**/] x', 20),
        ("[/* ]", None),
    ],
)
def test_brackets_close_outside_of_strings(text: str, end: int | None, piece: int) -> None:
    brackets, at = Brackets(), 0
    for start in range(0, len(text), piece):
        halt = brackets(text[start : start + piece])
        if halt:
            at = start + halt.start()
            break
    assert (brackets.state is ScanState.STOPPED) == (end is not None)
    assert at == (end or 0)


def test_keywords_are_read_up_to_their_parenthesis() -> None:
    assert read_keywords("a=1, b='x)', c=[True],) more", 5) == (
        {"a": 1, "b": "x)", "c": [True]},
        23,
    )
    assert read_keywords(" )", 5) == ({}, 2)


@pytest.mark.parametrize("text", ["1)", "a=1 b", "a=1, a=2)", "a=)", "a=1", ""])
def test_what_are_no_keywords_is_refused(text: str) -> None:
    with pytest.raises(Unrepairable):
        read_keywords(text, 5)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{'a': 1}}, {'b': 2},, {'c': 3} {'d': 4},]", [{"a": 1}, {"b": 2}, {"c": 3}, {"d": 4}]),
        ("{'a': 1} and {'b': 2}]", [{"a": 1}, None, {"b": 2}]),
        ('{"a": }, {"b": 1} {"c": 2}]', [None, {"b": 1}, {"c": 2}]),
        ('{"a": }, {"b": 1} x, {"c": 2}]', [None, None, {"c": 2}]),
        ('{"a": {"b": 1}, {"c": 2}]', [{"a": {"b": 1}}, {"c": 2}]),
        ('{"a": "x}, {"b": y}, {"c": 1}, {"d": 2}]', [None, {"c": 1}, {"d": 2}]),
        ('{"a": "x}, {"b": "y}]', [None]),
        ('{"a": "x}, {"b": [{}, {"c": 1}], "d": y}]', [None]),
        ('{"a": [{"b": }, {"c": 1}]}, {"d": 1}]', [None, {"d": 1}]),
        ('{"a": // {\n}, {"d": 1}]', [None, {"d": 1}]),
        ('{"a": ]', [None]),
    ],
)
def test_a_broken_element_costs_no_other(text: str, found: list[object]) -> None:
    row = mend(text, ended=True, depth=10, in_array=True)
    assert [None if isinstance(one, Broken) else one.value for one in row] == found


def test_a_row_without_brackets_ends_with_the_text() -> None:
    row = list(mend('{"a": "x}\n}, {"b": 1}', ended=True, depth=10, in_array=False))
    assert [None if isinstance(one, Broken) else one.value for one in row] == [None, {"b": 1}]


def test_what_is_nested_too_deep_is_no_clean_element() -> None:
    text = '{"a": "x}}, {"b": ' + "[" * 100_000
    assert len(list(mend(text, ended=True, depth=10, in_array=True))) == 1


def test_what_stands_behind_a_value_is_no_part_of_it() -> None:
    with pytest.raises(ValueError, match="stands after it"):
        read_mended('{"a": 1, "a": 2} x', strict=False, depth=5)


@pytest.mark.parametrize("piece", [1, 2, 50])
def test_brackets_of_python_are_looked_for_only_so_far(piece: int) -> None:
    brackets, text = PythonBrackets(6), "('a)', [b]) x"
    for start in range(0, len(text), piece):
        if brackets(text[start : start + piece]):
            break
    assert brackets.state is ScanState.BROKEN
    assert not brackets.is_closed
