"""Step-by-step expansion of a rule: years, months, weeks or days; hours, minutes or seconds.

    FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-1

    step     a month, from the one of the start on
    days     those of the month that BYDAY, BYMONTHDAY … leave
    times    of each day: BYHOUR, BYMINUTE, BYSECOND, else the time of the start
    chosen   of these, the ones that BYSETPOS names

Each step spends work for the days and times that it examines, also where the rule does not fire, so
a rule that never fires ends with `Spent`. An iterator that only yields times would never return.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from math import prod

from callblocks.toolkits.workspace.local.rule_days import RuleDays
from callblocks.toolkits.workspace.local.work import Work
from callblocks.toolkits.workspace.recurrence import DAYS, Rule

__all__ = ("UNITS", "first_step", "steps")

# Seconds of a step, for frequencies whose steps are equally long.
UNITS = {"SECONDLY": 1, "MINUTELY": 60, "HOURLY": 3_600, "DAILY": 86_400, "WEEKLY": 604_800}

_SHORT = ("SECONDLY", "MINUTELY", "HOURLY")
_CLOCK = ("BYHOUR", "BYMINUTE", "BYSECOND")
_LAST_YEAR = 9999
# Units of work for testing one time of the clock.
_LOOK = 5


def steps(
    rule: Rule, begin: datetime, first: int, last: datetime, work: Work
) -> Iterator[datetime]:
    """Yield the times of a rule in order, from a step on until one starts after `last`."""
    follow = _by_clock if rule.freq in _SHORT else _by_days
    return follow(rule, begin, first, last, work)


def first_step(rule: Rule, begin: datetime, low: datetime) -> int:
    """Return a step that is certainly not after `low`."""
    if low <= begin:
        return 0
    if rule.freq in UNITS:
        number = int((low - begin).total_seconds()) // (rule.interval * UNITS[rule.freq])
    else:
        months = (low.year - begin.year) * 12 + low.month - begin.month
        number = months // (rule.interval * (12 if rule.freq == "YEARLY" else 1))
    # One step less: a step may contain times before the start's own position in it (WKST,
    # BYMONTHDAY).
    return max(0, number - 1)


def _by_days(
    rule: Rule, begin: datetime, first: int, last: datetime, work: Work
) -> Iterator[datetime]:
    days = RuleDays(rule, begin.date())
    times = _times(rule, begin.time(), _CLOCK)
    number = first
    months = days.months
    while (period := _period(rule, begin.date(), number, months, last.date())) is not None:
        work.spend(1 + len(period) * days.cost)
        held = [day for day in period if days.holds(day)]
        # Spend before building the list: BYHOUR, BYMINUTE and BYSECOND together can name 86,400
        # times a day.
        work.spend(len(held) * len(times))
        found = [datetime.combine(day, at) for day in held for at in times]
        yield from _given(rule, found, begin)
        number += 1


def _period(
    rule: Rule, begin: date, number: int, months: list[int], last: date
) -> list[date] | None:
    """Return the days of a step; `None` once it starts after `last`."""
    ahead = number * rule.interval
    if rule.freq in ("DAILY", "WEEKLY"):
        length = 7 if rule.freq == "WEEKLY" else 1
        # Weeks begin at WKST, which decides which days belong to one step if INTERVAL is not 1.
        back = (begin.weekday() - DAYS.index(rule.wkst or "MO")) % 7 if length == 7 else 0
        first = begin.toordinal() - back + ahead * length
        if first > last.toordinal():
            return None
        return [date.fromordinal(day) for day in range(max(first, 1), first + length)]
    if rule.freq == "MONTHLY":
        years, month = divmod(begin.month - 1 + ahead, 12)
        return _months(begin.year + years, [month + 1], last)
    return _months(begin.year + ahead, months, last)


def _months(year: int, months: list[int], last: date) -> list[date] | None:
    if year > _LAST_YEAR or date(year, months[0], 1) > last:
        return None
    return [
        date(year, month, day)
        for month in months
        for day in range(1, monthrange(year, month)[1] + 1)
    ]


def _by_clock(
    rule: Rule, begin: datetime, first: int, last: datetime, work: Work
) -> Iterator[datetime]:
    days = RuleDays(rule, begin.date())
    named = {name: frozenset(map(int, rule.by[name])) for name in _CLOCK if name in rule.by}
    smaller = {"HOURLY": ("BYMINUTE", "BYSECOND"), "MINUTELY": ("BYSECOND",)}.get(rule.freq, ())
    around = prod(len(named.get(name, (0,))) for name in smaller)
    length = rule.interval * UNITS[rule.freq]
    end = int((last - begin).total_seconds())
    number = first
    while number * length <= end:
        at = begin + timedelta(seconds=number * length)
        work.spend(_LOOK)
        later = _not_before(rule, named, days, at)
        if later is None:
            work.spend(around)
            found = [datetime.combine(at.date(), one) for one in _times(rule, at.time(), smaller)]
            yield from _given(rule, found, begin)
            number += 1
        else:
            # Jump to the first step at or after the next possible time instead of testing each
            # second.
            ahead = int((later - begin).total_seconds())
            number = max(number + 1, -(-ahead // length))


def _not_before(
    rule: Rule, named: dict[str, frozenset[int]], days: RuleDays, at: datetime
) -> datetime | None:
    """Return the next time worth testing if the rule does not fire; `None` if it does."""
    if not days.holds(at.date()):
        return datetime.combine(at.date(), time()) + timedelta(days=1)
    hour = at.replace(minute=0, second=0)
    if at.hour not in named.get("BYHOUR", (at.hour,)):
        return hour + timedelta(hours=1)
    if rule.freq != "HOURLY" and at.minute not in named.get("BYMINUTE", (at.minute,)):
        return at.replace(second=0) + timedelta(minutes=1)
    if rule.freq == "SECONDLY" and at.second not in named.get("BYSECOND", (at.second,)):
        return at + timedelta(seconds=1)
    return None


def _times(rule: Rule, given: time, names: tuple[str, ...]) -> list[time]:
    """Return the times of a day that a rule names; parts that it does not name are as given."""

    def numbers(name: str, own: int) -> list[int]:
        named = rule.by.get(name) if name in names else None
        return sorted({int(text) for text in named}) if named else [own]

    return [
        time(hour, minute, second)
        for hour in numbers("BYHOUR", given.hour)
        for minute in numbers("BYMINUTE", given.minute)
        for second in numbers("BYSECOND", given.second)
    ]


def _given(rule: Rule, found: list[datetime], begin: datetime) -> Iterator[datetime]:
    # BYSETPOS selects from the whole step, so it is applied before times ahead of the start are
    # dropped (RFC 5545, 3.3.10).
    positions = [int(text) for text in rule.by.get("BYSETPOS", ())]
    if positions:
        places = {one - 1 if one > 0 else len(found) + one for one in positions}
        found = [one for place, one in enumerate(found) if place in places]
    yield from (one for one in found if one >= begin)
