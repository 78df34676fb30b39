"""Text becomes what its schema says, or stays the text it is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.parsing.same import same
from callblocks.parsing.typed import typed


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("7", {"type": "integer"}, 7),
        (" 7 ", {"type": "integer"}, 7),
        ("-0", {"type": "integer"}, 0),
        ("7", {"type": "number"}, 7),
        ("7.5", {"type": "number"}, 7.5),
        ("1e3", {"type": "number"}, 1000.0),
        ("true", {"type": "boolean"}, True),
        ("False", {"type": "boolean"}, False),
        ("null", {"type": "null"}, None),
        ("None", {"type": "null"}, None),
        ("[1, {}]", {"type": "array"}, [1, {}]),
        ('{"a": []}', {"type": "object"}, {"a": []}),
        ("7", {"type": "string"}, "7"),
        (" 7 ", {"type": "string"}, " 7 "),
        ("7", {"type": ["string", "integer"]}, 7),
        ("x", {"type": ["string", "integer"]}, "x"),
        ("null", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, None),
        ("7", {"oneOf": [{"type": "boolean"}, {"type": "integer"}]}, 7),
        ("7", {}, "7"),
        ("7", True, "7"),
        ("7", False, "7"),
    ],
)
def test_text_that_fits_is_the_value_it_says(text: str, schema: Any, value: Any) -> None:
    found, fits, _ = typed(text, schema)
    assert same(found, value)
    assert fits


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("7.0", "integer"),
        ("1e3", "integer"),
        ("07", "integer"),
        ("+7", "integer"),
        ("٣", "integer"),
        ("9" * 5000, "integer"),
        ("1e999", "number"),
        ("nan", "number"),
        ("", "number"),
        ("yes", "boolean"),
        ("1", "boolean"),
        ("nil", "null"),
        ("{}", "array"),
        ("[1", "array"),
        ("[]", "object"),
        ("[" * 100_000, "array"),
        ("7", "unheard-of"),
    ],
)
def test_text_that_does_not_fit_stays_text(text: str, kind: str) -> None:
    assert typed(text, {"type": kind}) == (text, False, ())


@given(st.text())
def test_a_string_stays_exactly_as_written(text: str) -> None:
    assert typed(text, {"type": "string"}) == (text, True, ())
    assert typed(text, {}) == (text, True, ())


@given(st.text(), st.sampled_from(["integer", "number", "boolean", "null", "array", "object"]))
def test_any_text_is_taken_for_any_type(text: str, kind: str) -> None:
    value, fits, _ = typed(text, {"type": kind})
    assert fits or value == text
