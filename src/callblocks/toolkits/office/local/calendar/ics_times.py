"""Times of events: in Google's form, in iCalendar's form, and as instants.

{"date": "2026-11-16"}                                 DTSTART;VALUE=DATE:20261116
{"dateTime": "…T09:00:00+01:00", "timeZone": "Europe/Berlin"}
                                                       DTSTART;TZID=Europe/Berlin:20261116T090000
{"dateTime": "2026-11-16T09:00:00"}                    floating: in the zone of the calendar
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any

from callblocks.toolkits.office.backend import Json
from callblocks.toolkits.office.times import known_zone, place

__all__ = (
    "compact",
    "instant",
    "local_time",
    "point",
    "point_of_instant",
    "shown",
    "to_utc",
    "written",
)

_HOUR = timedelta(hours=1)


def point(value: object, tzid: str) -> Json:
    """Convert a DTSTART or DTEND to Google's form; `ValueError` if it is no time."""
    if isinstance(value, datetime):
        return _point_of_time(value, tzid)
    if isinstance(value, date):
        return {"date": value.isoformat()}
    raise ValueError(f"{value!r} is no time")


def _point_of_time(value: datetime, tzid: str) -> Json:
    offset = value.utcoffset()
    zone = known_zone(tzid) if tzid else ""
    if zone:
        local = value.replace(tzinfo=place(zone))
        return {"dateTime": local.isoformat(timespec="seconds"), "timeZone": zone}
    if offset is None:
        return {"dateTime": value.isoformat(timespec="seconds")}
    # A zone that the file defines itself: only its offset at that time can be expressed.
    said = value.replace(tzinfo=timezone(offset)).isoformat(timespec="seconds")
    return {"dateTime": said, "timeZone": _fixed(offset)}


def _fixed(offset: timedelta) -> str:
    if not offset or offset % _HOUR or abs(offset) > 12 * _HOUR:
        return "UTC"
    # POSIX names have the opposite sign: Etc/GMT-1 is one hour east of Greenwich.
    return f"Etc/GMT{-(offset // _HOUR):+d}"


def written(said: Json) -> date | datetime:
    """Return the value that the iCalendar library writes for a point."""
    if said.get("date"):
        return date.fromisoformat(said["date"])
    value = datetime.fromisoformat(said["dateTime"])
    zone = str(said.get("timeZone") or "")
    if value.tzinfo is None:
        return value.replace(tzinfo=_tz(zone)) if zone else value
    return value.astimezone(_tz(zone or "UTC"))


def _tz(zone: str) -> Any:
    return UTC if zone == "UTC" else place(zone)


def local_time(said: Json, zone: str) -> datetime:
    """Return a point as naive local time of its own zone, or of `zone`; a day is midnight."""
    if said.get("date"):
        return datetime.combine(date.fromisoformat(said["date"]), time())
    value = datetime.fromisoformat(said["dateTime"])
    if value.tzinfo is None:
        return value
    return value.astimezone(place(said.get("timeZone") or zone)).replace(tzinfo=None)


def instant(said: Json, zone: str) -> datetime:
    """Return a point as an instant in UTC; a day starts at midnight in `zone`."""
    if not said.get("date"):
        value = datetime.fromisoformat(said["dateTime"])
        if value.tzinfo is not None:
            return value.astimezone(UTC)
        zone = said.get("timeZone") or zone
    return to_utc(local_time(said, zone), zone)


def to_utc(local: datetime, zone: str) -> datetime:
    """Convert local time to UTC; a time in a DST gap uses the offset before the change."""
    try:
        return local.replace(tzinfo=place(zone)).astimezone(UTC)
    except OverflowError:  # within a day of the ends of the calendar
        return local.replace(tzinfo=UTC)


def point_of_instant(when: datetime, zone: str) -> Json:
    """Return an instant as a point in a zone."""
    return {
        "dateTime": when.astimezone(place(zone)).isoformat(timespec="seconds"),
        "timeZone": zone,
    }


def shown(said: Json, zone: str) -> Json:
    """Return a point with the offset of `zone`, as Google shows it; its own zone name stays."""
    if said.get("date"):
        return {"date": said["date"]}
    try:
        local = instant(said, zone).astimezone(place(zone))
    except OverflowError:
        return said
    return {
        "dateTime": local.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "timeZone": said.get("timeZone") or zone,
    }


def compact(said: Json, zone: str) -> str:
    """Return the original start as in an occurrence's id: `20261116T080000Z`, `20261116`."""
    if said.get("date"):
        return str(said["date"]).replace("-", "")
    plain = instant(said, zone).isoformat(timespec="seconds")[:19]
    return plain.replace("-", "").replace(":", "") + "Z"
