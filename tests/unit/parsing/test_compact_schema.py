"""A compact schema keeps what a call needs."""

from __future__ import annotations

import json

from callblocks.core.specs import ToolSpec
from callblocks.parsing.teaching import compact_spec

PARAMETERS = {
    "type": "object",
    "properties": {
        "description": {"type": "string", "description": "What it is, in words. More of it."},
        "size": {"type": "integer", "minimum": 1, "default": 3, "examples": [4]},
        "tags": {"type": "array", "items": {"enum": ["description", "b"]}},
        "any": True,
        "point": {"anyOf": [{"$ref": "#/$defs/point"}, {"type": "null"}]},
    },
    "required": ["description"],
    "additionalProperties": False,
    "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number", "title": "X"}}}},
}


def test_what_a_call_needs_stays_and_the_rest_goes() -> None:
    spec = compact_spec(ToolSpec("draw", "Draw a thing.\n\nA long story.", PARAMETERS, body="any"))
    assert (spec.name, spec.description, spec.body) == ("draw", "Draw a thing", "any")
    assert spec.parameters == {
        "type": "object",
        "properties": {
            "description": {"type": "string", "description": "What it is"},
            "size": {"type": "integer"},
            "tags": {"type": "array", "items": {"enum": ["description", "b"]}},
            "any": True,
            "point": {"anyOf": [{"$ref": "#/$defs/point"}, {"type": "null"}]},
        },
        "required": ["description"],
        "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}}}},
    }


def test_a_schema_whose_names_stand_in_no_object_is_left_alone() -> None:
    odd = compact_spec(ToolSpec("f", parameters={"type": "object", "$defs": ["x"]}))
    assert json.dumps(odd.parameters) == '{"type": "object", "$defs": ["x"]}'
