from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.json_values import json_text, plain
from callblocks.timeline.codec.call_blocks import TRUNCATED, cut, shown
from callblocks.timeline.codec.ended_call import FIELDS, digest_text

anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner)
        | st.sets(st.integers(), max_size=2)
        | st.dictionaries(st.text() | st.integers() | st.none(), inner)
    ),
)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
)


@given(anything)
def test_any_value_has_a_json_text_that_can_be_stored(value: Any):
    json.loads(json_text(value).encode().decode())


@given(json_values)
def test_a_json_value_is_written_as_it_is(value: Any):
    assert json.loads(json_text(value)) == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (float("nan"), "<nan>"),
        ([10**5000], ["<int>"]),
        ("a\ud800", "a\ufffd"),
        (b"x", "<bytes>"),
        ({1: (2, None)}, {"1": [2, None]}),
    ],
)
def test_what_json_cannot_say_becomes_text(value: Any, expected: Any):
    assert plain(value) == expected


def test_what_is_nested_too_deep_ends_in_its_type():
    value: Any = []
    for _ in range(100_000):
        value = [value]
    assert json_text(value).count("[") == 200


def test_a_digest_has_its_fields_in_order_and_nothing_empty():
    given = dict.fromkeys(reversed(FIELDS), "x") | {"size_bytes": 0, "edited": False, "other": 1}
    fields = json.loads(digest_text(**given | {"error": None, "channel": "", "sources_used": []}))
    left_out = ("edited", "error", "channel", "sources_used")
    assert list(fields) == [*(name for name in FIELDS if name not in left_out), "other"]
    assert fields["size_bytes"] == 0


@given(st.text(st.characters(codec="utf-8")), st.integers(0, 20))
def test_a_text_is_cut_at_a_character(text: str, size: int):
    found = cut(text, size)
    if len(text.encode()) <= size:
        assert found == text
    else:
        start = found.removesuffix(TRUNCATED)
        assert text.startswith(start)
        assert size - 4 < len(start.encode()) <= size


@given(st.text(st.characters(codec="utf-8", exclude_characters=":=")), st.integers(0, 2000))
def test_a_text_without_secrets_is_shown_as_it_is_cut(text: str, size: int):
    assert shown(text * 40, size) == cut(text * 40, size)


@given(st.integers(0, 3_000), st.integers(0, 1_000), st.integers(1, 60))
def test_no_cut_shows_a_secret(before: int, after: int, cut_after: int):
    secret = "ghp_abcdefghijklmnop0123456789"
    text = "x" * before + " " + secret + " " + "password=hunter2222 " * after
    assert "ghp_abc" not in shown(text, before + cut_after)
    assert "hunter" not in shown(text, before + cut_after)
