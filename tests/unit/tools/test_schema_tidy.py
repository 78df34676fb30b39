from __future__ import annotations

from typing import Any

import jsonschema_rs
from hypothesis import given
from hypothesis import strategies as st

from callblocks.tools.schema import tidy


def test_titles_go_and_a_property_named_title_stays() -> None:
    schema = {
        "title": "Input",
        "properties": {"title": {"title": "Title", "type": "string", "default": {"title": 1}}},
    }
    assert tidy(schema) == {"properties": {"title": {"type": "string", "default": {"title": 1}}}}


def test_what_stands_beside_a_reference_wins() -> None:
    schema = {
        "properties": {"x": {"$ref": "#/$defs/A", "description": "own"}},
        "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"type": "string", "description": "shared"}},
    }
    assert tidy(schema) == {"properties": {"x": {"type": "string", "description": "own"}}}


def test_references_inside_every_keyword_are_inlined() -> None:
    schema = {
        "anyOf": [{"$ref": "#/$defs/A"}],
        "items": [{"$ref": "#/$defs/A"}],
        "additionalProperties": {"$ref": "#/$defs/A"},
        "discriminator": {"mapping": {"a": "#/$defs/A"}},
        "$defs": {"A": {"type": "null"}},
    }
    null = {"type": "null"}
    assert tidy(schema) == {"anyOf": [null], "items": [null], "additionalProperties": null}


def test_a_definition_may_be_true_or_false() -> None:
    schema = {"items": {"$ref": "#/$defs/A"}, "$defs": {"A": False}}
    assert tidy(schema) == {"items": {"allOf": [False]}}


def test_definitions_that_hold_each_other_stay() -> None:
    schema = {
        "items": {"$ref": "#/$defs/A"},
        "$defs": {
            "A": {"items": {"$ref": "#/$defs/B"}},
            "B": {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/C"}]},
            "C": {"type": "null"},
        },
    }
    assert tidy(schema) == {
        "items": {"$ref": "#/$defs/A"},
        "$defs": {
            "A": {"items": {"$ref": "#/$defs/B"}},
            "B": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]},
        },
    }


def test_definitions_that_would_grow_without_end_stay() -> None:
    pairs = {
        f"D{n}": {"prefixItems": [{"$ref": f"#/$defs/D{n + 1}"}] * 2, "title": "T"}
        for n in range(40)
    }
    schema = {"items": {"$ref": "#/$defs/D0"}, "$defs": {**pairs, "D40": {"type": "null"}}}
    made = tidy(schema)
    assert made["items"] == {"$ref": "#/$defs/D0"}
    assert len(made["$defs"]) == 41
    assert "title" not in str(made)


names = st.sampled_from("ABC")
parts = st.recursive(
    names.map(lambda name: {"$ref": f"#/$defs/{name}"})
    | st.sampled_from([{"type": "integer", "title": "T"}, {"type": "string"}, {}, True]),
    lambda inner: (
        st.fixed_dictionaries({"items": inner})
        | st.fixed_dictionaries({"properties": st.dictionaries(names, inner, max_size=2)})
        | st.fixed_dictionaries(
            {"type": st.just("object"), "required": st.lists(names, max_size=1)}
        )
    ),
    max_leaves=4,
)
instances = st.recursive(
    st.integers() | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=6,
)


@given(parts, st.fixed_dictionaries(dict.fromkeys("ABC", parts)), instances)
def test_a_tidy_schema_means_the_same(part: Any, definitions: dict[str, Any], value: Any) -> None:
    schema = {"properties": {"x": part}, "$defs": definitions}
    given_value = {"x": value}
    same = jsonschema_rs.is_valid(tidy(schema), given_value)
    assert same == jsonschema_rs.is_valid(schema, given_value)
