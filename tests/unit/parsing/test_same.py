"""Two values are the same if nothing tells them apart, their types included."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.json_values import same

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: copy(value[key]) for key in reversed(value)}
    return [copy(item) for item in value] if isinstance(value, list) else value


@given(VALUES)
def test_a_copy_is_the_same_in_any_order_of_keys(value: Any) -> None:
    assert same(value, copy(value))


@given(VALUES)
def test_a_value_is_not_the_same_as_itself_with_something_beside_it(value: Any) -> None:
    assert not same(value, [value])
    assert not same([value], [value, value])
    assert not same({"a": value}, {"b": value})
    assert not same({"a": value}, {"a": value, "b": value})


@pytest.mark.parametrize(
    ("one", "other"), [(1, 1.0), (1, True), (0, False), (None, 0), ("1", 1), ([1], [True])]
)
def test_equal_values_of_two_types_differ(one: Any, other: Any) -> None:
    assert not same(one, other)


def test_nan_is_itself_and_zero_has_no_sign() -> None:
    assert same({"a": [math.nan]}, {"a": [float("nan")]})
    assert not same(math.nan, 1.0)
