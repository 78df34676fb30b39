"""A series as stored in the index, and its occurrences as Google's events.

id                       the event, or the series
id_20261116T080000Z      its occurrence that was to start then (UTC)
id_20261116              its occurrence on that day
"""

from __future__ import annotations

import hashlib
import heapq
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, time, timedelta
from typing import NamedTuple

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.toolkits.office.backend import Json
from callblocks.toolkits.office.local.calendar.calendar_files import read_file
from callblocks.toolkits.office.local.calendar.ics_event import (
    compact,
    every,
    instant,
    local_time,
    read_event,
    read_point,
    shown,
    to_utc,
)
from callblocks.toolkits.office.local.calendar.ics_file import BROKEN, EventGroup, IcsFile, event_id
from callblocks.toolkits.office.local.calendar.occurrences import (
    Counting,
    Spent,
    Work,
    last_start,
    starts,
)
from callblocks.toolkits.office.times import (
    Rule,
    known_zone,
    place,
    read_rule,
    read_time,
    split_line,
)

__all__ = (
    "EventReader",
    "ListedEvent",
    "Read",
    "Series",
    "SeriesPlan",
    "Spanned",
    "Window",
    "clocks",
    "etag_of",
    "find_occurrence",
    "occurrence",
    "occurrences",
    "order",
    "plan_of",
    "shown_event",
    "span_of",
    "split",
    "words_of",
)

# --- The plan of a series in local time of its own zone ---
#
# A weekly event at nine is at nine all year: the rule is counted in naive local time, and each
# start gets the offset of its zone then. DST gaps: a start that does not exist is shifted forward
# for daily and longer rules, and dropped for rules that fire within the hour anyway.

_SHORT_FREQUENCIES = ("SECONDLY", "MINUTELY", "HOURLY")


class SeriesPlan(msgspec.Struct, frozen=True):
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


def plan_of(master: Json, zone: str) -> SeriesPlan:
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
            times[name] += [
                _plan_on_clocks(one, tzid, own, begin, days) for one in value.split(",")
            ]
    return SeriesPlan(
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


def _plan_on_clocks(text: str, tzid: str, zone: str, begin: datetime, days: bool) -> datetime:
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


# --- A series as stored in the index, and its occurrences as Google's events ---

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


class ListedEvent(NamedTuple):
    """An event in the order of a list."""

    start: datetime
    id: str
    event: Json


def order(found: ListedEvent) -> tuple[datetime, str]:
    """Return the sort key of a list of events."""
    return found.start, found.id


def occurrences(
    series: Series, window: Window, zone: str, counting: Counting
) -> Iterator[ListedEvent]:
    """Return the events of a series in a window, in order of their starts."""
    master = series.master
    own = [
        ListedEvent(instant(one["start"], zone), str(one["id"]), one)
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


def _single(id: str, master: Json, window: Window, zone: str) -> Iterator[ListedEvent]:
    start = instant(master["start"], zone)
    if window.holds(start, instant(master["end"], zone)):
        yield ListedEvent(start, id, master | {"id": id})


def _regular(
    series: Series, master: Json, window: Window, zone: str, counting: Counting
) -> Iterator[ListedEvent]:
    work = counting.work(series.id)
    try:
        yield from _planned(series, master, window, zone, work)
    except (Spent, OverflowError):  # it takes too long, or ends beyond the last year
        counting.given_up.add(series.id)


def _planned(
    series: Series, master: Json, window: Window, zone: str, work: Work
) -> Iterator[ListedEvent]:
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
            yield ListedEvent(begin, event["id"], event)


def occurrence(id: str, master: Json, plan: SeriesPlan, start: datetime, zone: str) -> Json:
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


def _start_of(stamp: str, plan: SeriesPlan) -> datetime:
    value = read_time(stamp, "eventId").value
    if plan.whole_days:
        return datetime(value.year, value.month, value.day)
    return clocks(value, plan.zone)


def _later(when: datetime, length: timedelta) -> datetime:
    try:
        return when + length
    except OverflowError:
        return _LAST


def _on_clocks(when: datetime, plan: SeriesPlan, change: timedelta) -> datetime:
    """Convert a time to the series' local time, shifted and clamped to the calendar's range."""
    try:
        return clocks(when + change, plan.zone)
    except OverflowError:
        return (_FIRST if change < timedelta() else _LAST).replace(tzinfo=None)


def shown_event(event: Json, zone: str) -> Json:
    """Return an event as Google shows it in a zone."""
    times = ("start", "end", "originalStartTime")
    return event | {name: shown(event[name], zone) for name in times if name in event}


# --- Parsing of one iCalendar file to index rows ---

# The zone for floating times where only their approximate place matters.
_ANYWHERE = "UTC"

# Budget for finding the ends of the series of one file; later series count as endless.
_WORK = 100_000

_FILES_WORK = 200_000
"""The same for all files that are read together.

A series whose end is not counted is looked at in every request, and nothing of it is lost.
"""

_FAULTS = 5


class Spanned(msgspec.Struct, frozen=True):
    """A series with its search keys; `at` is its number in the file."""

    series: Series
    at: int
    first: float
    last: float
    words: str


class Read(msgspec.Struct, frozen=True):
    """The content of a file, and the reasons for what could not be read."""

    series: list[Spanned] = []
    faults: list[str] = []


class EventReader:
    """Reads the files of a calendar that changed; they share what reading may cost."""

    def __init__(self, folder: int, calendar: str, files: int) -> None:
        self._folder = folder
        self._calendar = calendar
        self._files = files
        self._work = Work(_FILES_WORK)

    def read(self, name: str) -> Read:
        """Read a file; whatever is wrong with it is a fault."""
        work = Work(_WORK, self._work)
        return _read_events(self._folder, self._calendar, name, work, self._files)


def _read_events(folder: int, calendar: str, name: str, work: Work, files: int) -> Read:
    try:
        content = read_file(folder, name)
        file = IcsFile(content, whole=False, files=files)
    except ToolError as error:
        return Read(faults=[f"{calendar}/{name}: {error.message}"])
    except BROKEN as error:
        return Read(faults=[f"{calendar}/{name} is no iCalendar file: {brief(str(error))}"])
    found: list[Spanned] = []
    faults = [f"{calendar}/{name}: {fault}" for fault in file.faults]
    etag = etag_of(content)
    for at, group in enumerate(file.groups):
        try:
            found.append(_spanned(group, at, f"{calendar}/{name}/{at}", etag, faults, work))
        except (ToolError, *BROKEN) as error:
            faults.append(f"{calendar}/{name}: an event is left out: {brief(str(error))}")
    if len(faults) > _FAULTS:
        faults[_FAULTS:] = [f"{calendar}/{name}: and {len(faults) - _FAULTS} more"]
    return Read(found, faults)


def etag_of(content: bytes) -> str:
    """Return the entity tag of a file's content."""
    return f'"{hashlib.sha256(content).hexdigest()[:16]}"'


def words_of(event: Json) -> str:
    """Return the searchable text of an event."""
    people = [*event.get("attendees", []), event.get("organizer", {})]
    texts = [event.get(name, "") for name in ("summary", "description", "location")]
    texts += [one.get(name, "") for one in people for name in ("email", "displayName")]
    return "\n".join(text for text in texts if text).casefold()


def _spanned(
    group: EventGroup, at: int, place: str, etag: str, faults: list[str], work: Work
) -> Spanned:
    id = event_id(group.uid, place)
    known: Json = {"iCalUID": group.uid or id, "etag": etag}
    master = None
    if group.master is not None:
        master = read_event(group.master) | known | {"id": id}
        _require_rule(master, place, faults)
        # EXRULE is deprecated and rare. Ignoring it silently would show events that do not take
        # place.
        if every(group.master, "EXRULE"):
            faults.append(f"{place}: EXRULE is not applied; name the times with EXDATE")
    overrides: list[Json] = []
    for one in group.overrides:
        original = read_point(one, "RECURRENCE-ID")
        assert original is not None
        event = read_event(one) | known
        event.pop("recurrence", None)
        overrides.append(event | {"recurringEventId": id, "originalStartTime": original})
    series = Series(id, group.uid, master, overrides)
    first, last = span_of(series, work)
    words = "\n".join(words_of(one) for one in (master, *overrides) if one)
    return Spanned(series, at, first, last, words)


def _require_rule(master: Json, place: str, faults: list[str]) -> None:
    """Remove recurrence lines that cannot be parsed, with a fault; the event itself stays."""
    try:
        plan_of(master, _ANYWHERE)
    except (ToolError, *BROKEN) as error:
        lines = master.pop("recurrence", None)
        if lines is None:
            raise
        faults.append(f"{place}: the recurrence is not understood: {brief(str(error))}")


def span_of(series: Series, work: Work) -> tuple[float, float]:
    """Return the time span of a series in seconds; infinite without an end."""
    points = [
        instant(one[name], _ANYWHERE).timestamp()
        for one in (series.master, *series.overrides)
        if one
        for name in ("start", "end")
    ]
    first, last = min(points), max(points)
    if series.master is None or not series.master.get("recurrence"):
        return first, last
    plan = plan_of(series.master, _ANYWHERE)
    end = plan.last(work)
    if end is None:
        return first, math.inf
    first = min([first, *(_seconds(one, plan.zone) for one in plan.extra)])
    return first, max(last, _seconds(end, plan.zone) + plan.length / timedelta(seconds=1))


def _seconds(local: datetime, zone: str) -> float:
    try:
        return to_utc(local, zone).timestamp()
    except OverflowError:
        return local.replace(tzinfo=UTC).timestamp()
