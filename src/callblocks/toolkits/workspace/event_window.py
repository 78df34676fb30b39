"""The time range of a list of events: `timeMin` and `timeMax`, as Google takes them.

A date as `timeMin` is its start, as `timeMax` its end: from 2026-11-16 to 2026-11-16 is that day.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, time, timedelta

from callblocks.toolkits.workspace.times import Given, Time, invalid, read_time, settle

__all__ = ("window_of",)


def window_of(
    low: Given, high: Given, zone: str, calendar_zone: Callable[[], str]
) -> tuple[str, str]:
    """Both times as RFC 3339, "" where none is given."""
    zones = _Zones(zone, calendar_zone)
    first = zones.moment(low, "timeMin") if low else None
    last = zones.moment(high, "timeMax") if high else None
    if first and last and last <= first:
        raise invalid("timeMax", f"{last.isoformat()} is not after timeMin, {first.isoformat()}")
    return _text(first), _text(last)


class _Zones:
    """The zone of the calendar, requested at most once and only if it matters."""

    def __init__(self, zone: str, calendar_zone: Callable[[], str]) -> None:
        self._zone = zone
        self._ask = calendar_zone

    def moment(self, given: Given, field: str) -> datetime:
        read = read_time(given, field)
        if not isinstance(read.value, datetime):
            day = read.value
            day += timedelta(days=field == "timeMax")
            read = Time(datetime.combine(day, time()))
        if not read.is_settled and not read.zone and not self._zone:
            self._zone = self._ask()
        moment = settle(read, self._zone).value
        assert isinstance(moment, datetime)
        return moment


def _text(moment: datetime | None) -> str:
    return moment.isoformat(timespec="seconds") if moment else ""
