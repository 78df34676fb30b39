"""The VTIMEZONE for an event, for programs that do not know zone names.

    BEGIN:DAYLIGHT
    DTSTART:20250330T020000
    RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3

If the clocks change by the same rule each year, the rule is written and holds forever; otherwise
the changes of the next years are listed. The rule is derived from the zone's actual changes,
because `zoneinfo` does not expose the rule itself.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from typing import NamedTuple

import msgspec
from icalendar import Timezone, TimezoneDaylight, TimezoneStandard, vRecur

from callblocks.toolkits.office.local.calendar.occurrences import Spent, Work, rule_starts
from callblocks.toolkits.office.times import Rule, place, read_rule, read_time

__all__ = (
    "FileZone",
    "vtimezone",
    "work_of_zones",
)

# The library types what a property holds as loosely as iCalendar does.
# pyright: reportUnknownMemberType=false


_DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)
# Years in which a rule must hold to be written as one.
_ALIKE = 6

# Years whose changes are listed if there is no rule.
_AHEAD = 12

_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


class _Change(msgspec.Struct, frozen=True):
    """A clock change: the local time before it, and the offsets before and after."""

    at: datetime
    before: timedelta
    after: timedelta
    name: str
    summer: bool

    @property
    def weeks(self) -> tuple[int, ...]:
        """The ordinal of its weekday in the month, from the start and from the end."""
        first = (self.at.day - 1) // 7 + 1
        last = (self.at + 7 * _DAY).month != self.at.month
        return (first, -1) if last else (first,)


@cache
def vtimezone(zone: str, year: int) -> Timezone:
    """Return the zone from a year on."""
    # One year earlier, so that the event's own year begins with a known offset; bounded by the
    # range in which Python can compute the following years.
    first = min(max(year - 1, 1970), 9900)
    changes = list(_changes(zone, first, first + _AHEAD))
    whole = Timezone()
    whole.add("tzid", zone)
    rules = _rules([one for one in changes if one.at.year < first + _ALIKE])
    for change in [one for one, _ in rules] or changes or [_steady(zone, first)]:
        part = TimezoneDaylight() if change.summer else TimezoneStandard()
        part.add("dtstart", change.at)
        part.add("tzoffsetfrom", change.before)
        part.add("tzoffsetto", change.after)
        part.add("tzname", change.name)
        for one, rule in rules:
            if one is change:
                part.add("rrule", vRecur.from_ical(rule))
        whole.add_component(part)
    return whole


def _changes(zone: str, first: int, last: int) -> Iterator[_Change]:
    tz = place(zone)
    when = datetime(first, 1, 1, tzinfo=UTC)
    end = datetime(last, 1, 1, tzinfo=UTC)
    before = _offset(when, zone)
    # Days are sampled and the exact second is found by bisection; no zone changes twice in a day.
    while when < end:
        after = _offset(when + _DAY, zone)
        if after != before:
            at = _found(when, when + _DAY, zone)
            local = at.astimezone(tz)
            yield _Change(
                at=(at + before).replace(tzinfo=None),
                before=before,
                after=after,
                name=local.tzname() or zone,
                summer=bool(local.dst()),
            )
        before = after
        when += _DAY


def _found(low: datetime, high: datetime, zone: str) -> datetime:
    """Return the first second with the new offset."""
    before = _offset(low, zone)
    while high - low > _SECOND:
        middle = low + timedelta(seconds=(high - low) // _SECOND // 2)
        if _offset(middle, zone) == before:
            low = middle
        else:
            high = middle
    return high


def _offset(when: datetime, zone: str) -> timedelta:
    return when.astimezone(place(zone)).utcoffset() or timedelta()


def _rules(changes: list[_Change]) -> list[tuple[_Change, str]]:
    """Return the two changes of each year with their rules; nothing if there are no such rules."""
    if len(changes) != 2 * _ALIKE:
        return []
    rules = [(half[0], _rule(half)) for half in (changes[::2], changes[1::2])]
    return rules if all(rule for _, rule in rules) else []


def _rule(changes: list[_Change]) -> str:
    start = changes[0]
    fixed = {
        (one.at.month, one.at.weekday(), one.at.time(), one.before, one.after) for one in changes
    }
    weeks = set(start.weeks).intersection(*(one.weeks for one in changes))
    if len(fixed) != 1 or not weeks:
        return ""
    day = f"{min(weeks)}{_WEEKDAYS[start.at.weekday()]}"
    return f"FREQ=YEARLY;BYDAY={day};BYMONTH={start.at.month}"


def _steady(zone: str, year: int) -> _Change:
    when = datetime(year, 1, 1, tzinfo=UTC).astimezone(place(zone))
    offset = when.utcoffset() or timedelta()
    return _Change(
        at=datetime(year, 1, 1),
        before=offset,
        after=offset,
        name=when.tzname() or zone,
        summer=False,
    )


# --- A time zone that a file defines itself: its VTIMEZONE, evaluated within a budget of work ---
#
#     BEGIN:STANDARD                       an observance: its start, and both offsets
#     DTSTART:19701025T030000
#     RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
#     TZOFFSETFROM:+0200
#     TZOFFSETTO:+0100
#
# Zones with known names are never read from a file. The rules of the others are not expanded: the
# offset at a time is that of the observance that started last before it, and each rule is followed
# only from some years before that time.
#
# Why a budget: a rule can be written so that finding its last start takes practically forever. A
# zone that exceeds its budget has no offsets; its events are left out with a fault that says so,
# and no other event is affected.

# Budget in units of work for all lookups in one zone.
_WORK = 20_000

# Budget for all zones of a file, however many it has.
_FILE_WORK = 3 * _WORK

_FILES_WORK = 3 * _FILE_WORK
"""Units for the zones of all files that are read together, in equal shares."""

_LEAST = 3_000
"""Units that each file has, however many they are; a common zone takes some dozens."""

_FREQUENCIES = ("YEARLY", "MONTHLY")

_OBSERVANCES = 200
# Years to look back for the last change, tried one after the other.
_LOOK_BACK = (2, 12, 120)

_OFFSET = re.compile(r"([+-])(\d\d)(\d\d)(\d\d)?", re.ASCII)
_YEAR = timedelta(days=366)


def work_of_zones(files: int = 1) -> Work:
    """Return the budget that all zones of a file share; so many files are read together."""
    return Work(min(_FILE_WORK, max(_LEAST, _FILES_WORK // max(1, files))))


class _Observance(NamedTuple):
    start: datetime
    before: timedelta
    after: timedelta
    rules: list[Rule]
    extra: list[datetime]


class FileZone(tzinfo):
    """The zone; `key` is its name in the file, as the library writes it back."""

    def __init__(self, name: str, lines: list[str], shared: Work | None = None) -> None:
        self.key = name
        self._lines = lines
        self._work = Work(_WORK, shared)
        self._read: list[_Observance] | None = None
        self._starts: dict[tuple[int, int, int], list[datetime]] = {}

    def utcoffset(self, when: datetime | None, /) -> timedelta | None:
        """Return the offset at a local time of the zone; `ValueError` where none can be found."""
        if when is None:
            return None
        return self._offset(when.replace(tzinfo=None))

    def dst(self, when: datetime | None, /) -> timedelta | None:
        """Return `None`: no caller needs the part of an offset that is daylight saving time."""
        return None

    def tzname(self, when: datetime | None, /) -> str | None:
        """Return the name of the zone in its file."""
        return self.key

    def __reduce__(self) -> tuple[type[FileZone], tuple[str, list[str]]]:
        """Copy the zone by its lines; the copy has a budget of its own."""
        return FileZone, (self.key, self._lines)

    def _offset(self, local: datetime) -> timedelta:
        try:
            if self._read is None:
                self._read = _read_zone(self._lines, self._work)
            last: tuple[datetime, timedelta] | None = None
            for one in self._read:
                begun = self._last_start(one, local)
                # `>=`: of two observances that start at the same time, the later one in the file
                # counts.
                if begun is not None and (last is None or begun >= last[0]):
                    last = begun, one.after
            return last[1] if last else min(self._read, key=lambda one: one.start).before
        except Spent:
            raise ValueError(f"the rules of its time zone {self.key} take too many steps") from None

    def _last_start(self, one: _Observance, local: datetime) -> datetime | None:
        """Return the last time up to `local` at which an observance started."""
        self._work.spend(len(one.extra) // 10)
        if local < one.start:
            return None
        starts = [one.start, *(extra for extra in one.extra if extra <= local)]
        starts += [found for rule in one.rules if (found := self._last_of(rule, one, local))]
        return max(starts)

    def _last_of(self, rule: Rule, one: _Observance, local: datetime) -> datetime | None:
        def ends(until: str) -> datetime:
            if until.startswith("999"):  # how some programs say for ever
                return datetime(9998, 12, 31)
            value = read_time(until, "UNTIL").value
            if not isinstance(value, datetime):
                return datetime(value.year, value.month, value.day, 23, 59, 59)
            plain = value.replace(tzinfo=None)
            return plain if value.tzinfo is None else plain + one.before

        # Almost every zone changes each year, so two years suffice; longer looks are for ended
        # rules.
        end = min(datetime(local.year, 12, 31, 23, 59, 59), ends(rule.until or "9998"))
        for years in _LOOK_BACK:
            key = id(rule), local.year, years
            low = max(one.start, end - years * _YEAR) if end.year > years + 1 else one.start
            if key not in self._starts:
                found = rule_starts(rule, one.start, low, end, self._work, ends)
                self._starts[key] = sorted(found)
            at = bisect_right(self._starts[key], local)
            if at or low == one.start:
                return self._starts[key][at - 1] if at else None
        return None


def _read_zone(lines: list[str], work: Work) -> list[_Observance]:
    found: list[_Observance] = []
    fields: dict[str, list[str]] | None = None
    for line in lines:
        work.spend()
        head, _, value = line.partition(":")
        name = head.partition(";")[0].upper()
        if name == "BEGIN" and value.strip().upper() in ("STANDARD", "DAYLIGHT"):
            fields = {}
        elif name == "END" and fields is not None:
            found.append(_observance(fields, work))
            fields = None
        elif fields is not None:
            fields.setdefault(name, []).append(value.strip())
    if not found:
        raise ValueError("its time zone has no offsets")
    rules = [rule for one in found for rule in one.rules]
    if len(found) > _OBSERVANCES or any(rule.freq not in _FREQUENCIES for rule in rules):
        raise Spent
    return found


def _observance(fields: dict[str, list[str]], work: Work) -> _Observance:
    dates = [text for value in fields.get("RDATE", ()) for text in value.split(",") if text]
    work.spend(20 * (1 + len(dates) + len(fields.get("RRULE", ()))))
    return _Observance(
        start=_local(fields["DTSTART"][0]),
        before=_read_offset(fields["TZOFFSETFROM"][0]),
        after=_read_offset(fields["TZOFFSETTO"][0]),
        rules=[read_rule(text) for text in fields.get("RRULE", ())],
        extra=[_local(text.partition("/")[0]) for text in dates],
    )


def _local(text: str) -> datetime:
    value = read_time(text, "DTSTART").value
    if not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    return value.replace(tzinfo=None)


def _read_offset(text: str) -> timedelta:
    match = _OFFSET.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:20]} is no offset of a time zone")
    hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:])
    size = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if size >= timedelta(hours=24):
        raise ValueError(f"{text[:20]} is no offset of a time zone")
    return -size if match[1] == "-" else size
