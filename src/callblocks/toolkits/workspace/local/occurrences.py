"""When a series happens: its rule counted in its own zone, one occurrence after the other.

A rule is counted lazily and only near the time that is asked for: what lies before is skipped by
arithmetic, not by counting. So a rule that fires each second for ever costs no more than the
occurrences that are taken. One that hardly ever fires is followed until its budget of work is
spent, and then given up with a word about it.

All series of a file share one budget, and all files of a request have equal shares: a file full of
costly rules hides nothing of the others.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import msgspec

from callblocks.toolkits.workspace.local.rule_steps import UNITS, first_step, steps
from callblocks.toolkits.workspace.local.work import Spent, Work
from callblocks.toolkits.workspace.recurrence import Rule

__all__ = ("Counting", "last_start", "rule_starts", "starts")

# Units of work that the rules of one request may take together.
_REQUEST = 200_000

# Units that each file has, however many they are: some years of days.
_LEAST = 2_000

_LAST = datetime(9999, 12, 30)
# Occurrences that are counted to know the last one.
_FEW = 1_000


class Counting(msgspec.Struct):
    """One request: the file of each series by its id, and the series that were given up."""

    files: dict[str, str] = {}
    given_up: set[str] = msgspec.field(default_factory=set[str])
    _works: dict[str, Work] = msgspec.field(default_factory=dict[str, Work])

    def work(self, id: str) -> Work:
        """Return the budget of a series: the share of its file."""
        file = self.files.get(id, "")
        if file not in self._works:
            share = _REQUEST // max(1, len(set(self.files.values())))
            self._works[file] = Work(max(_LEAST, share))
        return self._works[file]


def starts(
    rules: list[Rule],
    begin: datetime,
    low: datetime,
    high: datetime,
    work: Work,
    ends: Callable[[str], datetime],
) -> Iterator[datetime]:
    """Yield the starts of a series between two times, in order; all times are on its own clocks.

    `ends` reads UNTIL; `Spent` is raised where the work is used up.
    """
    counted = [rule_starts(rule, begin, low, high, work, ends) for rule in rules]
    yield begin
    seen = begin
    for start in counted[0] if len(counted) == 1 else heapq.merge(*counted):
        if start > seen:
            yield start
            seen = start


def last_start(
    rule: Rule, begin: datetime, work: Work, ends: Callable[[str], datetime]
) -> datetime | None:
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
    try:
        return max([begin, *rule_starts(rule, begin, begin, _LAST, work, ends)])
    except Spent:
        return None


def rule_starts(
    rule: Rule,
    begin: datetime,
    low: datetime,
    high: datetime,
    work: Work,
    ends: Callable[[str], datetime],
) -> Iterator[datetime]:
    """Yield the times of one rule from about `low` to `high`, in order."""
    last = min(high, ends(rule.until), _LAST) if rule.until else min(high, _LAST)
    first, made = _skipped(rule, begin, low)
    for start in steps(rule, begin, first, last, work):
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
