from __future__ import annotations

from typing import Any

import pytest

from callblocks.core.errors import BadPolicy, CallerError
from callblocks.core.toml_text import parse_toml


def refuse(_: dict[str, Any]) -> None:
    raise CallerError("a: is odd")


def test_what_is_read_of_the_tables_is_returned() -> None:
    assert parse_toml("a = 1\n[b]\nc = 2\n", "config", "c.toml", dict) == {"a": 1, "b": {"c": 2}}


@pytest.mark.parametrize("name", ["", "c.toml"])
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = ", "not TOML: "),
        ("a = " + "[" * 5000, "nested too deep to be a config"),
        ("a = 1", "a: is odd"),
    ],
)
def test_every_complaint_begins_with_the_file(text: str, problem: str, name: str) -> None:
    with pytest.raises(CallerError) as raised:
        parse_toml(text, "config", name, refuse)
    assert str(raised.value).startswith(f"{name}: {problem}" if name else problem)


def test_a_complaint_is_of_the_kind_that_the_caller_raises() -> None:
    with pytest.raises(BadPolicy, match=r"p\.toml: not TOML"):
        parse_toml("a = ", "policy", "p.toml", dict, BadPolicy)
