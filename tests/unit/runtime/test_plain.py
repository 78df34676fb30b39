from __future__ import annotations

import dataclasses
import datetime
import enum
import json
from pathlib import PurePosixPath
from typing import Any

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import ToolError
from callblocks.core.json_values import to_json_value
from callblocks.core.redaction import without_secrets


@dataclasses.dataclass
class Point:
    x: int
    y: int


class Row(msgspec.Struct):
    name: str


class Model(pydantic.BaseModel):
    when: datetime.date


class Colour(enum.Enum):
    RED = "red"


class Odd:
    def __str__(self) -> str:
        return "odd"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text", "text"),
        ("half \ud800", "half \ufffd"),
        (10**300, 10**300),
        (None, None),
        (Point(1, 2), {"x": 1, "y": 2}),
        (Row("a"), {"name": "a"}),
        ([Model(when=datetime.date(2030, 1, 31))], [{"when": "2030-01-31"}]),
        ((1, {2: "b"}), [1, {"2": "b"}]),
        ({"c"}, ["c"]),
        (Colour.RED, "red"),
        (PurePosixPath("a/b"), "a/b"),
        (Odd(), "odd"),
        ({"\udc80": ["\udc80"]}, {"\ufffd": ["\ufffd"]}),
    ],
    ids=str,
)
def test_values_become_what_they_look_like_in_json(value: Any, expected: Any) -> None:
    assert to_json_value(value) == expected


def nested(levels: int) -> list[Any]:
    deep: list[Any] = []
    for _ in range(levels):
        deep = [deep]
    return deep


def cyclic() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


@pytest.mark.parametrize(
    "value",
    [10**5000, [10**5000], nested(500), nested(100_000), cyclic(), {("a",): 1}],
    ids=["digits", "inner digits", "deep", "deepest", "cyclic", "key"],
)
def test_what_cannot_be_written_is_bad_output(value: Any) -> None:
    with pytest.raises(ToolError, match="cannot be written") as raised:
        to_json_value(value)
    assert raised.value.code == "bad_output"


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=3)
        | st.frozensets(st.integers(), max_size=2)
    ),
    max_leaves=8,
)


@given(anything)
def test_whatever_comes_out_can_be_written_and_is_plain_already(value: Any) -> None:
    found = to_json_value(value)
    json.dumps(found).encode()
    msgspec.json.encode(found)
    assert repr(to_json_value(found)) == repr(found)
    assert repr(without_secrets(without_secrets(found))) == repr(without_secrets(found))
