"""Lazy expansion of a series: its rule counted in its own zone.

Only the part near the requested time is counted; earlier steps are skipped by arithmetic. So a rule
that fires each second forever costs no more than the occurrences that are taken. A rule that hardly
ever fires is followed until its budget of work is spent, then given up with a notice.

All series of a file share one budget, and all files of a request have equal shares: a file full of
costly rules cannot starve the others.

Why not a library: those return the next occurrence, however long that takes. `FREQ=SECONDLY;
BYMONTH=2;BYMONTHDAY=30` never fires, and the call would not return.
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

# Budget in units of work for all rules of one request.
_REQUEST = 200_000

_LEAST = 400
"""Units that each file has, however many they are: a year of days."""

_LAST = datetime(9999, 12, 30)
# Maximum COUNT for which the last occurrence is determined by counting.
_FEW = 1_000


class Counting(msgspec.Struct):
    """The state of one request: the file of each series by id, and the series that were
    given up.
    """

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
    # DTSTART is always the first occurrence, even if the rule does not match it.
    yield begin
    seen = begin
    for start in counted[0] if len(counted) == 1 else heapq.merge(*counted):
        if start > seen:
            yield start
            seen = start


def last_start(
    rule: Rule, begin: datetime, work: Work, ends: Callable[[str], datetime]
) -> datetime | None:
    """Return the last start of a rule or a later bound; `None` if it is infinite or far."""
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
    """Return the first step to expand, and how often the rule has fired before it."""
    first = first_step(rule, begin, low)
    if rule.count is None:
        return first, 0
    # Without BY parts each step fires exactly once, so COUNT can be skipped by arithmetic. With
    # them the earlier occurrences must be counted from the start.
    return (first, first) if not rule.by and rule.freq in UNITS else (0, 0)
