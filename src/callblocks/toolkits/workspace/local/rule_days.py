"""The days of a rule: BYMONTH, BYMONTHDAY, BYYEARDAY, BYWEEKNO and BYDAY combined.

A rule that names no day takes that of its start: YEARLY its month and day, MONTHLY its day, WEEKLY
its weekday. All BY parts are filters on a day here, instead of generators as in RFC 5545's table:
the result is the same, and each test has a constant cost that can be charged to the budget.
"""

from __future__ import annotations

from calendar import isleap, monthrange
from datetime import date

from callblocks.toolkits.workspace.recurrence import DAYS, Rule

__all__ = ("RuleDays",)

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
