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
from calendar import isleap, monthrange
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from math import prod

import msgspec

from callblocks.toolkits.office.times import DAYS, Rule

__all__ = (
    "UNITS",
    "Counting",
    "RuleDays",
    "Spent",
    "Work",
    "first_step",
    "last_start",
    "rule_starts",
    "starts",
    "steps",
)

# --- The days of a rule: BYMONTH, BYMONTHDAY, BYYEARDAY, BYWEEKNO and BYDAY combined ---
#
# A rule that names no day takes that of its start: YEARLY its month and day, MONTHLY its day,
# WEEKLY its weekday. All BY parts are filters on a day here, instead of generators as in RFC 5545's
# table: the result is the same, and each test has a constant cost that can be charged to the
# budget.

_NAMING = ("BYMONTHDAY", "BYYEARDAY", "BYDAY", "BYWEEKNO")


class RuleDays:
    """The days of one rule for a series that begins on a day; all are in `months`.

    `cost` is the work of testing one day.
    """

    def __init__(self, rule: Rule, begin: date) -> None:
        by = dict(rule.by)
        if not any(name in by for name in _NAMING):
            _name_the_day(by, rule.freq, begin)
        if "BYWEEKNO" in by and "BYDAY" not in by:
            by["BYDAY"] = (DAYS[begin.weekday()],)
        self.months = sorted(_numbers(by, "BYMONTH")) or list(range(1, 13))
        self._month_days = _numbers(by, "BYMONTHDAY")
        self._from_end = any(number < 0 for number in self._month_days)
        self._year_days = _numbers(by, "BYYEARDAY")
        self._weeks = _numbers(by, "BYWEEKNO")
        self.cost = 4 if self._weeks else 1
        self._wkst = DAYS.index(rule.wkst or "MO")
        days = by.get("BYDAY", ())
        self._weekdays = {DAYS.index(text) for text in days if text in DAYS}
        self._nth = {(int(text[:-2]), DAYS.index(text[-2:])) for text in days if text not in DAYS}
        # `2MO` means the second Monday of the month or of the year, depending on FREQ and BYMONTH.
        self._in_month = rule.freq == "MONTHLY" or "BYMONTH" in by

    def holds(self, day: date) -> bool:
        """Tell if the rule matches a day."""
        if day.month not in self.months:
            return False
        if self._month_days and not self._on_month_day(day):
            return False
        if self._year_days and self._year_days.isdisjoint(_both(*_in_year(day))):
            return False
        if self._weeks and self._weeks.isdisjoint(_week(day, self._wkst)):
            return False
        return self._on_weekday(day)

    def _on_month_day(self, day: date) -> bool:
        if day.day in self._month_days:
            return True
        if not self._from_end:
            return False
        return day.day - _length(day) - 1 in self._month_days

    def _on_weekday(self, day: date) -> bool:
        if not self._weekdays and not self._nth:
            return True
        weekday = day.weekday()
        if weekday in self._weekdays:
            return True
        if not self._nth:
            return False
        place, size = (day.day, _length(day)) if self._in_month else _in_year(day)
        from_start, from_end = (place - 1) // 7 + 1, -((size - place) // 7 + 1)
        return (from_start, weekday) in self._nth or (from_end, weekday) in self._nth


def _name_the_day(by: dict[str, tuple[str, ...]], freq: str, begin: date) -> None:
    if freq == "YEARLY":
        by.setdefault("BYMONTH", (str(begin.month),))
    if freq in ("YEARLY", "MONTHLY"):
        by["BYMONTHDAY"] = (str(begin.day),)
    elif freq == "WEEKLY":
        by["BYDAY"] = (DAYS[begin.weekday()],)


def _numbers(by: dict[str, tuple[str, ...]], name: str) -> set[int]:
    return {int(text) for text in by.get(name, ())}


def _length(day: date) -> int:
    return monthrange(day.year, day.month)[1]


def _both(place: int, size: int) -> tuple[int, int]:
    """Return a position counted from the start, and from the end."""
    return place, place - size - 1


def _in_year(day: date) -> tuple[int, int]:
    return day.timetuple().tm_yday, 366 if isleap(day.year) else 365


def _week(day: date, wkst: int) -> tuple[int, int]:
    """Return the ISO-like week number of a day, from the start and from the end."""
    # A week belongs to the year that has at least four of its days. So the first days of January
    # can be in the last week of the previous year, and the last days of December in week 1.
    number, size = _in_year(day)
    first = _first_week(day.year, wkst)
    if number < first:
        before = 366 if isleap(day.year - 1) else 365
        return _both(*_weeks(number + before, _first_week(day.year - 1, wkst), before, first))
    following = _first_week(day.year + 1, wkst)
    if number >= size + following:
        return _both(1, _weeks(0, following, 366 if isleap(day.year + 1) else 365, 4)[1])
    return _both(*_weeks(number, first, size, following))


def _weeks(number: int, first: int, size: int, following: int) -> tuple[int, int]:
    return (number - first) // 7 + 1, (size + following - first) // 7


def _first_week(year: int, wkst: int) -> int:
    """Return the day of the year on which week 1 starts; it may be zero or negative."""
    if year > 9999:
        # Python has no year 10000. The Gregorian calendar repeats its weekdays every 28 years
        # within a century, which suffices here.
        return _first_week(year - 28, wkst)
    back = (date(max(year, 1), 1, 1).weekday() - wkst) % 7
    # Week 1 is the first with four days in the year.
    return 1 - back if back <= 3 else 8 - back


# --- Budgets of counted work for untrusted files ---
#
# A unit is about a microsecond: one day that a rule examines, one time that it names. Work is
# charged before it is done, so a rule that names a million times ends before it creates them.
#
# Why units and not a clock: the same file gives the same result on every machine and under load,
# and tests need not wait.


class Spent(ValueError):
    """The budget is used up."""

    def __init__(self) -> None:
        super().__init__("it takes too many steps")


class Work:
    """The remaining units; `shared` is a budget that others spend from as well."""

    def __init__(self, units: int, shared: Work | None = None) -> None:
        self.left = units
        self._shared = shared

    def spend(self, units: int = 1) -> None:
        """Take units from the budget; raise `Spent` if there are not enough."""
        if units > self.left:
            # Set it to zero: smaller amounts must be refused from now on too, or the result would
            # depend on the order of the work.
            self.left = 0
            raise Spent
        self.left -= units
        if self._shared is not None:
            self._shared.spend(units)


# --- Step-by-step expansion of a rule: years, months, weeks or days; hours, minutes or seconds ---
#
#     FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-1
#
#     step     a month, from the one of the start on
#     days     those of the month that BYDAY, BYMONTHDAY … leave
#     times    of each day: BYHOUR, BYMINUTE, BYSECOND, else the time of the start
#     chosen   of these, the ones that BYSETPOS names
#
# Each step spends work for the days and times that it examines, also where the rule does not fire,
# so a rule that never fires ends with `Spent`. An iterator that only yields times would never
# return.

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


# --- Lazy expansion of a series: its rule counted in its own zone ---

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
