"""A series as stored in the index, and its occurrences as Google's events.

id                       the event, or the series
id_20261116T080000Z      its occurrence that was to start then (UTC)
id_20261116              its occurrence on that day
"""

from __future__ import annotations

import hashlib
import heapq
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec

from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.local.ics_times import compact, instant, shown, to_utc
from callblocks.toolkits.workspace.local.occurrences import Counting
from callblocks.toolkits.workspace.local.plan import Plan, clocks, plan_of
from callblocks.toolkits.workspace.local.work import Spent, Work
from callblocks.toolkits.workspace.times import read_time

__all__ = (
    "Found",
    "Series",
    "Window",
    "find_occurrence",
    "occurrence",
    "occurrences",
    "order",
    "shown_event",
    "split",
)

_OCCURRENCE = re.compile(r"(.+)_(\d{8}(?:T\d{6}Z)?)", re.ASCII)
_DAY = timedelta(days=1)
_GRACE = timedelta(hours=3)
_FIRST = datetime(1, 1, 2, tzinfo=UTC)
_LAST = datetime(9999, 12, 30, tzinfo=UTC)
# Units of work: per series, per time or number in its lines, and per start.
_TO_PLAN, _TO_READ, _TO_PLACE = 50, 10, 5


class Series(msgspec.Struct, frozen=True):
    """The events of one UID: the master, and the occurrences that differ from it."""

    id: str
    uid: str
    master: Json | None = None
    overrides: list[Json] = []

    def renamed(self, place: str) -> Series:
        """Return a copy with another id, for a UID that occurs in two files."""
        own = hashlib.sha256(f"{place}\n{self.id}".encode(errors="replace")).hexdigest()[:32]
        return Series(
            own,
            self.uid,
            self.master and self.master | {"id": own},
            [one | {"recurringEventId": own} for one in self.overrides],
        )

    def settled(self, zone: str) -> Series:
        """Return a copy with ids for the overrides; floating times are now in `zone`."""
        named = [
            one | {"id": f"{self.id}_{compact(one['originalStartTime'], zone)}"}
            for one in self.overrides
        ]
        return msgspec.structs.replace(self, overrides=named)


class Window(msgspec.Struct, frozen=True):
    """The requested time range in UTC; events that only touch it are outside."""

    low: datetime = _FIRST
    high: datetime = _LAST

    def holds(self, start: datetime, end: datetime) -> bool:
        """Tell if an event overlaps the window; one without a length counts at its start."""
        return start < self.high and (end > self.low or start == end == self.low)


class Found(NamedTuple):
    """An event in the order of a list."""

    start: datetime
    id: str
    event: Json


def order(found: Found) -> tuple[datetime, str]:
    """Return the sort key of a list of events."""
    return found.start, found.id


def occurrences(series: Series, window: Window, zone: str, counting: Counting) -> Iterator[Found]:
    """Return the events of a series in a window, in order of their starts."""
    master = series.master
    own = [
        Found(instant(one["start"], zone), str(one["id"]), one)
        for one in series.overrides
        if one["status"] != "cancelled"
        and window.holds(instant(one["start"], zone), instant(one["end"], zone))
    ]
    own.sort(key=order)
    if master is None or master["status"] == "cancelled":
        return iter(own if master is None else [])
    if not master.get("recurrence"):
        return _single(series.id, master, window, zone)
    regular = _regular(series, master, window, zone, counting)
    return heapq.merge(own, regular, key=order) if own else regular


def _single(id: str, master: Json, window: Window, zone: str) -> Iterator[Found]:
    start = instant(master["start"], zone)
    if window.holds(start, instant(master["end"], zone)):
        yield Found(start, id, master | {"id": id})


def _regular(
    series: Series, master: Json, window: Window, zone: str, counting: Counting
) -> Iterator[Found]:
    work = counting.work(series.id)
    try:
        yield from _planned(series, master, window, zone, work)
    except (Spent, OverflowError):  # it takes too long, or ends beyond the last year
        counting.given_up.add(series.id)


def _planned(
    series: Series, master: Json, window: Window, zone: str, work: Work
) -> Iterator[Found]:
    work.spend(_TO_PLAN + _TO_READ * sum(line.count(",") + 1 for line in master["recurrence"]))
    plan = plan_of(master, zone)
    taken = {str(one["id"]) for one in series.overrides}
    # Some hours of tolerance at each end, for clock changes; the exact test follows below.
    low = _on_clocks(window.low, plan, -(plan.length + _GRACE))
    high = _on_clocks(window.high, plan, _GRACE)
    for start in plan.starts(low, high, work):
        work.spend(_TO_PLACE)
        begin = to_utc(start, plan.zone)
        if start in plan.without or not window.holds(begin, _later(begin, plan.length)):
            continue
        event = occurrence(series.id, master, plan, start, zone)
        # An override replaces its occurrence even if it was moved out of the window.
        if event["id"] not in taken:
            yield Found(begin, event["id"], event)


def occurrence(id: str, master: Json, plan: Plan, start: datetime, zone: str) -> Json:
    """Return one occurrence of a series as an event."""
    said = plan.point(start)
    event = {name: value for name, value in master.items() if name != "recurrence"}
    return event | {
        "id": f"{id}_{compact(said, zone)}",
        "recurringEventId": id,
        "originalStartTime": said,
        "start": said,
        "end": plan.end(start),
    }


def split(event_id: str) -> tuple[str, str] | None:
    """Split an occurrence's id into the series' id and the time, or return `None`."""
    found = _OCCURRENCE.fullmatch(event_id)
    return (found[1], found[2]) if found else None


def find_occurrence(series: Series, stamp: str, zone: str) -> Json | None:
    """Return the occurrence of that time; an excluded one has the status `cancelled`."""
    wanted = f"{series.id}_{stamp}"
    for one in series.overrides:
        if one["id"] == wanted:
            return one
    master = series.master
    if master is None or not master.get("recurrence"):
        return None
    plan = plan_of(master, zone)
    try:
        start = _start_of(stamp, plan)
    except (ToolError, ValueError, OverflowError):
        return None
    # A rule whose budget is spent before that time has no such occurrence for us, nor has one whose
    # occurrences end after the last year.
    with suppress(Spent, OverflowError):
        for found in plan.starts(start - _DAY, start + _DAY, Counting().work(series.id)):
            event = occurrence(series.id, master, plan, found, zone)
            if event["id"] == wanted:
                cancelled = master["status"] == "cancelled" or found in plan.without
                return event | {"status": "cancelled"} if cancelled else event
            if found > start + _DAY:
                break
    return None


def _start_of(stamp: str, plan: Plan) -> datetime:
    value = read_time(stamp, "eventId").value
    if plan.whole_days:
        return datetime(value.year, value.month, value.day)
    return clocks(value, plan.zone)


def _later(when: datetime, length: timedelta) -> datetime:
    try:
        return when + length
    except OverflowError:
        return _LAST


def _on_clocks(when: datetime, plan: Plan, change: timedelta) -> datetime:
    """Convert a time to the series' local time, shifted and clamped to the calendar's range."""
    try:
        return clocks(when + change, plan.zone)
    except OverflowError:
        return (_FIRST if change < timedelta() else _LAST).replace(tzinfo=None)


def shown_event(event: Json, zone: str) -> Json:
    """Return an event as Google shows it in a zone."""
    times = ("start", "end", "originalStartTime")
    return event | {name: shown(event[name], zone) for name in times if name in event}
