"""When a series happens: its rule counted in its own zone, one occurrence after the other.

A rule is counted lazily and only near the time that is asked for: what lies before is skipped by
arithmetic, not by counting. So a rule that fires each second for ever costs no more than the
occurrences that are taken. One that hardly ever fires is followed for a number of steps, and then
given up with a word about it.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import msgspec

from callblocks.toolkits.workspace.local.rule_steps import UNITS, first_step, steps
from callblocks.toolkits.workspace.recurrence import Rule

__all__ = ("STEPS", "Counting", "last_start", "starts")

STEPS = 50_000
"""Steps that one rule is followed in one request."""

_SECONDS = 2.0
"""Time that the rules of one request may take together before the rest is left out."""

_LAST = datetime(9999, 12, 30)
_FEW = 1_000
"""Occurrences that are counted to know the last one."""


class Counting(msgspec.Struct):
    """One request: what was given up, and until when it may count."""

    until: float = msgspec.field(default_factory=lambda: time.monotonic() + _SECONDS)
    given_up: set[str] = msgspec.field(default_factory=set[str])

    @property
    def over(self) -> bool:
        """Whether the time is used up."""
        return time.monotonic() > self.until


def starts(
    rules: list[Rule],
    begin: datetime,
    low: datetime,
    high: datetime,
    cut: Callable[[], None],
    ends: Callable[[str], datetime],
) -> Iterator[datetime]:
    """The starts of a series between two times, in order; all times are on its own clocks.

    `ends` reads UNTIL; `cut` is called where a rule is given up.
    """
    counted = [_of_rule(rule, begin, low, high, cut, ends) for rule in rules]
    yield begin
    seen = begin
    for start in counted[0] if len(counted) == 1 else heapq.merge(*counted):
        if start > seen:
            yield start
            seen = start


def last_start(rule: Rule, begin: datetime, ends: Callable[[str], datetime]) -> datetime | None:
    """The last start of a rule, or one a little later; `None` if there is none or it is far."""
    if rule.until:
        return max(begin, ends(rule.until))
    if rule.count is None:
        return None
    if not rule.by and rule.freq in UNITS:
        seconds = (rule.count - 1) * rule.interval * UNITS[rule.freq]
        room = (_LAST - begin).total_seconds()
        return begin + timedelta(seconds=seconds) if seconds < room else None
    if rule.count > _FEW:
        return None
    given_up: list[bool] = []
    whole = list(_of_rule(rule, begin, begin, _LAST, lambda: given_up.append(True), ends))
    return None if given_up else max([begin, *whole])


def _of_rule(
    rule: Rule,
    begin: datetime,
    low: datetime,
    high: datetime,
    cut: Callable[[], None],
    ends: Callable[[str], datetime],
) -> Iterator[datetime]:
    last = min(high, ends(rule.until), _LAST) if rule.until else min(high, _LAST)
    first, made = _skipped(rule, begin, low)
    for taken, start in enumerate(steps(rule, begin, first, last)):
        if taken >= STEPS:
            cut()
            return
        if start is None:
            continue
        made += 1
        if start > last or (rule.count is not None and made > rule.count):
            return
        yield start


def _skipped(rule: Rule, begin: datetime, low: datetime) -> tuple[int, int]:
    """The step to start with, and how often the rule has fired before it."""
    first = first_step(rule, begin, low)
    if rule.count is None:
        return first, 0
    # Each step fires once, if nothing narrows it; else there is no way but to count.
    return (first, first) if not rule.by and rule.freq in UNITS else (0, 0)
