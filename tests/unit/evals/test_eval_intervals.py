"""Intervals hold: over simulated evaluations the true value lies inside as often as they say."""

from __future__ import annotations

import math
import random
from statistics import stdev

import pytest

from callblocks.evals.report import Amount, amount, difference, share, told_apart, wilson

SIMULATIONS = 200


def test_wilson_is_the_interval_of_the_book() -> None:
    low, high = wilson(8, 10)
    assert (round(low, 3), round(high, 3)) == (0.49, 0.943)
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson(0, 20)[0] == 0.0
    assert wilson(20, 20)[1] == 1.0


def _covered(truth: float, tasks: int, repeats: int, spread: float, seed: int) -> int:
    """Simulate evaluations whose tasks differ in difficulty; count the intervals that hold."""
    source, held = random.Random(seed), 0
    for _ in range(SIMULATIONS):
        trials = {
            f"{task}": [source.random() < chance for _ in range(repeats)]
            for task in range(tasks)
            for chance in [truth + source.choice((-spread, spread))]
        }
        found = share(trials)
        held += found.low <= truth <= found.high
    return held


@pytest.mark.parametrize("truth", [0.9, 0.6, 0.3])
@pytest.mark.parametrize(("tasks", "repeats"), [(80, 1), (40, 1), (30, 4)])
@pytest.mark.parametrize("spread", [0.0, 0.1])
def test_the_true_value_lies_in_90_to_99_percent_of_the_intervals(
    truth: float, tasks: int, repeats: int, spread: float
) -> None:
    held = _covered(truth, tasks, repeats, spread, seed=tasks)
    assert 0.90 <= held / SIMULATIONS <= 0.99


def test_repeats_of_tasks_that_differ_count_less_than_tasks() -> None:
    alike = {f"{task}": [task % 2 == 0] * 10 for task in range(20)}
    mixed = {f"{task}": [n % 2 == 0 for n in range(10)] for task in range(20)}
    one, other = share(alike), share(mixed)
    assert one.value == other.value == 0.5
    assert one.high - one.low > 2 * (other.high - other.low)
    once = share({name: row[:1] for name, row in alike.items()})
    assert one.high - one.low == pytest.approx(once.high - once.low, rel=0.1)


def test_nothing_tried_says_nothing() -> None:
    assert share({}).count == 0
    assert share({"a": []}) == share({})
    assert difference({"a": [True]}, {"b": [True]}) == (0.0, -1.0, 1.0)


def test_the_interval_of_a_mean_is_students() -> None:
    # Quantiles of the book for 1, 2, 3, 5, 10 and 30 degrees of freedom.
    book = {1: 12.706, 2: 4.303, 3: 3.182, 5: 2.571, 10: 2.228, 30: 2.042}
    for freedom, quantile in book.items():
        values = {f"{n}": [1000.0 + n % 2] for n in range(freedom + 1)}
        found = amount(values)
        assert found.value is not None
        assert found.high is not None
        spread = stdev(row[0] for row in values.values()) / math.sqrt(freedom + 1)
        assert (found.high - found.value) / spread == pytest.approx(quantile, rel=0.03)
    assert amount({}) == Amount()
    assert amount({"a": []}) == Amount()
    assert amount({"a": [2.0, 4.0]}) == Amount(3.0, count=2)
    assert amount({"a": [0.0], "b": [1.0]}).low == 0.0


def test_two_models_that_are_equal_are_seldom_told_apart() -> None:
    source, apart = random.Random(3), 0
    for _ in range(SIMULATIONS):
        rows = [{f"{n}": [source.random() < 0.7] for n in range(60)} for _ in range(2)]
        apart += told_apart(rows[0], rows[1]) or told_apart(rows[1], rows[0])
    assert apart / SIMULATIONS <= 0.10


def test_a_clear_difference_is_told() -> None:
    good = {f"{n}": [n % 10 != 0] for n in range(80)}
    bad = {f"{n}": [n % 10 < 6] for n in range(80)}
    assert told_apart(good, bad)
    assert not told_apart(bad, good)
    assert not told_apart(good, good)
