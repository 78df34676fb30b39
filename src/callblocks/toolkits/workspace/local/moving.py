"""New times for the parts of a series whose start has moved.

A series that moves from Monday nine to Tuesday ten moves each of its times by a day and an hour of
local time; one that becomes a series of whole days keeps the days.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.local.ics_times import local_time, to_utc
from callblocks.toolkits.workspace.local.plan import Plan, plan_of
from callblocks.toolkits.workspace.recurrence import read_rule, split_line

__all__ = ("moved_lines", "moved_point")


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


def _rule(text: str, plan: Plan, old: Json, new: Json, zone: str) -> str:
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
