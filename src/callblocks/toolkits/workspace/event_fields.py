"""Validation of an event's fields from a model, and conversion to Google's form.

All checks are made here, once for all backends: consistent times, known zones, rules that can be
followed, people with an address, text without control characters. A field that is `None` is left
out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from callblocks.model.brief import brief
from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.recipients import read_recipients
from callblocks.toolkits.workspace.recurrence_input import recurrence_of
from callblocks.toolkits.workspace.times import (
    Given,
    Time,
    find_zone,
    invalid,
    is_day,
    point_of,
    read_time,
    settle,
)

__all__ = ("Said", "changed_fields", "new_fields", "plain_text")

# Control characters that no program shows, except tabs and line breaks.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_DAY = timedelta(days=1)
# Google's limit in minutes: four weeks.
_LONGEST_REMINDER = 40_320

_MOST_REMINDERS = 5


class Said(msgspec.Struct, frozen=True, kw_only=True):
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


def new_fields(said: Said, calendar_zone: Callable[[], str]) -> Json:
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


def changed_fields(said: Said, old: Json, calendar_zone: Callable[[], str]) -> Json:
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


def _plain_fields(said: Said) -> Json:
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


def _zone(said: Said, start: Time, end: Time) -> str:
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


def _moved(said: Said, old: Json, calendar_zone: Callable[[], str]) -> tuple[Time, Time]:
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
