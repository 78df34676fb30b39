"""Whatever is written reads back as the same value, to us and to readers of YAML 1.1."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from callblocks.parsing.values.yaml_core import YamlError, dump, load

characters = st.characters(exclude_categories=["Cs"])
texts = st.one_of(
    st.text(characters),
    st.text(st.sampled_from("ab \t\n:-#'\"|>\\\r\x85\u2028\ufeff\0~é🛠")),
    st.text(st.sampled_from("a  \n\n\t")),
    st.text(st.sampled_from("0123456789._-+:eExobTZ ")),
    st.sampled_from(
        [
            *("yes", "No", "ON", "off", "y", "N", "true", "False", "null", "~", "", "=", "<<"),
            *(
                "2024-01-02",
                "12:30:45",
                "1_000",
                "0b1",
                "0o17",
                "017",
                "1e3",
                ".inf",
                "-.INF",
                ".nan",
            ),
            *(
                "---",
                "...",
                "- a",
                "? a",
                "a: b",
                "a #b",
                "a:",
                ":a",
                "#a",
                "&a",
                "*a",
                "!a",
                "%a",
                "@a",
            ),
            *(
                "---\n",
                "...\na",
                "a\n---\nb",
                "- a\n- b\n",
                "# a\nb",
                "\ta\nb",
                "a\n\t\nb",
                " \n",
                "a\n ",
            ),
        ]
    ),
)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)
mappings = st.dictionaries(texts, values, max_size=4)


def typed(value: Any) -> Any:
    """Tell apart what `==` does not: types, key order, the sign of zero."""
    if isinstance(value, dict):
        return [(key, typed(item)) for key, item in value.items()]
    if isinstance(value, list):
        return (list, *map(typed, value))
    return type(value), repr(value)


@given(mappings | values)
@example({"a" * 1100: {"b" * 1100: [{"c\n" * 600: "d"}, [{"e" * 1100: "f\n"}]]}})
@example({"a": [[[], [[1, {"b": [{}]}]], "x\ny"]]})
@example({"a": "x\n\n\n", "b": ["\n x\n\n", "  x\ny", {"c": "\n\nx"}]})
@example({"long": "x" * 5000, "list": ["x y" * 2000]})
def test_reading_what_was_written_gives_the_same_value(value: Any) -> None:
    assert typed(load(dump(value))) == typed(value)


@given(mappings)
def test_a_reader_of_yaml_1_1_gets_the_same_value(value: dict[str, Any]) -> None:
    text = dump(value)
    assert typed(yaml.load(text, yaml.SafeLoader)) == typed(value)
    assert typed(yaml.load(text, yaml.CSafeLoader)) == typed(value)


@given(texts, texts, values)
def test_writing_is_the_same_at_any_depth(key: str, text: str, value: Any) -> None:
    nested: dict[str, Any] = {"a": [{key: text, key + "2": [text, [value, {key: text}]]}]}
    assert typed(load(dump(nested))) == typed(nested)


def test_people_can_read_it() -> None:
    value = {
        "state": "output-available",
        "input": {"query": "cats & dogs", "exact": True, "limit": 3, "answer": "no"},
        "output": {
            "results": [
                {"title": "All About Cats", "url": "https://example.com/cats?q=1#top", "tags": []},
                {"title": "C# in #1: depth", "score": 1e20, "parts": [[1, 2.5], None, {}]},
            ],
            "script": 'for cat in cats:\n    print("meow")\n\ndone\n',
            "cut": "  indented\nend",
        },
        "when": "2024-01-02",
    }
    assert (
        dump(value)
        == """\
state: output-available
input:
  query: cats & dogs
  exact: true
  limit: 3
  answer: "no"
output:
  results:
    - title: All About Cats
      url: https://example.com/cats?q=1#top
      tags: []
    - title: "C# in #1: depth"
      score: 1.0e+20
      parts:
        - - 1
          - 2.5
        - null
        - {}
  script: |
    for cat in cats:
        print("meow")

    done
  cut: |2-
      indented
    end
when: "2024-01-02"
"""
    )


@pytest.mark.parametrize("word", ["y", "N", "yes", "NO", "On", "off", "true", "False", "Null"])
def test_words_that_some_reader_takes_for_a_boolean_or_null_are_quoted(word: str) -> None:
    assert dump({word: [word]}) == f'"{word}":\n  - "{word}"\n'


def test_what_is_not_seen_is_escaped() -> None:
    text = "\0\t\r\x1b\x7f\x85\u2028\ufeff\uffff🛠é"
    assert dump([text]) == '- "\\0\\t\\r\\u001b\\u007f\\u0085\\u2028\\ufeff\\uffff🛠é"\n'


@pytest.mark.parametrize("length", [*range(990, 1030), 100_000])
def test_keys_may_be_of_any_length(length: int) -> None:
    for char in "k\n-":
        value = {char * length: [{char * length: {char * length: "v"}}]}
        assert load(dump(value)) == value


def test_numbers_without_an_end_are_written_as_yaml_does() -> None:
    assert dump({"a": math.inf, "b": -math.inf, "c": math.nan}) == "a: .inf\nb: -.inf\nc: .nan\n"
    assert math.isnan(load(dump({"c": math.nan}))["c"])


def test_empty_values_are_written_on_their_line() -> None:
    assert [dump(value) for value in ({}, [], "", None)] == ["{}\n", "[]\n", '""\n', "null\n"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"a": "\ud800"}, "lone surrogate"),
        ({"a": "b\n\udfff"}, "lone surrogate"),
        ({"\ud800": 1}, "lone surrogate"),
        ({1: "a"}, "a key is a string, not int"),
        ({"a": {None: 1}}, "a key is a string, not NoneType"),
        ({"a": (1, 2)}, "not a JSON-like value: tuple"),
        ({"a": {1, 2}}, "not a JSON-like value: set"),
        ({"a": b"x"}, "not a JSON-like value: bytes"),
        ({"a": 10**5000}, "too long"),
    ],
)
def test_what_cannot_be_said_is_refused(value: Any, reason: str) -> None:
    with pytest.raises(YamlError, match=reason) as caught:
        dump(value)
    assert caught.value.code == "yaml"


def test_what_would_be_too_deep_to_read_is_not_written() -> None:
    value: dict[str, Any] = {"a": 1}
    for _ in range(99):
        value = {"a": value}
    assert load(dump(value)) == value
    for deeper in ({"a": value}, {"a": [value]}, endless()):
        with pytest.raises(YamlError) as caught:
            dump(deeper)
        assert caught.value.code == "too-deep"
    assert load(dump({"a": value}, 101), 101) == {"a": value}


def endless() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["again"] = [value]
    return value
