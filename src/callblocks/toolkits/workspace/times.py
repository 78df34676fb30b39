"""Parsing of times that a model writes, and conversion to Google's form.

    2026-11-16                          a day
    2026-11-16 14:00                    a time in the time zone that is given beside it
    2026-11-16T14:00:00+01:00           a time anywhere (RFC 3339), with an offset or Z
    2026-11-16 14:00 Europe/Berlin      a time in a zone
    {"dateTime": …, "timeZone": …}      Google's own form; {"date": …} is a day

A day has no time zone. Anything else is `invalid_input` for its field.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any, TypeAlias

import msgspec

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.today import way_out

__all__ = ("Given", "Time", "find_zone", "invalid", "is_day", "point_of", "read_time", "settle")

# A time from a model: text, or Google's object.
Given: TypeAlias = str | dict[str, Any]

# Separators are optional, because iCalendar writes 20261116T140000Z. Fractions of seconds are read
# and dropped: no calendar keeps them. A zone in brackets is the form of RFC 9557.
_TEXT = re.compile(
    r"(?P<year>\d{4})-?(?P<month>\d\d)-?(?P<day>\d\d)"
    r"(?:[Tt ]\s*(?P<hour>\d\d?):?(?P<minute>\d\d)(?::?(?P<second>\d\d)(?:[.,]\d{1,9})?)?)?"
    r"\s*(?P<offset>[Zz]|[+-]\d\d(?::?\d\d(?::?\d\d)?)?)?"
    r"\s*\[?(?P<zone>[A-Za-z][A-Za-z0-9_+/-]*)?\]?",
    re.ASCII,
)
# Bounds within which a time can be converted to every zone without overflow.
_FIRST, _LAST = date(1, 1, 4), date(9999, 12, 27)
_FORMS = "write {day}T14:00, {day}T14:00:00+01:00, or {day} for a whole day"


class Time(msgspec.Struct, frozen=True):
    """A date, or a time with an offset, or local to `zone`, or ("") to a zone that is not known
    yet.
    """

    value: date | datetime
    zone: str = ""

    @property
    def is_day(self) -> bool:
        """True for a whole day."""
        return not isinstance(self.value, datetime)

    @property
    def is_settled(self) -> bool:
        """True if the time does not depend on a zone that is still unknown."""
        return not isinstance(self.value, datetime) or self.value.tzinfo is not None


def read_time(given: Given, field: str) -> Time:
    """Parse the value of a field."""
    if isinstance(given, str):
        return _read_text(given.strip(), field)
    named = [name for name in ("dateTime", "date") if given.get(name)]
    if len(named) != 1 or not isinstance(text := given[named[0]], str):
        raise invalid(
            field, f"{brief(given)} has neither dateTime nor date alone; {way_out(_FORMS)}"
        )
    read = _read_text(text.strip(), field)
    # Google's object says which one it is; a mismatch is a mistake that would move the event.
    if read.is_day != (named[0] == "date"):
        other = "date" if read.is_day else "dateTime"
        raise invalid(field, f"{brief(text)} is no {named[0]}; give it as {other}")
    zone = given.get("timeZone") or read.zone
    if read.is_day or not zone:
        return read
    find_zone(str(zone), field)
    return Time(read.value, str(zone))


def settle(time: Time, zone: str) -> Time:
    """Return the time with the offset of its own zone, else of `zone`."""
    if not isinstance(time.value, datetime):
        return time
    name = time.zone or zone
    place = find_zone(name, "timeZone") if name else None
    if time.value.tzinfo is None:
        return Time(_real(time.value.replace(tzinfo=place)), name)
    return Time(time.value.astimezone(place) if place else time.value, name)


def point_of(time: Time) -> Json:
    """Return a settled time in Google's form: `{date}`, or `{dateTime, timeZone}`."""
    if not isinstance(time.value, datetime):
        return {"date": time.value.isoformat()}
    value = time.value
    # `%` of timedeltas: true if the offset has seconds.
    if (value.utcoffset() or timedelta()) % timedelta(minutes=1):
        # Local mean times of long ago have seconds in the offset, which RFC 3339 cannot express.
        value = value.astimezone(UTC)
    said = {"dateTime": value.isoformat(timespec="seconds")}
    return said | {"timeZone": time.zone} if time.zone else said


def is_day(point: Json) -> bool:
    """Tell if a start or end of Google's is a whole day."""
    return bool(point.get("date"))


def find_zone(name: str, field: str = "timeZone") -> tzinfo:
    """Return the zone of that name; refuse an unknown one with similar names."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    # A folder of the zone database, such as `Europe`, raises an OSError.
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        near = _near(name)
        hint = f"did you mean {near}?" if near else "write one such as Europe/Berlin, or UTC"
        raise invalid(field, f"{brief(name)} is no time zone; {hint}") from error


def invalid(field: str, why: str) -> ToolError:
    """Return the failure for a field's value."""
    return ToolError("invalid_input", f"{field}: {why}", **{field: why})


def _read_text(text: str, field: str) -> Time:
    found = _TEXT.fullmatch(text)
    if found is None:
        raise invalid(field, f"{brief(text)} is no time; {way_out(_FORMS)}")
    part = found.groupdict()
    zone = part["zone"] or ""
    if zone:
        find_zone(zone, field)
    try:
        day = date(int(part["year"]), int(part["month"]), int(part["day"]))
        # Days at the very ends are refused here, so that later conversions between zones cannot
        # overflow.
        if not _FIRST <= day <= _LAST:
            raise ValueError("it is at the end of all days")
        if part["hour"] is None:
            if part["offset"]:
                raise invalid(field, f"{brief(text)} has an offset but no time; {way_out(_FORMS)}")
            return Time(day)
        clock = (int(part["hour"]), int(part["minute"]), int(part["second"] or 0))
        value = datetime(day.year, day.month, day.day, *clock, tzinfo=_offset(part["offset"]))
    except ValueError as error:
        raise invalid(field, f"{brief(text)} is no time: {error}; {way_out(_FORMS)}") from error
    return Time(value, zone)


def _offset(text: str | None) -> timezone | None:
    if text is None:
        return None
    if text in "Zz":
        return UTC
    digits = text[1:].replace(":", "").ljust(6, "0")
    hours, minutes, seconds = (int(digits[at : at + 2]) for at in (0, 2, 4))
    if minutes > 59 or seconds > 59:
        raise ValueError("an offset has at most 59 minutes")
    size = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return timezone(-size if text[0] == "-" else size)


def _real(value: datetime) -> datetime:
    """Shift a local time that falls into a DST gap forward."""
    # A round trip through UTC: `fold=0` maps a time in a gap with the offset before the change, and
    # the way back shows what the clocks really show then.
    return value.astimezone(UTC).astimezone(value.tzinfo)


def _near(name: str) -> str:
    from difflib import get_close_matches
    from zoneinfo import available_timezones

    known = {zone.casefold(): zone for zone in sorted(available_timezones())}
    # The city alone suffices: `Berlin`.
    cities = {zone.rpartition("/")[2]: zone for zone in known if "/" in zone}
    # The length is cut first, because the comparison is quadratic in it.
    wanted = name.casefold().replace(" ", "_")[:60]
    for names in (known, cities):
        close = get_close_matches(wanted, names, 1, 0.75)
        if close:
            return known[close[0]] if names is known else known[cities[close[0]]]
    return ""
