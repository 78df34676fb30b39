"""Validation of a model's `recurrence` against the event, and normalization.

    FREQ=DAILY;UNTIL=20261231     RRULE:FREQ=DAILY;UNTIL=20261231T225959Z for an event with times
    EXDATE:20261123               EXDATE;TZID=Europe/Berlin:20261123T090000, at the event's hour

Times without a zone are in the zone of the event; a date means the occurrence on it.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time

import msgspec

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.recurrence import Rule, lines_of, read_rule, split_line
from callblocks.toolkits.workspace.times import Time, find_zone, invalid, read_time, settle

__all__ = ("recurrence_of",)

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
