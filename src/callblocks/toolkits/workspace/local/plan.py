"""The plan of a series in local time of its own zone.

A weekly event at nine is at nine all year: the rule is counted in naive local time, and each start
gets the offset of its zone then. DST gaps: a start that does not exist is shifted forward for daily
and longer rules, and dropped for rules that fire within the hour anyway.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from datetime import datetime, time, timedelta

import msgspec

from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.local.ics_times import instant, local_time, to_utc
from callblocks.toolkits.workspace.local.occurrences import last_start, starts
from callblocks.toolkits.workspace.local.work import Work
from callblocks.toolkits.workspace.local.zones import known_zone, place
from callblocks.toolkits.workspace.recurrence import Rule, read_rule, split_line
from callblocks.toolkits.workspace.times import read_time

__all__ = ("Plan", "clocks", "plan_of")

_DAY = timedelta(days=1)
_SHORT_FREQUENCIES = ("SECONDLY", "MINUTELY", "HOURLY")


class Plan(msgspec.Struct, frozen=True):
    """The start, length, rules and exceptions of a series, in naive local time."""

    zone: str
    begin: datetime
    length: timedelta
    whole_days: bool
    rules: list[Rule] = []
    extra: list[datetime] = []
    without: frozenset[datetime] = frozenset()

    def ends(self, until: str) -> datetime:
        """Convert UNTIL to local time; a date counts to its end."""
        if until.startswith("9999"):  # how some programs say for ever
            return datetime(9999, 12, 30)
        value = read_time(until, "UNTIL").value
        if not isinstance(value, datetime):
            return datetime.combine(value, time(23, 59, 59))
        if value.tzinfo is None or self.whole_days:
            return value.replace(tzinfo=None)
        return value.astimezone(place(self.zone)).replace(tzinfo=None)

    def last(self, work: Work) -> datetime | None:
        """Return the last start, or one a little later; `None` if there is none or it is far."""
        found = [last_start(rule, self.begin, work, self.ends) for rule in self.rules]
        if any(one is None for one in found):
            return None
        return max([self.begin, *self.extra, *(one for one in found if one is not None)])

    def starts(self, low: datetime, high: datetime, work: Work) -> Iterator[datetime]:
        """Yield the starts between two times in order, including the excluded ones (`without`)."""
        found = starts(self.rules, self.begin, low, high, work, self.ends)
        # An hourly event in a gap would collide with the next one after the shift, so it is
        # dropped. A daily event in a gap is shifted, as a person would expect.
        short = any(rule.freq in _SHORT_FREQUENCIES for rule in self.rules)
        before: datetime | None = None
        for start in heapq.merge(found, self.extra) if self.extra else found:
            if start != before and not (short and self._is_skipped(start)):
                yield start
            before = start

    def _is_skipped(self, start: datetime) -> bool:
        """Tell if a local time falls into a DST gap."""
        real = to_utc(start, self.zone).astimezone(place(self.zone))
        return real.replace(tzinfo=None) != start

    def point(self, start: datetime) -> Json:
        """Return the start of an occurrence."""
        if self.whole_days:
            return {"date": start.date().isoformat()}
        real = to_utc(start, self.zone).astimezone(place(self.zone))
        return {"dateTime": real.isoformat(timespec="seconds"), "timeZone": self.zone}

    def end(self, start: datetime) -> Json:
        """Return the end of an occurrence; its length is elapsed time."""
        if self.whole_days:
            return {"date": (start + self.length).date().isoformat()}
        real = (to_utc(start, self.zone) + self.length).astimezone(place(self.zone))
        return {"dateTime": real.isoformat(timespec="seconds"), "timeZone": self.zone}


def plan_of(master: Json, zone: str) -> Plan:
    """Return the plan of an event; `ValueError` if its lines cannot be parsed."""
    start, end = master["start"], master["end"]
    days = "date" in start
    own = zone if days else str(start.get("timeZone") or zone)
    begin = local_time(start, zone)
    length = local_time(end, zone) - begin if days else instant(end, zone) - instant(start, zone)
    rules: list[Rule] = []
    times: dict[str, list[datetime]] = {"RDATE": [], "EXDATE": []}
    lines: list[str] = master.get("recurrence") or []
    for line in lines:
        name, parameters, value = split_line(line)
        if name == "RRULE":
            rules.append(read_rule(value))
        elif name in times:
            tzid = parameters.get("TZID", "")
            times[name] += [_on_clocks(one, tzid, own, begin, days) for one in value.split(",")]
    return Plan(
        zone=own,
        begin=begin,
        length=max(length, _DAY if days else timedelta()),
        whole_days=days,
        rules=rules,
        extra=sorted(times["RDATE"]),
        without=frozenset(times["EXDATE"]),
    )


def clocks(value: object, zone: str) -> datetime:
    """Convert an aware time to naive local time of a zone; `ValueError` for a date."""
    if not isinstance(value, datetime):
        raise ValueError("a day, where the series has times")
    return value.astimezone(place(zone)).replace(tzinfo=None)


def _on_clocks(text: str, tzid: str, zone: str, begin: datetime, days: bool) -> datetime:
    """Convert an EXDATE or RDATE to local time of the series; a date gets the series' hour."""
    value = read_time(text.partition("/")[0], "recurrence").value
    if not isinstance(value, datetime):
        return datetime.combine(value, begin.time())
    if days:
        return datetime.combine(value.date(), time())
    if value.tzinfo is None:
        source = known_zone(tzid) or zone
        return value if source == zone else clocks(to_utc(value, source), zone)
    return clocks(value, zone)
