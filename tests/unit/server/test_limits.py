from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.server.http.faults import ApiFault
from callblocks.server.http.rate_limits import Buckets, Slots


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@given(
    st.floats(0.5, 50),
    st.integers(1, 20),
    st.lists(st.floats(0, 3), max_size=60),
)
def test_a_client_never_gets_more_than_burst_and_rate(
    rate: float, burst: int, steps: list[float]
) -> None:
    clock = Clock()
    buckets = Buckets(rate, burst, clock)
    let = 0
    for step in steps:
        clock.now += step
        let += not buckets.take("a")
    assert let <= burst + rate * sum(steps) + 1


def test_who_waits_as_long_as_told_is_let_in() -> None:
    clock = Clock()
    buckets = Buckets(2.0, 1, clock)
    assert not buckets.take("a")
    wait = buckets.take("a")
    assert wait > 0
    clock.now += wait
    assert not buckets.take("a")


def test_one_client_does_not_cost_another() -> None:
    buckets = Buckets(1.0, 1, Clock())
    assert not buckets.take("a")
    assert buckets.take("a")
    assert not buckets.take("b")


def test_clients_that_are_quiet_are_forgotten() -> None:
    clock = Clock()
    buckets = Buckets(1.0, 5, clock)
    for number in range(100):
        buckets.take(str(number))
    clock.now += 60
    buckets.take("last")
    assert len(buckets) == 1


def test_many_clients_at_once_do_not_fill_the_memory() -> None:
    buckets = Buckets(0.001, 5, Clock())
    for number in range(10_500):
        buckets.take(str(number))
    assert len(buckets) <= 10_001


def test_a_slot_is_given_back() -> None:
    slots = Slots(1)
    with slots.hold(), pytest.raises(ApiFault) as caught:
        slots.check()
    assert caught.value.status == 503
    assert "retry-after" in caught.value.headers
    slots.check()
