"""An event that is written and read again is the same event."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from callblocks.toolkits.office.backend import Json
from callblocks.toolkits.office.local.calendar.ics_changes import change, new_event
from callblocks.toolkits.office.local.calendar.ics_event import read_event
from callblocks.toolkits.office.local.calendar.ics_file import BROKEN, IcsFile, new_file
from callblocks.toolkits.office.local.calendar.vtimezone import vtimezone

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)

# Any text that the tools let through: no control characters but tab and line break.
TEXTS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), min_size=1
) | st.sampled_from(
    [
        "BEGIN:VEVENT\nUID:evil\nEND:VEVENT\nEND:VCALENDAR",
        "\\n \\, \\; \\\\ \\N",
        "a\n b",
        "x" * 74 + "é" * 80,
        '^^ ^n ";:,=',
    ]
)
ZONES = st.sampled_from(
    ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC", "Pacific/Apia"]
)
DAYS = st.dates(date(1971, 1, 1), date(2100, 1, 1))
ADDRESSES = st.from_regex(r"[a-z]{1,9}@[a-z]{1,9}\.org", fullmatch=True)
NAMES = st.text(st.characters(categories=["L", "Nd", "Zs"]), min_size=1).filter(
    lambda text: text.strip() == text
)
PEOPLE = st.lists(
    st.fixed_dictionaries(
        {
            "email": ADDRESSES,
            "responseStatus": st.sampled_from(["needsAction", "accepted", "declined", "tentative"]),
        },
        optional={"displayName": NAMES, "optional": st.just(True)},
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda person: person["email"],
)


@st.composite
def whens(draw: st.DrawFn) -> Json:
    if draw(st.booleans()):
        day, days = draw(DAYS), draw(st.integers(1, 9))
        last = day + timedelta(days=days)
        return {"start": {"date": day.isoformat()}, "end": {"date": last.isoformat()}}
    zone, minutes = draw(ZONES), draw(st.integers(0, 9999))
    start = draw(st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1))).replace(microsecond=0)
    real = start.replace(tzinfo=UTC)
    points = (real, real + timedelta(minutes=minutes))
    return {
        name: {"dateTime": _in(point, zone), "timeZone": zone}
        for name, point in zip(("start", "end"), points, strict=True)
    }


def _in(moment: datetime, zone: str) -> str:
    from zoneinfo import ZoneInfo

    return moment.astimezone(ZoneInfo(zone)).isoformat()


FIELDS = st.builds(
    lambda when, more: when | more,
    whens(),
    st.fixed_dictionaries(
        {},
        optional={
            "summary": TEXTS,
            "description": TEXTS,
            "location": TEXTS,
            "status": st.sampled_from(["confirmed", "tentative", "cancelled"]),
            "visibility": st.sampled_from(["private", "confidential"]),
            "transparency": st.just("transparent"),
            "attendees": PEOPLE,
            "recurrence": st.sampled_from(
                [
                    ["RRULE:FREQ=WEEKLY;COUNT=3"],
                    ["RRULE:FREQ=MONTHLY;INTERVAL=2;BYDAY=-1FR", "RDATE;VALUE=DATE:20261224"],
                    ["RRULE:FREQ=DAILY", "EXDATE;TZID=Europe/Berlin:20261123T090000"],
                    ["RRULE:FREQ=DAILY;UNTIL=20270101T000000Z", "EXDATE:20261123T090000Z"],
                ]
            ),
            "reminders": st.just(
                {"useDefault": False, "overrides": [{"method": "popup", "minutes": 10}]}
            ),
        },
    ),
)


def read(content: bytes) -> Json:
    (group,) = IcsFile(content).groups
    assert group.master is not None
    return read_event(group.master)


@given(FIELDS)
def test_what_is_written_is_read(fields: Json) -> None:
    again = read(new_file(new_event("event1", fields, NOW)))
    for name, value in fields.items():
        assert _same(again[name], value)


@given(FIELDS, FIELDS)
def test_a_change_changes_what_it_names_and_nothing_else(first: Json, second: Json) -> None:
    file = IcsFile(new_file(new_event("event1", first, NOW)))
    (group,) = file.groups
    # Both times change together, as the tools change them; a rule goes with its own times.
    changes = {name: value for name, value in second.items() if name != "recurrence"}
    if "recurrence" in first:
        changes |= {name: first[name] for name in ("start", "end")}
    change(group, changes, "UTC", NOW)
    again = read(file.to_bytes())
    for name, value in (first | changes).items():
        assert _same(again[name], value)


def _same(read: Any, written: Any) -> bool:
    """Two times are the same in either way of saying twice one hour."""
    if isinstance(written, dict) and "dateTime" in written:
        moments = (datetime.fromisoformat(one["dateTime"]) for one in (read, written))
        gap = abs(next(moments) - next(moments))
        return read["timeZone"] == written["timeZone"] and gap <= timedelta(hours=1)
    return read == written


@given(TEXTS, TEXTS)
def test_no_text_makes_an_event_of_its_own(summary: str, name: str) -> None:
    people = [{"email": "a@b.org", "displayName": name, "responseStatus": "accepted"}]
    fields = {"start": {"date": "2026-11-16"}, "end": {"date": "2026-11-17"}, "attendees": people}
    again = read(new_file(new_event("event1", fields | {"summary": summary}, NOW)))
    assert again["summary"] == summary
    assert [one["email"] for one in again["attendees"]] == ["a@b.org"]


@given(st.binary(max_size=200), st.integers(0, 400), st.integers(0, 50))
def test_damage_is_read_or_refused_and_nothing_else(noise: bytes, at: int, cut: int) -> None:
    fields = {"summary": "a", "start": {"date": "2026-11-16"}, "end": {"date": "2026-11-17"}}
    whole = new_file(new_event("event1", fields, NOW))
    damaged = whole[:at] + noise + whole[at + cut :]
    try:
        for group in IcsFile(damaged, whole=False).groups:
            for event in group.events():
                read_event(event)
    except BROKEN:
        pass


@given(ZONES, st.integers(1971, 2100), st.integers(0, 365 * 24 * 3))
def test_the_zone_in_a_file_says_what_the_zone_itself_says(
    zone: str, year: int, hours: int
) -> None:
    from zoneinfo import ZoneInfo

    moment = datetime(year, 1, 1, tzinfo=UTC) + timedelta(hours=hours, minutes=5)
    place = vtimezone(zone, year).to_tz()
    local = moment.astimezone(ZoneInfo(zone))
    assert local.replace(tzinfo=place).utcoffset() == local.utcoffset() or _is_twice(local)


def _is_twice(local: datetime) -> bool:
    return local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()
