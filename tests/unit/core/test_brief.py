"""Any value can stand in a message."""

from __future__ import annotations

from typing import Any

import pytest

from callblocks.core.text import brief


def test_a_value_is_said_from_its_start() -> None:
    assert brief("abc") == "'abc'"
    assert brief("abc", 3) == "'ab"
    assert brief({"a": [1]}) == "{'a': [1]}"


def deep() -> Any:
    value: Any = []
    for _ in range(5000):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "name"), [(deep(), "list"), (10**5000, "int")], ids=["deep", "long"]
)
def test_a_value_that_cannot_say_itself_is_named_by_its_type(value: Any, name: str) -> None:
    assert brief(value) == f"<{name}>"
