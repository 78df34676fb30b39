"""The VTIMEZONE for an event, for programs that do not know zone names.

    BEGIN:DAYLIGHT
    DTSTART:20250330T020000
    RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3

If the clocks change by the same rule each year, the rule is written and holds forever; otherwise
the changes of the next years are listed. The rule is derived from the zone's actual changes,
because `zoneinfo` does not expose the rule itself.
"""

# The library types what a property holds as loosely as iCalendar does.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache

import msgspec
from icalendar import Timezone, TimezoneDaylight, TimezoneStandard, vRecur

from callblocks.toolkits.workspace.local.zones import place

__all__ = ("vtimezone",)

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
