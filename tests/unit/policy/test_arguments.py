from __future__ import annotations

from typing import Any

import pytest

from callblocks.policy.rules import reach, text_of


@pytest.mark.parametrize(
    ("given", "name", "found"),
    [
        ({"a": 1}, "a", [1]),
        ({"a": None}, "a", [None]),
        ({"a": 1}, "b", []),
        ({}, "", []),
        ({"a": {"b": 2}}, "a.b", [2]),
        ({"a": {"b": {"c": 3}}}, "a.b.c", [3]),
        ({"a.b": 1, "a": {"b": 2}}, "a.b", [1, 2]),
        ({"a.b": {"c": 1}, "a": {"b.c": 2, "b": {"c": 3}}}, "a.b.c", [2, 3, 1]),
        ({"a": "text"}, "a.b", []),
        ({"a": ["b"]}, "a.b", []),
        ({"a": {"b": 1}}, "a.", []),
        ({"": {"b": 1}}, ".b", [1]),
        ([1], "a", []),
        ("a", "a", []),
    ],
)
def test_a_dotted_name_reaches_all_that_it_may_mean(
    given: Any, name: str, found: list[Any]
) -> None:
    assert reach(given, name) == found


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a b", "a b"),
        ("1", "1"),
        ("\ud800", "\ud800"),
        (1, "1"),
        (1.0, "1.0"),
        (True, "true"),
        (None, "null"),
        ([1, "a"], '[1,"a"]'),
        ({"b": 1, "a": {"é": None}}, '{"a":{"é":null},"b":1}'),
        (float("nan"), "NaN"),
    ],
)
def test_a_value_is_its_text_or_compact_json(value: object, text: str) -> None:
    assert text_of(value) == text


def circle() -> list[Any]:
    one: list[Any] = []
    one.append(one)
    return one


def deep() -> list[Any]:
    one: list[Any] = []
    for _ in range(100_000):
        one = [one]
    return one


@pytest.mark.parametrize("value", [b"x", object(), 10**5000, {1: 1, "a": 2}, {(1,): 1}], ids=type)
def test_what_has_no_text_is_none(value: object) -> None:
    assert text_of(value) is None


def test_what_never_ends_has_no_text() -> None:
    assert text_of(circle()) is None
    assert text_of(deep()) is None
