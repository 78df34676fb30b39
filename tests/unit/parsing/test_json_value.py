from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.parsing.values.strict_json import read_json

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_what_was_written_is_read(value: object) -> None:
    assert read_json(json.dumps(value)) == value


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}', "1e999", "[-1e999]"])
def test_a_number_that_json_cannot_say_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a number that JSON can say"):
        read_json(text)


@pytest.mark.parametrize("text", ["", "{'a': 1}", "[1,]", "1 2", "tru"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="line 1"):
        read_json(text)


def test_what_is_nested_too_deep_is_refused() -> None:
    with pytest.raises(ValueError, match="nested too deep"):
        read_json("[" * 100_000)


def test_what_is_nested_too_deep_is_refused_before_it_is_built() -> None:
    assert read_json("[" * 100 + "]" * 100, 100) is not None
    with pytest.raises(ValueError, match="deeper than 100"):
        read_json("[" * 101 + "]" * 101, 100)


def test_many_brackets_beside_each_other_are_not_deep() -> None:
    assert read_json("[[1], [2], [3]]", 2) == [[1], [2], [3]]
