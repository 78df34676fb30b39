"""Parsing of times that a model writes, and conversion to Google's form.

    2026-11-16                          a day
    2026-11-16 14:00                    a time in the time zone that is given beside it
    2026-11-16T14:00:00+01:00           a time anywhere (RFC 3339), with an offset or Z
    2026-11-16 14:00 Europe/Berlin      a time in a zone
    {"dateTime": …, "timeZone": …}      Google's own form; {"date": …} is a day

A day has no time zone. Anything else is `invalid_input` for its field.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import cache, lru_cache
from math import prod
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo, available_timezones

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.toolkits.office.backend import Json

__all__ = (
    "DAYS",
    "FREQUENCIES",
    "Given",
    "Rule",
    "Time",
    "day_words",
    "find_zone",
    "invalid",
    "is_day",
    "known_zone",
    "lines_of",
    "machine_zone",
    "place",
    "point_of",
    "read_rule",
    "read_time",
    "settle",
    "split_line",
    "today",
    "way_out",
)

# --- Recurrence lines, as iCalendar and Google write them ---
#
#     RRULE:FREQ=WEEKLY;BYDAY=MO,WE;UNTIL=20261231T225959Z
#     EXDATE;TZID=Europe/Berlin:20261123T090000          not then
#     RDATE;VALUE=DATE:20261224                          then too
#
# Rules are parsed without a library, so that a bad rule is refused with a reason, and one that
# would never end is recognized before it is expanded.

FREQUENCIES = ("SECONDLY", "MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY")
DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")

# The BY parts of a rule in the order in which they are written, with the numbers that each accepts;
# numbers from -n to -1 count from the end.
_LIMITS = {
    "BYSECOND": (0, 59),
    "BYMINUTE": (0, 59),
    "BYHOUR": (0, 23),
    "BYDAY": (1, 53),
    "BYMONTHDAY": (1, 31),
    "BYYEARDAY": (1, 366),
    "BYWEEKNO": (1, 53),
    "BYMONTH": (1, 12),
    "BYSETPOS": (1, 366),
}
# One time per minute of a day. More is an attempt to make a step expensive.
_MOST_TIMES = 1_440
_FROM_END = ("BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYSETPOS")
# All patterns are ASCII where digits matter: `\d` would match Arabic-Indic digits as well, which
# `int` accepts and other programs do not.
_DAY = re.compile(r"([+-]?\d{1,2})?(MO|TU|WE|TH|FR|SA|SU)")
_UNTIL = re.compile(r"\d{8}(?:T\d{6}Z?)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?\d{1,12}", re.ASCII)
_LINE = re.compile(r"(RRULE|EXRULE|RDATE|EXDATE)((?:;[A-Z-]+=[^:;]*)*):(.*)", re.IGNORECASE)


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule: its frequency, its end or count, and its BY parts (`by`)."""

    freq: str
    interval: int = 1
    count: int | None = None
    until: str = ""
    by: dict[str, tuple[str, ...]] = {}
    wkst: str = ""

    def text(self) -> str:
        """Return the rule as text, with its parts in the usual order."""
        parts = [f"FREQ={self.freq}"]
        if self.until:
            parts.append(f"UNTIL={self.until}")
        if self.count is not None:
            parts.append(f"COUNT={self.count}")
        if self.interval != 1:
            parts.append(f"INTERVAL={self.interval}")
        parts += [f"{name}={','.join(self.by[name])}" for name in _LIMITS if name in self.by]
        if self.wkst:
            parts.append(f"WKST={self.wkst}")
        return ";".join(parts)


def lines_of(given: str | list[str]) -> list[str]:
    """Return the lines of a model's input: a list, or one text; `RRULE:` may be missing."""
    texts = [given] if isinstance(given, str) else given
    lines = [line.strip() for text in texts for line in text.splitlines()]
    return [f"RRULE:{line}" if line[:5].upper() == "FREQ=" else line for line in lines if line]


def split_line(line: str) -> tuple[str, dict[str, str], str]:
    """Return the name, the parameters and the value of a line; `ValueError` if it is malformed."""
    found = _LINE.fullmatch(line)
    if found is None:
        raise ValueError(
            "it starts with none of RRULE:, EXDATE: and RDATE:; write for example "
            "RRULE:FREQ=DAILY;COUNT=5 or RRULE:FREQ=WEEKLY;BYDAY=MO,TH"
        )
    pairs = (pair.partition("=") for pair in found[2].split(";")[1:])
    parameters = {name.upper(): value.strip('"') for name, _, value in pairs}
    return found[1].upper(), parameters, found[3].strip()


def read_rule(text: str) -> Rule:
    """Parse the text behind `RRULE:`; `ValueError` with the reason."""
    parts: dict[str, str] = {}
    # Blanks and a trailing semicolon are what models write most often; both are unambiguous.
    for part in text.upper().replace(" ", "").strip(";").split(";"):
        name, equals, value = part.partition("=")
        if not equals or not value:
            raise ValueError(f"{brief(part)} is not NAME=VALUE")
        if name in parts:
            raise ValueError(f"{name} is there twice")
        parts[name] = value
    freq = parts.pop("FREQ", "")
    if freq not in FREQUENCIES:
        raise ValueError(f"FREQ is one of {', '.join(FREQUENCIES)}, not {brief(freq)}")
    # RFC 5545 forbids both in one rule, and programs disagree on which one wins.
    if "COUNT" in parts and "UNTIL" in parts:
        raise ValueError("a rule has COUNT or UNTIL, not both")
    rule = Rule(
        freq=freq,
        interval=_positive("INTERVAL", parts.pop("INTERVAL", "1")),
        count=_positive("COUNT", parts.pop("COUNT")) if "COUNT" in parts else None,
        until=_until(parts.pop("UNTIL", "")),
        wkst=_weekday(parts.pop("WKST", "")),
        by={name: _listed(name, value, freq) for name, value in parts.items()},
    )
    _require_sense(rule)
    return rule


def _positive(name: str, text: str) -> int:
    # The bound is that of a 32-bit integer, which other programs use. `int` of more digits than
    # `_NUMBER` permits would be slow.
    if not _NUMBER.fullmatch(text) or not 1 <= int(text) < 2**31:
        raise ValueError(f"{name} is a number from 1 to {2**31 - 1}, not {brief(text)}")
    return int(text)


def _until(text: str) -> str:
    # Models write UNTIL with the separators of ISO 8601; iCalendar has none.
    if text and not _UNTIL.fullmatch(text.replace("-", "").replace(":", "")):
        raise ValueError(f"UNTIL is 20261231 or 20261231T225959Z, not {brief(text)}")
    return text.replace("-", "").replace(":", "")


def _weekday(text: str) -> str:
    if text and text not in DAYS:
        raise ValueError(f"WKST is one of {', '.join(DAYS)}, not {brief(text)}")
    return text


def _listed(name: str, text: str, freq: str) -> tuple[str, ...]:
    if name not in _LIMITS:
        raise ValueError(f"{brief(name)} is no part of a rule; there are: {', '.join(_LIMITS)}")
    values = tuple(text.split(","))
    for value in values:
        if name == "BYDAY":
            _require_day(value, freq)
        elif not _fits(name, value):
            low, high = _LIMITS[name]
            raise ValueError(f"{name} takes numbers from {low} to {high}, not {brief(value)}")
    return values


def _require_day(value: str, freq: str) -> None:
    found = _DAY.fullmatch(value)
    if found is None or (found[1] and not 1 <= abs(int(found[1])) <= 53):
        raise ValueError(f"BYDAY takes days such as MO, or 1MO and -1FR, not {brief(value)}")
    # RFC 5545 permits `1MO` only with MONTHLY and YEARLY.
    if found[1] and freq not in ("MONTHLY", "YEARLY"):
        raise ValueError(f"BYDAY={value} needs FREQ=MONTHLY or FREQ=YEARLY, not FREQ={freq}")


def _fits(name: str, value: str) -> bool:
    low, high = _LIMITS[name]
    if not _NUMBER.fullmatch(value):
        return False
    number = int(value)
    return low <= (abs(number) if name in _FROM_END else number) <= high


def _require_sense(rule: Rule) -> None:
    # Rules that are legal but cannot be meant are refused here, where the model can correct them.
    # Rules in files of others are read as they are, within a budget.
    times = prod(len(set(rule.by.get(name, "1"))) for name in ("BYHOUR", "BYMINUTE", "BYSECOND"))
    if times > _MOST_TIMES and rule.freq not in FREQUENCIES[:2]:
        raise ValueError(f"it names {times} times of a day; at most {_MOST_TIMES} are followed")
    if "BYWEEKNO" in rule.by and rule.freq != "YEARLY":
        raise ValueError("BYWEEKNO needs FREQ=YEARLY")
    if "BYSETPOS" in rule.by and len(rule.by) == 1:
        raise ValueError("BYSETPOS chooses among what other BY parts give; there are none")


# --- Time zones: that of this machine, and names that other programs use ---
#
#     Europe/Berlin                                   as it is
#     /mozilla.org/20050126_1/Europe/Berlin           Europe/Berlin
#     W. Europe Standard Time                         Europe/Berlin

# Zone names come from files: bounds on their length and on the number of suffixes to try.
_LONGEST, _SEGMENTS = 200, 3


def machine_zone() -> str:
    """Return the zone of this machine; UTC if it is unknown."""
    named = os.environ.get("TZ", "").lstrip(":")
    link = os.path.realpath("/etc/localtime")
    # `TZ` first, as the C library does. It may also hold a POSIX rule such as `CET-1CEST`, which is
    # no name of a zone and is passed over.
    for name in (named, link.partition("/zoneinfo/")[2].removeprefix("Etc/")):
        if name and known_zone(name) == name:
            return name
    return "UTC"


@lru_cache(1_000)
def known_zone(name: str) -> str:
    """Return the IANA name of a zone that a file names in its own way, or ""."""
    if len(name) > _LONGEST:
        return ""
    if name in _names():
        return name
    parts = name.split("/")
    for start in range(max(1, len(parts) - _SEGMENTS), len(parts)):
        rest = "/".join(parts[start:])
        if rest in _names():
            return rest
    from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

    return WINDOWS_TO_OLSON.get(name, "")


def place(name: str) -> ZoneInfo:
    """Return the zone of a known name."""
    return ZoneInfo(name)


@cache
def _names() -> frozenset[str]:
    """Return all names of zones: a file may name thousands, and opening each would take long."""
    return frozenset(available_timezones())


# --- Today's date, for a model that wrote "tomorrow" as a date ---
#
#     today is Monday 2026-11-16; write 2026-11-17

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def today() -> date:
    """Return the current date in the machine's zone."""
    return date.today()


def day_words(day: date) -> str:
    """Return a date with its weekday, such as Monday 2026-11-16."""
    return f"{_WEEKDAYS[day.weekday()]} {day.isoformat()}"


def way_out(form: str = "write {day}") -> str:
    """Suggest a date instead of a word for a day; `{day}` in the form is tomorrow."""
    now = today()
    return f"today is {day_words(now)}; {form.format(day=now + timedelta(days=1))}"


# --- Parsing of times that a model writes, and conversion to Google's form ---

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
