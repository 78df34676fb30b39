"""Validation of an event's fields from a model, and conversion to Google's form.

All checks are made here, once for all backends: consistent times, known zones, rules that can be
followed, people with an address, text without control characters. A field that is `None` is left
out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.toolkits.office.backend import Json
from callblocks.toolkits.office.mime_message import read_recipients
from callblocks.toolkits.office.times import (
    Given,
    Rule,
    Time,
    find_zone,
    invalid,
    is_day,
    lines_of,
    point_of,
    read_rule,
    read_time,
    settle,
    split_line,
)
from callblocks.toolkits.office.tools.drive_view import cut

__all__ = (
    "EventInput",
    "change_text",
    "changed_fields",
    "event_text",
    "new_fields",
    "plain_text",
    "recurrence_of",
    "shown_calendar",
    "shown_event",
    "shown_time",
    "told_text",
)

# --- Validation of a model's `recurrence` against the event, and normalization ---
#
#     FREQ=DAILY;UNTIL=20261231     RRULE:FREQ=DAILY;UNTIL=20261231T225959Z for an event with times
#     EXDATE:20261123               EXDATE;TZID=Europe/Berlin:20261123T090000, at the event's hour
#
# Times without a zone are in the zone of the event; a date means the occurrence on it.

_FIELD = "recurrence"
_MOST = 100
# Lines; an EXDATE line has as many times as it likes.
_LONGEST = 20_000


def recurrence_of(given: str | list[str], start: Time) -> list[str]:
    """Return the recurrence lines for an event that starts at a settled time with a zone."""
    lines = lines_of(given)
    if len(lines) > _MOST:
        raise invalid(_FIELD, f"{len(lines)} lines are too many; {_MOST} at most")
    length = sum(map(len, lines))
    if length > _LONGEST:
        raise invalid(_FIELD, f"{length} characters are too many; {_LONGEST} at most")
    written = [_line(line, start) for line in lines]
    # EXDATE alone is legal, but the event would then occur once and be excluded.
    if written and not any(line.startswith(("RRULE", "RDATE")) for line in written):
        raise invalid(_FIELD, "there is no rule; add a line such as RRULE:FREQ=WEEKLY;COUNT=10")
    return written


def _line(line: str, start: Time) -> str:
    try:
        name, parameters, value = split_line(line)
        # RFC 5545 has deprecated EXRULE, and the local office does not apply it.
        if name == "EXRULE":
            raise ValueError("EXRULE is no longer used; name the times with EXDATE")
        if name == "RRULE":
            return f"RRULE:{_rule(value, start).text()}"
        if parameters.get("VALUE", "").upper() == "PERIOD":
            raise ValueError("periods are not taken; give times")
        return _times(name, value, parameters.get("TZID", ""), start)
    except ValueError as error:
        raise invalid(_FIELD, f"{brief(line)}: {error}") from error


def _rule(text: str, start: Time) -> Rule:
    rule = read_rule(text)
    if rule.until:
        rule = msgspec.structs.replace(rule, until=_until(rule.until, start))
    _require_known(rule)
    return rule


def _require_known(rule: Rule) -> None:
    """Let dateutil parse the rule as a second opinion."""
    from dateutil.rrule import rrulestr

    # Without UNTIL, whose zone was checked above: dateutil demands that both have a zone or
    # neither.
    rrulestr(msgspec.structs.replace(rule, until="").text(), dtstart=datetime(2026, 1, 1))


def _until(text: str, start: Time) -> str:
    """Return UNTIL as iCalendar requires: a date for whole days, else a time in UTC."""
    until = read_time(text, _FIELD)
    # The type of UNTIL must be that of DTSTART: a date for a date, UTC for a time with a zone.
    if not isinstance(start.value, datetime):
        return f"{until.value:%Y%m%d}"
    if not isinstance(until.value, datetime):
        # To the end of that day, in the event's zone.
        until = Time(datetime.combine(until.value, time(23, 59, 59)))
    moment = settle(until, start.zone or "UTC").value
    assert isinstance(moment, datetime)
    return f"{moment.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def _times(name: str, text: str, zone: str, start: Time) -> str:
    values = [part for part in text.replace(" ", "").split(",") if part]
    if not values:
        raise ValueError("it has no time")
    if zone:
        _require_zone(zone)
    times = [read_time(value, _FIELD) for value in values]
    # EXDATE and RDATE must have the type and, to match an occurrence, the time of DTSTART. So they
    # are rewritten in the zone of the event, whatever zone they were given in.
    if not isinstance(start.value, datetime):
        return f"{name};VALUE=DATE:{','.join(f'{one.value:%Y%m%d}' for one in times)}"
    if not start.zone or start.zone == "UTC":
        local = [_local(one, zone, start, "UTC") for one in times]
        return f"{name}:{','.join(f'{one:%Y%m%dT%H%M%SZ}' for one in local)}"
    local = [_local(one, zone, start, start.zone) for one in times]
    return f"{name};TZID={start.zone}:{','.join(f'{one:%Y%m%dT%H%M%S}' for one in local)}"


def _local(given: Time, zone: str, start: Time, target: str) -> datetime:
    """Return a time in the zone of the event; a date gets the hour of the event."""
    value: date | datetime = given.value
    assert isinstance(start.value, datetime)
    if not isinstance(value, datetime):
        return datetime.combine(value, start.value.timetz().replace(tzinfo=None))
    settled = settle(given, zone or target).value
    assert isinstance(settled, datetime)
    return settled.astimezone(find_zone(target))


def _require_zone(zone: str) -> None:
    try:
        find_zone(zone, _FIELD)
    except ToolError as error:
        raise ValueError(error.message.removeprefix(f"{_FIELD}: ")) from error


# --- Validation of an event's fields from a model, and conversion to Google's form ---

# Control characters that no program shows, except tabs and line breaks.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_DAY = timedelta(days=1)
# Google's limit in minutes: four weeks.
_LONGEST_REMINDER = 40_320

_MOST_REMINDERS = 5


class EventInput(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of an event in a call."""

    summary: str | None = None
    start: Given | None = None
    end: Given | None = None
    description: str | None = None
    location: str | None = None
    attendees: str | list[str | dict[str, Any]] | None = None
    timeZone: str = ""
    recurrence: str | list[str] | None = None
    reminders: list[int] | None = None
    status: str | None = None


def new_fields(said: EventInput, calendar_zone: Callable[[], str]) -> Json:
    """Return the fields of a new event; `calendar_zone` is called if no zone is given."""
    assert said.start is not None
    assert said.end is not None
    start = read_time(said.start, "start")
    end = read_time(said.end, "end")
    zone = _zone(said, start, end)
    # A series needs a zone even if its start has an offset: the offset is that of one day, and the
    # occurrences follow the clocks.
    if not zone and (not start.is_settled or (said.recurrence and not start.is_day)):
        zone = calendar_zone()
    start, end = _settled(start, end, zone)
    _require_order(start, end)
    fields = _plain_fields(said) | {"start": point_of(start), "end": point_of(end)}
    if said.recurrence:
        fields["recurrence"] = recurrence_of(said.recurrence, start)
    # Empty fields are left out for a new event. In a change they are kept, because there "" removes
    # a value.
    return {name: value for name, value in fields.items() if value not in ("", [], None)}


def changed_fields(said: EventInput, old: Json, calendar_zone: Callable[[], str]) -> Json:
    """Return the changed fields of an event with their new values."""
    fields = _plain_fields(said)
    if said.attendees is not None:
        fields["attendees"] = _answered(fields["attendees"], old.get("attendees", []))
    if said.status is not None:
        fields["status"] = said.status
    if said.start is not None or said.end is not None:
        try:
            start, end = _moved(said, old, calendar_zone)
        except OverflowError as error:
            raise invalid("start", "the event is too long to start then") from error
        _require_order(start, end)
        fields |= {"start": point_of(start), "end": point_of(end)}
    elif said.timeZone:
        raise invalid("timeZone", "it says where start and end are; give them too")
    if said.recurrence is not None:
        fields["recurrence"] = _recurrence(said.recurrence, old, fields, calendar_zone)
    if not fields:
        raise invalid("summary", "nothing is to be changed; give a field with its new value")
    return fields


def plain_text(field: str, text: str) -> str:
    """Normalize line breaks; refuse other control characters."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    found = _CONTROL.search(lines)
    if found:
        raise invalid(field, f"it has the control character {brief(found[0])}; leave it out")
    return lines


def _plain_fields(said: EventInput) -> Json:
    texts = {"summary": said.summary, "description": said.description, "location": said.location}
    fields: Json = {
        name: plain_text(name, text) for name, text in texts.items() if text is not None
    }
    if said.attendees is not None:
        fields["attendees"] = _people(said.attendees)
    if said.reminders is not None:
        fields["reminders"] = _reminders(said.reminders)
    return fields


def _people(given: str | list[str | dict[str, Any]]) -> list[Json]:
    """Return the attendees, each once; Google's own form, `{"email": …}`, is accepted too."""
    # Keyed by the folded address: the same person twice would get two invitations.
    people: dict[str, Json] = {}
    for one in [given] if isinstance(given, str) else given:
        text = one if isinstance(one, str) else str(one.get("email") or brief(one))
        known = {} if isinstance(one, str) else _known_of(one)
        for found in read_recipients("attendees", text):
            named = {"displayName": found.name} if found.name else {}
            person = {"email": found.address, **named, **known}
            people.setdefault(found.address.casefold(), person)
    return list(people.values())


def _known_of(person: dict[str, Any]) -> Json:
    known: Json = {"optional": True} if person.get("optional") is True else {}
    name = person.get("displayName")
    return known | {"displayName": plain_text("attendees", str(name))} if name else known


def _answered(people: list[Json], old: list[Json]) -> list[Json]:
    """Return the attendees with the known data of those who attended before, such as answers."""
    known = {str(one.get("email", "")).casefold(): one for one in old}
    # The new data wins over the old, field by field; the answer of a person who stays is kept.
    return [known.get(one["email"].casefold(), {}) | one for one in people]


def _reminders(minutes: list[int]) -> Json:
    if len(minutes) > _MOST_REMINDERS:
        raise invalid("reminders", f"an event has at most {_MOST_REMINDERS} reminders")
    for one in minutes:
        if not 0 <= one <= _LONGEST_REMINDER:
            raise invalid("reminders", f"give minutes from 0 to {_LONGEST_REMINDER}, not {one}")
    overrides = [{"method": "popup", "minutes": one} for one in sorted(set(minutes))]
    return {"useDefault": False, "overrides": overrides}


def _zone(said: EventInput, start: Time, end: Time) -> str:
    """Return the zone that the call names, beside the times or in them."""
    if said.timeZone:
        find_zone(said.timeZone)
    return said.timeZone or start.zone or end.zone


def _settled(start: Time, end: Time, zone: str) -> tuple[Time, Time]:
    if start.is_day != end.is_day:
        raise invalid(
            "end", "start and end are both days, or both times; a day and a time do not go together"
        )
    first = settle(start, zone)
    # An end without an offset is in the zone of the start.
    if not end.is_settled and not end.zone and not zone and isinstance(first.value, datetime):
        assert isinstance(end.value, datetime)
        return first, Time(end.value.replace(tzinfo=first.value.tzinfo))
    return first, settle(end, zone)


# Google's end of a whole-day event is exclusive, so it must be after the start. A timed event may
# have no length.
def _require_order(start: Time, end: Time) -> None:
    first, last = start.value, end.value
    if isinstance(first, datetime) and isinstance(last, datetime):
        if last < first:
            raise invalid("end", f"{last.isoformat()} is before the start, {first.isoformat()}")
    elif last <= first:
        after = (first + _DAY).isoformat()
        raise invalid(
            "end",
            f"{last.isoformat()} is no end: give the day after the last one, {after} or later",
        )


def _moved(said: EventInput, old: Json, calendar_zone: Callable[[], str]) -> tuple[Time, Time]:
    """Return both times of a changed event; without a new end, the length stays."""
    before, after = _known(old["start"]), _known(old["end"])
    start = before if said.start is None else read_time(said.start, "start")
    end = None if said.end is None else read_time(said.end, "end")
    zone = _zone(said, start, end or start) or before.zone
    if not zone and not (start.is_settled and (end is None or end.is_settled)):
        zone = calendar_zone()
    if end is not None:
        return _settled(start, end, zone)
    first = settle(start, zone)
    return first, _end_after(first, before, after)


def _end_after(start: Time, before: Time, after: Time) -> Time:
    if isinstance(start.value, datetime):
        if isinstance(before.value, datetime) and isinstance(after.value, datetime):
            return Time(_later(start.value, after.value - before.value), start.zone)
        raise invalid("end", "the event was for whole days; say when it ends now")
    # A timed event that becomes a whole-day event gets one day.
    days = after.value.toordinal() - before.value.toordinal() if before.is_day else 1
    return Time(start.value + timedelta(days=days))


def _later(start: datetime, length: timedelta) -> datetime:
    """Add elapsed time, across clock changes."""
    return (start.astimezone(UTC) + length).astimezone(start.tzinfo)


def _known(point: Json) -> Time:
    if is_day(point):
        return read_time(point["date"], "start")
    return settle(read_time(point["dateTime"], "start"), str(point.get("timeZone") or ""))


def _recurrence(
    given: str | list[str], old: Json, fields: Json, calendar_zone: Callable[[], str]
) -> list[str]:
    if "recurringEventId" in old:
        raise invalid(
            "recurrence",
            f"this is one occurrence; give the id of its series, {old['recurringEventId']}",
        )
    # The rule is checked against the start that the event will have, not the one it had.
    start = _known(fields.get("start") or old["start"])
    if given and not start.is_day and not start.zone:
        start = settle(start, calendar_zone())
        fields["start"] = point_of(start)
    return recurrence_of(given, start) if given else []


# --- Events as shown to a model, and to a person who approves a change ---
#
# Crew meeting, 2026-11-16T09:00:00+01:00 to 09:45 (Europe/Berlin), with 3 people
# - location: Old quay
# + location: Town hall


_EVENT = (
    *("id", "status", "summary", "description", "location", "start", "end", "recurrence"),
    *("recurringEventId", "originalStartTime", "organizer", "attendees", "transparency"),
    *("visibility", "hangoutLink", "htmlLink"),
)
_CALENDAR = ("id", "summary", "description", "timeZone", "primary", "accessRole")
_PERSON = ("email", "displayName", "responseStatus", "optional", "self")
_FIELDS = (
    *("summary", "start", "end", "recurrence", "location", "description", "attendees"),
    *("reminders", "status"),
)
_TIMES = ("start", "end", "originalStartTime")
_LONGEST_SHOWN = 5_000


def shown_event(event: Json, full: bool, zone: str = "") -> Json:
    """Return the relevant fields of an event, with times in its own zone or in `zone`; or all."""
    if full:
        return event
    shown = {name: event[name] for name in _EVENT if event.get(name)}
    shown |= {name: shown_time(shown[name], zone) for name in _TIMES if name in shown}
    if "attendees" in shown:
        shown["attendees"] = [_chosen(one, _PERSON) for one in shown["attendees"]]
    if "organizer" in shown:
        shown["organizer"] = _chosen(shown["organizer"], _PERSON)
    overrides = event.get("reminders", {}).get("overrides")
    return shown | {"reminders": {"overrides": overrides}} if overrides else shown


def shown_time(point: Json, zone: str = "") -> Json:
    """Return a start or end with the offset of its zone, or of `zone`."""
    name = zone or str(point.get("timeZone") or "")
    if is_day(point) or not name:
        return point
    try:
        moment = datetime.fromisoformat(point["dateTime"]).astimezone(find_zone(name))
    # A zone that a file defines itself, or a time at the end of the calendar.
    except (ToolError, KeyError, ValueError, OverflowError):
        return point
    said = point_of(Time(moment, name))
    return said | {"dateTime": said["dateTime"].replace("+00:00", "Z")} if name == "UTC" else said


def shown_calendar(calendar: Json, full: bool) -> Json:
    """Return the relevant fields of a calendar, or all."""
    return calendar if full else _chosen(calendar, _CALENDAR)


def event_text(event: Json) -> str:
    """Describe an event in one line: title, time, number of attendees."""
    title = event.get("summary") or "(no title)"
    people = len(event.get("attendees", []))
    told = f", with {people} {'person' if people == 1 else 'people'}" if people else ""
    series = ", the whole series" if event.get("recurrence") else ""
    series = ", this occurrence alone" if event.get("recurringEventId") else series
    return f"{title}, {_when(event)}{series}{told}"


def change_text(old: Json, new: Json) -> str:
    """Describe the fields that differ, before and after."""
    lines: list[str] = []
    for name in _FIELDS:
        if name not in new or old.get(name) == new[name]:
            continue
        before, after = _value(name, old.get(name)), _value(name, new[name])
        if before != after:
            lines += [
                f"{sign} {name}: {text}" for sign, text in (("-", before), ("+", after)) if text
            ]
    return "\n".join(lines)


def told_text(people: list[Json], notify: str, invites: bool) -> str:
    """Describe who is notified of a change, by address."""
    addresses = dict.fromkeys(str(one.get("email", "")) for one in people)
    if not addresses or notify == "none":
        return "nobody is told"
    if not invites:
        return "nobody is told: this office sends no invitations"
    which = "those outside of" if notify == "externalOnly" else "all of"
    return f"an email goes to {which}: {', '.join(addresses)}"


def _chosen(value: Json, names: tuple[str, ...]) -> Json:
    return {name: value[name] for name in names if name in value}


def _when(event: Json) -> str:
    start, end = event.get("start", {}), event.get("end", {})
    if is_day(start):
        last = date.fromisoformat(end.get("date") or start["date"]) - timedelta(days=1)
        days = str(start["date"])
        return days if last.isoformat() <= days else f"{days} to {last.isoformat()}"
    first, last = _moment(start), _moment(end)
    if first[16:] == last[16:]:
        first = first[:16]
    return f"{first} to {last[11:] if first[:10] == last[:10] else last}"


def _value(name: str, value: Any) -> str:
    if not value:
        return ""
    if name in ("start", "end"):
        text = _moment(value)
    elif name == "attendees":
        text = ", ".join(map(_person, value))
    elif name == "reminders":
        text = _reminder_line(value)
    else:
        text = " ".join(map(str, value)) if name == "recurrence" else str(value)
    return cut(text, _LONGEST_SHOWN)


def _person(person: Json) -> str:
    named = f"{person['displayName']} " if person.get("displayName") else ""
    return f"{named}<{person.get('email', '')}>{' (optional)' * bool(person.get('optional'))}"


def _reminder_line(value: Json) -> str:
    if value.get("useDefault"):
        return "as the calendar has them"
    return ", ".join(f"{one['minutes']} min before" for one in value.get("overrides", ()))


def _moment(point: Json) -> str:
    """Return a time as local time of the event."""
    if is_day(point):
        return str(point["date"])
    said = shown_time(point)
    if "dateTime" not in said:
        return "(no time)"
    moment = datetime.fromisoformat(said["dateTime"])
    offset = moment.isoformat(timespec="minutes")[16:]
    seconds = f":{moment:%S}" if moment.second else ""
    return f"{moment:%Y-%m-%d %H:%M}{seconds} ({point.get('timeZone') or offset})"
