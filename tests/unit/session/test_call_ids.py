"""Ids of calls: the model's own where they are new and can be a name, else others."""

from __future__ import annotations

import re
from itertools import count

import pytest

from callblocks.session.reply import CallIds, random_id


def ids(*taken: str) -> CallIds:
    numbers = count(1)
    return CallIds("turn_1", taken.__contains__, lambda: f"made-{next(numbers)}")


def test_an_id_of_the_models_own_stays() -> None:
    assert [ids().give(said) for said in ("c1", "call_7-b")] == ["c1", "call_7-b"]


@pytest.mark.parametrize("said", ["tool-call-1", "a b", "a/b", "", "é" * 300, "\ud800", "old"])
def test_one_that_says_nothing_or_was_used_is_replaced(said: str) -> None:
    assert ids("old").give(said) == "made-1"


def test_no_id_is_given_twice() -> None:
    own = ids()
    assert [own.give("c1") for _ in range(3)] == ["c1", "made-1", "made-2"]


def test_ids_that_are_made_are_names() -> None:
    assert re.fullmatch(r"tc_[0-9a-f]{12}", random_id())
    assert random_id() != random_id()
