"""Confidence intervals of shares, and whether two shares can be told apart.

A share is the mean over tasks like these. Repeats of a task are not independent: a model that fails
a task once fails it again more often than another. So the interval is Wilson's, with the number of
trials divided by the design effect: how much more the shares of tasks vary than coins of that
probability would. With one repeat for each task that is Wilson's interval as it is.

Two setups ran the same tasks, so their difference is taken task by task: what makes a task hard for
both falls out. They are told apart where the interval of the mean difference leaves out zero. With
several setups each of them is compared with the best, and the intervals are wider (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist, fmean, stdev

import msgspec

__all__ = ("Amount", "Share", "amount", "difference", "share", "told_apart", "wilson")

LEVEL = 0.95


class Share(msgspec.Struct, frozen=True):
    """A share of trials with its 95 % interval; `count` is the number of trials."""

    value: float
    low: float
    high: float
    count: int


class Amount(msgspec.Struct, frozen=True):
    """A mean over tasks with its 95 % interval; one value has no interval, and none no mean."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    count: int = 0


def wilson(right: float, count: float, level: float = LEVEL) -> tuple[float, float]:
    """Return Wilson's interval of a share; everything is possible where nothing was tried."""
    if count <= 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + level) / 2)
    p = right / count
    middle = (p + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(p * (1 - p) / count + z * z / (4 * count * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def share(trials: Mapping[str, Sequence[bool]]) -> Share:
    """Return the share of right trials; they are given by task."""
    known = {name: row for name, row in trials.items() if row}
    count = sum(map(len, known.values()))
    if not count:
        return Share(0.0, 0.0, 1.0, 0)
    right = sum(sum(row) for row in known.values())
    value, effect = right / count, _design_effect(list(known.values()))
    low, high = wilson(right / effect, count / effect)
    return Share(value, low, high, count)


def _design_effect(rows: Sequence[Sequence[bool]]) -> float:
    """Return how much more the mean varies than that of independent trials; at least 1."""
    tasks, count = len(rows), sum(map(len, rows))
    p = sum(map(sum, rows)) / count
    if tasks < 2 or count == tasks or p in (0.0, 1.0):
        return count / tasks if p in (0.0, 1.0) else 1.0
    # The variance of the mean between tasks, against that of a coin.
    residuals = sum((sum(row) - p * len(row)) ** 2 for row in rows)
    between = residuals * tasks / (tasks - 1) / count**2
    return max(1.0, between / (p * (1 - p) / count))


def amount(values: Mapping[str, Sequence[float]]) -> Amount:
    """Return the mean over tasks of values that are given by task, with Student's interval."""
    means = [fmean(row) for row in values.values() if row]
    count = sum(map(len, values.values()))
    if not means:
        return Amount()
    mean = fmean(means)
    if len(means) == 1:
        return Amount(round(mean, 4), count=count)
    half = _student(len(means) - 1) * stdev(means) / math.sqrt(len(means))
    # Nothing that is measured here is less than zero.
    low, high = max(0.0, mean - half), mean + half
    return Amount(round(mean, 4), round(low, 4), round(high, 4), count)


def _student(freedom: int) -> float:
    """Return the two-sided quantile of Student's distribution: exact for 1 and 2 degrees, and
    from 3 on by the expansion of Cornish and Fisher, which is less than 3 % off.
    """
    if freedom == 1:
        return math.tan(math.pi * LEVEL / 2)
    if freedom == 2:
        return LEVEL * math.sqrt(2 / (1 - LEVEL**2))
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    terms = (
        (z**3 + z) / (4 * freedom),
        (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2),
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3),
    )
    return z + sum(terms)


def difference(
    one: Mapping[str, Sequence[bool]],
    other: Mapping[str, Sequence[bool]],
    comparisons: int = 1,
) -> tuple[float, float, float]:
    """Return the mean difference of two setups over their common tasks, with its interval."""
    names = [name for name in one if one[name] and other.get(name)]
    gaps = [fmean(one[name]) - fmean(other[name]) for name in names]
    if len(gaps) < 2:
        return (gaps[0] if gaps else 0.0), -1.0, 1.0
    mean = fmean(gaps)
    variance = sum((gap - mean) ** 2 for gap in gaps) / (len(gaps) - 1)
    # Where no task differs the sample has no variance; one task more that differs is thinkable.
    least = 1 / len(gaps) ** 2
    z = NormalDist().inv_cdf(1 - (1 - LEVEL) / 2 / comparisons)
    half = z * math.sqrt(max(variance / len(gaps), least / len(gaps)))
    return mean, mean - half, mean + half


def told_apart(
    one: Mapping[str, Sequence[bool]],
    other: Mapping[str, Sequence[bool]],
    comparisons: int = 1,
) -> bool:
    """Return whether the first is better than the other by more than chance."""
    return difference(one, other, comparisons)[1] > 0
