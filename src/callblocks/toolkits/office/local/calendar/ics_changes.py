"""Changes of an event, of a series, or of one occurrence, in its file.

    the series           its VEVENT is changed; occurrences that differ follow it where they agreed
    one occurrence       a VEVENT of its own, with RECURRENCE-ID
    one taken out        EXDATE in the series

When a series is moved, its exceptions move along: RECURRENCE-ID and EXDATE name original starts, so
without that the third occurrence would lose its changes and reappear.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
from icalendar import Event

from callblocks.toolkits.office.backend import Json
from callblocks.toolkits.office.local.calendar.ics_event import (
    compact,
    every,
    instant,
    local_time,
    read_event,
    read_point,
    recurrence_lines,
    to_utc,
    write_fields,
    write_lines,
    written,
)
from callblocks.toolkits.office.local.calendar.ics_file import EventGroup, IcsFile, touch
from callblocks.toolkits.office.local.calendar.series import SeriesPlan, plan_of
from callblocks.toolkits.office.times import read_rule, split_line

__all__ = (
    "cancel",
    "cancel_occurrence",
    "change",
    "change_occurrence",
    "moved_lines",
    "moved_point",
    "new_event",
)

# --- New times for the parts of a series whose start has moved ---
#
# A series that moves from Monday nine to Tuesday ten moves each of its times by a day and an hour
# of local time; one that becomes a series of whole days keeps the days.


def moved_point(original: Json, old: Json, new: Json, zone: str) -> Json:
    """Return an occurrence's time after its series moved from `old` to `new`."""
    own = original if original.get("date") else original | {"timeZone": old.get("timeZone") or zone}
    return _said(local_time(own, zone), old, new, zone)


def moved_lines(lines: list[str], old: Json, new: Json, zone: str) -> list[str]:
    """Return the recurrence lines of a series, moved with its start."""
    plan = plan_of({"start": old, "end": old, "recurrence": lines}, zone)
    moved: list[str] = []
    for line in lines:
        name, _, value = split_line(line)
        if name == "RRULE":
            moved.append(f"RRULE:{_rule(value, plan, old, new, zone)}")
    # RDATE and EXDATE are written one per line: after the move their zones and value types may
    # differ from those of the original lines.
    for name, times in (("RDATE", plan.extra), ("EXDATE", sorted(plan.without))):
        points = [_said(one, old, new, zone) for one in times]
        moved += [_line(name, point, zone) for point in points]
    return moved


def _said(local: datetime, old: Json, new: Json, zone: str) -> Json:
    shift = local - local_time(old, zone)
    if new.get("date"):
        start = local_time(new, zone)
        # Between a series with times and one of whole days only the distance in days is kept.
        days = local.date() - local_time(old, zone).date()
        return {"date": (start.date() + days).isoformat()}
    own = str(new.get("timeZone") or zone)
    if old.get("date"):
        shift = local - local_time(old, zone).replace(hour=0, minute=0, second=0)
    at = local_time(new, zone) + shift
    return {"dateTime": at.isoformat(timespec="seconds"), "timeZone": own}


def _rule(text: str, plan: SeriesPlan, old: Json, new: Json, zone: str) -> str:
    rule = read_rule(text)
    if not rule.until:
        return rule.text()
    end = _said(plan.ends(rule.until), old, new, zone)
    return msgspec.structs.replace(rule, until=_compact(end, zone)).text()


def _compact(point: Json, zone: str) -> str:
    if point.get("date"):
        return str(point["date"]).replace("-", "")
    local = datetime.fromisoformat(point["dateTime"])
    moment = to_utc(local, point.get("timeZone") or zone).astimezone(UTC)
    return moment.isoformat(timespec="seconds")[:19].replace("-", "").replace(":", "") + "Z"


def _line(name: str, point: Json, zone: str) -> str:
    if point.get("date"):
        return f"{name};VALUE=DATE:{_compact(point, zone)}"
    own = point.get("timeZone") or zone
    if own == "UTC":
        return f"{name}:{_compact(point, zone)}"
    local = str(point["dateTime"])[:19].replace("-", "").replace(":", "")
    return f"{name};TZID={own}:{local}"


# --- Changes of an event, of a series, or of one occurrence, in its file ---

# The library types what a component holds as loosely as iCalendar does.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false


_MOVING = ("start", "end", "recurrence")
_OF_SERIES = ("RRULE", "RDATE", "EXDATE", "EXRULE")


def new_event(uid: str, fields: Json, now: datetime) -> Event:
    """Return a VEVENT with these fields."""
    event = Event()
    moment = now.astimezone(UTC).replace(microsecond=0)
    event.add("UID", uid)
    for name in ("DTSTAMP", "CREATED", "LAST-MODIFIED"):
        event.add(name, moment)
    event.add("SEQUENCE", 0)
    write_fields(event, {"status": "confirmed"} | fields)
    return event


def change(group: EventGroup, changes: Json, zone: str, now: datetime) -> None:
    """Change an event or a whole series."""
    master = group.master
    assert master is not None
    old = read_event(master)
    if "start" in changes and group_recurs(group):
        changes = _follow(group, old, changes, zone)
    write_fields(master, changes)
    touch(master, now)
    # A field of an override follows the series only if it had the series' old value: an own value
    # was set on purpose.
    shared = {name: value for name, value in changes.items() if name not in _MOVING}
    for one in group.overrides:
        own = read_event(one)
        write_fields(
            one, {name: new for name, new in shared.items() if own.get(name) == old.get(name)}
        )


def group_recurs(group: EventGroup) -> bool:
    """Tell if a group is a series."""
    return group.master is not None and any(every(group.master, name) for name in _OF_SERIES)


def change_occurrence(
    file: IcsFile, group: EventGroup, occurrence: Json, changes: Json, zone: str, now: datetime
) -> None:
    """Change one occurrence; restore it first if it was taken out."""
    one = _override(group, occurrence, zone)
    if one is None:
        assert group.master is not None
        one = _copy(group.master, occurrence)
        file.add(one, beside=group.master)
        group.overrides.append(one)
        _put_back(group.master, occurrence, zone)
    write_fields(one, {name: new for name, new in changes.items() if name != "recurrence"})
    touch(one, now)


def cancel(group: EventGroup, now: datetime) -> None:
    """Cancel an event, or a series with all its overrides."""
    for one in group.events():
        write_fields(one, {"status": "cancelled"})
        touch(one, now)


def cancel_occurrence(
    file: IcsFile, group: EventGroup, occurrence: Json, zone: str, now: datetime
) -> None:
    """Remove one occurrence from a series."""
    one = _override(group, occurrence, zone)
    if group.master is None:
        assert one is not None
        write_fields(one, {"status": "cancelled"})
        touch(one, now)
        return
    if one is not None:
        # The override must go as well: it would bring the excluded occurrence back.
        file.remove(one)
        group.overrides.remove(one)
    group.master.add("EXDATE", [_original(group.master, occurrence)])
    touch(group.master, now)


def _override(group: EventGroup, occurrence: Json, zone: str) -> Event | None:
    wanted = compact(occurrence["originalStartTime"], zone)
    for one in group.overrides:
        original = read_point(one, "RECURRENCE-ID")
        if original is not None and compact(original, zone) == wanted:
            return one
    return None


def _copy(master: Event, occurrence: Json) -> Event:
    """Return the occurrence as an event of its own, with the series' fields except its rule."""
    one = master.copy(recursive=True)
    for name in _OF_SERIES:
        one.pop(name, None)
    one.add("RECURRENCE-ID", _original(master, occurrence))
    write_fields(one, {"start": occurrence["start"], "end": occurrence["end"]})
    return one


def _original(master: Event, occurrence: Json) -> Any:
    """Return the original start of an occurrence in the form of the series' start."""
    value = written(occurrence["originalStartTime"])
    start = every(master, "DTSTART")[0]
    floating = isinstance(start.dt, datetime) and start.dt.tzinfo is None
    return value.replace(tzinfo=None) if floating and isinstance(value, datetime) else value


def _put_back(master: Event, occurrence: Json, zone: str) -> None:
    """Remove an occurrence from the EXDATEs."""
    wanted = compact(occurrence["originalStartTime"], zone)
    lines = recurrence_lines(master)
    kept = [line for line in lines if not line.startswith("EXDATE")]
    times: list[Any] = []
    for found in every(master, "EXDATE"):
        tzid = str(found.params.get("TZID", ""))
        times += [one for one in found.dts if not _is_at(one.dt, tzid, wanted, zone)]
    if len(times) == sum(len(found.dts) for found in every(master, "EXDATE")):
        return
    write_lines(master, kept)
    for one in times:
        master.add("EXDATE", [one.dt])


def _is_at(value: Any, tzid: str, wanted: str, zone: str) -> bool:
    from callblocks.toolkits.office.local.calendar.ics_event import point

    return compact(point(value, tzid), zone) == wanted


def _follow(group: EventGroup, old: Json, changes: Json, zone: str) -> Json:
    """Move the exceptions of a series with its start; return the changes with moved lines."""
    begin, new = old["start"], changes["start"]
    if begin == new or (
        "date" not in new and "date" not in begin and instant(begin, zone) == instant(new, zone)
    ):
        return changes
    for one in group.overrides:
        original = read_point(one, "RECURRENCE-ID")
        assert original is not None
        one.pop("RECURRENCE-ID", None)
        one.add("RECURRENCE-ID", written(moved_point(original, begin, new, zone)))
    if "recurrence" in changes:
        return changes
    return changes | {"recurrence": moved_lines(old.get("recurrence", []), begin, new, zone)}
