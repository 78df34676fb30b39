"""Dialects are loaded when they are asked for."""

from __future__ import annotations

import pytest

from callblocks import dialects
from callblocks.dialects import table


@pytest.mark.parametrize("name", dialects)
def test_a_dialect_is_made_by_its_own_module(name: str) -> None:
    path = table._CLASSES[name]
    made = table._load.__wrapped__(path)
    assert (made.name, type(made)) == (name, type(dialects[name]))
