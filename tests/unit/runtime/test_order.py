from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.calls import Call
from callblocks.runtime.runtime import batches, priority
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from support.tool_runtime import call


@tool(read_only=True)
def read() -> None:
    """Read."""


@tool
def write() -> None:
    """Write."""


KNOWN = Registry([read, write])


def ids(calls: list[Call]) -> list[str]:
    return ["".join(one.id for one in batch) for batch in batches(calls, KNOWN)]


def test_no_calls_make_no_batches() -> None:
    assert batches([], KNOWN) == []


def test_a_change_waits_for_all_before_it_and_all_after_it_wait() -> None:
    names = {"a": "read", "b": "read", "c": "write", "d": "write", "e": "read", "f": "zzz"}
    assert ids([call(name, id) for id, name in names.items()]) == ["ab", "c", "d", "ef"]


def test_a_higher_priority_runs_first_and_not_beside_a_lower_one() -> None:
    calls = [call("read", "a", 1), call("read", "b", 2), call("read", "c"), call("write", "d", 2)]
    assert ids(calls) == ["b", "d", "a", "c"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (3, 3),
        (-1.5, -1.5),
        (math.inf, math.inf),
        pytest.param(10**400, 10**400, id="huge"),
        (math.nan, 0),
        (True, 0),
        ("9", 0),
        ([9], 0),
        (None, 0),
    ],
)
def test_what_is_no_number_counts_as_0(given: Any, expected: float) -> None:
    assert priority(Call(id="c", name="read", extra={"priority": given})) == expected


def test_no_priority_is_0() -> None:
    assert priority(Call(id="c", name="read")) == 0


numbers = st.none() | st.integers(-2, 2) | st.floats() | st.booleans() | st.text(max_size=1)


@given(st.lists(st.tuples(st.sampled_from(("read", "write", "zzz")), numbers), max_size=12))
def test_the_order_is_that_of_the_priorities_and_else_as_written(
    written: list[tuple[str, Any]],
) -> None:
    calls = [call(name, str(at), how) for at, (name, how) in enumerate(written)]
    found = batches(calls, KNOWN)
    flat = [one for batch in found for one in batch]
    assert flat == sorted(calls, key=lambda one: -priority(one))
    for batch in found:
        assert len({priority(one) for one in batch}) == 1
        assert len(batch) == 1 or all(one.name != "write" for one in batch)
