"""Calendars in a folder: what is written there, and what others have written there."""

from __future__ import annotations

import stat
import threading
from pathlib import Path
from typing import Any

import icalendar
import pytest

from callblocks.core.errors import ToolError
from callblocks.toolkits.office.backend import Json, Page
from callblocks.toolkits.office.local.calendar.calendars import LocalCalendars

BERLIN = "Europe/Berlin"


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder of the primary calendar, in Berlin."""
    folder = tmp_path / "office" / "calendar" / "primary"
    folder.mkdir(parents=True)
    (folder / "timezone").write_text("Europe/Berlin\n")
    return folder


@pytest.fixture
def calendars(tmp_path: Path, home: Path) -> LocalCalendars:
    return LocalCalendars(tmp_path / "office")


def put(home: Path, *lines: str, name: str = "a.ics") -> Path:
    """A file as another program writes it: the lines of one VEVENT, or whole components."""
    inner = lines if lines[0].startswith("BEGIN:") else ("BEGIN:VEVENT", *lines, "END:VEVENT")
    whole = ("BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//x//y//EN", *inner, "END:VCALENDAR", "")
    (home / name).write_bytes("\r\n".join(whole).encode())
    return home / name


def listed(calendars: LocalCalendars, **asked: Any) -> Page:
    usual: Json = {
        "time_min": "",
        "time_max": "",
        "query": "",
        "single": True,
        "zone": "",
        "limit": 50,
        "page": "",
    }
    return calendars.events("primary", **{**usual, **asked})


def only(calendars: LocalCalendars) -> Json:
    page = listed(calendars)
    assert page.faults == ()
    (event,) = page.items
    return event


def starts(calendars: LocalCalendars, **asked: Any) -> list[str]:
    items = listed(calendars, **asked).items
    return [one["start"].get("dateTime") or one["start"]["date"] for one in items]


def update(calendars: LocalCalendars, id: str, **changes: Any) -> Json:
    return calendars.update("primary", id, changes, notify="none")


def at(local: str, zone: str = BERLIN) -> Json:
    return {"dateTime": local, "timeZone": zone}


def test_reading_makes_nothing(tmp_path: Path) -> None:
    calendars = LocalCalendars(tmp_path / "office")
    assert listed(calendars) == Page([])
    assert calendars.zone("primary") == "UTC"
    with pytest.raises(ToolError):
        calendars.event("primary", "nosuch")
    assert not (tmp_path / "office").exists()


def test_only_the_owner_may_read_what_is_written(tmp_path: Path) -> None:
    calendars = LocalCalendars(tmp_path / "office")
    point = {"date": "2026-11-16"}, {"date": "2026-11-17"}
    calendars.create("primary", {"start": point[0], "end": point[1]}, notify="none")
    for path in (tmp_path / "office").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_another_program_reads_what_is_written(calendars: LocalCalendars, home: Path) -> None:
    made = calendars.create(
        "primary",
        {
            "summary": "Crew, at nine",
            "start": at("2026-10-12T09:00:00"),
            "end": at("2026-10-12T10:00:00"),
            "recurrence": ["RRULE:FREQ=WEEKLY;COUNT=4"],
            "attendees": [{"email": "ada@example.org", "displayName": "Ada"}],
            "reminders": {"overrides": [{"method": "popup", "minutes": 10}]},
        },
        notify="none",
    )
    update(calendars, f"{made['id']}_20261026T080000Z", summary="Crew, late")
    calendars.delete("primary", f"{made['id']}_20261019T070000Z", notify="none")
    whole: Any = icalendar.Calendar.from_ical((home / f"{made['id']}.ics").read_bytes())
    assert [zone["TZID"] for zone in whole.walk("VTIMEZONE")] == [BERLIN]
    series, one = whole.walk("VEVENT")
    assert series["UID"] == one["UID"] == made["id"]
    assert series["SUMMARY"] == "Crew, at nine"
    assert series["DTSTART"].dt.isoformat() == "2026-10-12T09:00:00+02:00"
    assert series["RRULE"].to_ical() == b"FREQ=WEEKLY;COUNT=4"
    assert series["EXDATE"].dts[0].dt.isoformat() == "2026-10-19T09:00:00+02:00"
    assert series["ATTENDEE"] == "mailto:ada@example.org"
    assert one["RECURRENCE-ID"].dt.isoformat() == "2026-10-26T09:00:00+01:00"
    assert one["SUMMARY"] == "Crew, late"
    assert "RRULE" not in one
    assert len(whole.walk("VALARM")) == 2


def test_times_without_a_zone_are_in_the_zone_of_the_calendar(
    calendars: LocalCalendars, home: Path
) -> None:
    put(home, "UID:1", "DTSTART:20261116T090000", "DTEND:20261116T100000", "SUMMARY:a")
    event = only(calendars)
    assert event["start"] == at("2026-11-16T09:00:00+01:00")
    assert starts(calendars, zone="UTC") == ["2026-11-16T08:00:00Z"]
    update(calendars, event["id"], summary="b")
    assert b"DTSTART:20261116T090000\r\n" in (home / "a.ics").read_bytes()


def test_a_series_without_a_zone_may_have_an_occurrence_of_its_own(
    calendars: LocalCalendars, home: Path
) -> None:
    put(home, "UID:seri1", "DTSTART:20261116T090000", "DURATION:PT1H", "RRULE:FREQ=DAILY;COUNT=3")
    update(calendars, "seri1_20261117T080000Z", summary="b")
    assert b"RECURRENCE-ID:20261117T090000\r\n" in (home / "a.ics").read_bytes()
    assert [one.get("summary", "") for one in listed(calendars).items] == ["", "b", ""]
    calendars.delete("primary", "seri1_20261118T080000Z", notify="none")
    calendars.delete("primary", "seri1_20261117T080000Z", notify="none")
    assert starts(calendars) == ["2026-11-16T09:00:00+01:00"]
    update(calendars, "seri1_20261118T080000Z", status="confirmed")
    assert starts(calendars) == ["2026-11-16T09:00:00+01:00", "2026-11-18T09:00:00+01:00"]


@pytest.mark.parametrize(
    ("lines", "end"),
    [
        (("DTSTART:20261116T090000Z", "DURATION:PT1H30M"), at("2026-11-16T11:30:00+01:00", "UTC")),
        (("DTSTART:20261116T090000Z",), at("2026-11-16T10:00:00+01:00", "UTC")),
        (("DTSTART;VALUE=DATE:20261116",), {"date": "2026-11-17"}),
        (("DTSTART;VALUE=DATE:20261116", "DURATION:P3D"), {"date": "2026-11-19"}),
        (("DTSTART;VALUE=DATE:20261116", "DTEND:20261118T090000Z"), {"date": "2026-11-17"}),
    ],
)
def test_an_event_without_an_end_has_one(
    calendars: LocalCalendars, home: Path, lines: tuple[str, ...], end: Json
) -> None:
    put(home, "UID:1", *lines)
    assert only(calendars)["end"] == end


@pytest.mark.parametrize(
    "tzid",
    [
        "Europe/Berlin",
        "W. Europe Standard Time",
        "/mozilla.org/20050126_1/Europe/Berlin",
        '"Europe/Berlin"',
    ],
)
def test_zones_are_known_by_the_names_that_programs_give_them(
    calendars: LocalCalendars, home: Path, tzid: str
) -> None:
    put(home, "UID:1", f"DTSTART;TZID={tzid}:20260716T090000")
    assert only(calendars)["start"] == at("2026-07-16T09:00:00+02:00")


def test_a_zone_of_the_files_own_making_is_read_from_the_file(
    calendars: LocalCalendars, home: Path
) -> None:
    zone = ("BEGIN:VTIMEZONE", "TZID:Ship time", "BEGIN:STANDARD", "DTSTART:19700101T000000")
    offsets = ("TZOFFSETFROM:-0300", "TZOFFSETTO:-0300", "END:STANDARD", "END:VTIMEZONE")
    event = ("BEGIN:VEVENT", "UID:1", "DTSTART;TZID=Ship time:20261116T090000", "END:VEVENT")
    put(home, *zone, *offsets, *event)
    assert only(calendars)["start"] == at("2026-11-16T13:00:00+01:00", "Etc/GMT+3")
    update(calendars, only(calendars)["id"], summary="b")
    assert b"TZID:Ship time" in (home / "a.ics").read_bytes()


def test_what_google_has_no_field_for_stays_as_it_was(
    calendars: LocalCalendars, home: Path
) -> None:
    kept = (
        "X-MOOD;X-SHADE=deep:blue\\, mostly",
        "CATEGORIES:WORK,BOAT",
        "GEO:54.1;10.2",
        "COMMENT:in C:\\\\New\\nand there",
        "ATTACH:https://example.org/plan.pdf",
    )
    alarm = (
        "BEGIN:VALARM",
        "ACTION:AUDIO",
        "TRIGGER;VALUE=DATE-TIME:20261116T080000Z",
        "END:VALARM",
    )
    path = put(home, "UID:1", "DTSTART:20261116T090000Z", "SUMMARY:a", *kept, *alarm)
    update(calendars, only(calendars)["id"], summary="b", reminders={"overrides": []})
    lines = path.read_text().splitlines()
    for line in (*kept, *alarm, "SUMMARY:b", "SEQUENCE:1"):
        assert line in lines


def test_several_events_in_one_file_are_events_of_their_own(
    calendars: LocalCalendars, home: Path
) -> None:
    events = [
        ("BEGIN:VEVENT", *uid, f"DTSTART:2026111{at}T090000Z", f"SUMMARY:{at}", "END:VEVENT")
        for at, uid in enumerate((("UID:1",), (), (), ("UID:long one@example.org",), ("UID:1",)), 1)
    ]
    path = put(home, *(line for event in events for line in event))
    items = listed(calendars).items
    assert [one["summary"] for one in items] == ["1", "2", "3", "4", "5"]
    assert len({one["id"] for one in items}) == 5
    update(calendars, items[2]["id"], summary="third")
    calendars.delete("primary", items[4]["id"], notify="none")
    assert [one["summary"] for one in listed(calendars).items] == ["1", "2", "third", "4"]
    assert path.read_text().count("BEGIN:VEVENT") == 5


def test_a_copied_file_is_an_event_of_its_own(calendars: LocalCalendars, home: Path) -> None:
    put(home, "UID:first1", "DTSTART:20261116T090000Z", "SUMMARY:a")
    put(home, "UID:first1", "DTSTART:20261117T090000Z", "SUMMARY:b", name="a copy.ics")
    ids = {one["summary"]: one["id"] for one in listed(calendars).items}
    assert len(set(ids.values())) == 2
    update(calendars, ids["b"], summary="c")
    assert [one["summary"] for one in listed(calendars).items] == ["a", "c"]


def test_folded_lines_and_a_byte_order_mark_are_read(calendars: LocalCalendars, home: Path) -> None:
    path = put(home, "UID:1", "DTSTART:20261116T090000Z", "SUMMARY:one ", " and two\\,", "\t three")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\r\n", b"\n"))
    assert only(calendars)["summary"] == "one and two, three"


def test_an_invitation_to_one_occurrence_is_an_event(calendars: LocalCalendars, home: Path) -> None:
    recurrence = "RECURRENCE-ID:20261116T080000Z"
    put(home, "UID:guest", recurrence, "DTSTART:20261116T090000Z", "SUMMARY:a")
    event = only(calendars)
    assert event["id"] == "guest_20261116T080000Z"
    assert update(calendars, event["id"], summary="b")["summary"] == "b"
    calendars.delete("primary", event["id"], notify="none")
    assert listed(calendars).items == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"\x00\xff" * 50,
        b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\n",
        b"BEGIN:VCALENDAR\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
        b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:x\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
        b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART:soon\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
        b"BEGIN:VEVENT\r\nUID:1\r\nDTSTART:20261116T090000Z\r\nEND:VEVENT\r\n",
        b"BEGIN:VCALENDAR\r\n" * 3000,
    ],
)
def test_a_damaged_file_is_told_and_harms_nothing_else(
    calendars: LocalCalendars, home: Path, content: bytes
) -> None:
    put(home, "UID:1", "DTSTART:20261116T090000Z", "SUMMARY:good")
    (home / "bad.ics").write_bytes(content)
    page = listed(calendars)
    assert [one["summary"] for one in page.items] == ["good"]
    (fault,) = page.faults
    assert "bad.ics" in fault
    assert (home / "bad.ics").read_bytes() == content
    with pytest.raises(ToolError) as caught:
        calendars.event("primary", "bad")
    assert caught.value.code == "workspace_damaged"


def test_a_rule_that_is_none_is_told_and_the_event_shown_once(
    calendars: LocalCalendars, home: Path
) -> None:
    put(home, "UID:1", "DTSTART:20261116T090000Z", "SUMMARY:a", "RRULE:FREQ=DAILY;INTERVAL=0")
    page = listed(calendars)
    assert len(page.items) == 1
    assert "INTERVAL" in page.faults[0]


def test_a_file_that_is_too_large_is_told(calendars: LocalCalendars, home: Path) -> None:
    with (home / "big.ics").open("wb") as file:
        file.truncate(6_000_000)
    assert "big.ics" in listed(calendars).faults[0]


def test_links_are_not_followed(calendars: LocalCalendars, home: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    secret = put(outside, "UID:1", "DTSTART:20261116T090000Z", "SUMMARY:secret")
    (home / "link.ics").symlink_to(secret)
    (home.parent / "other").symlink_to(outside)
    (home / "displayname").symlink_to(secret)
    assert listed(calendars).items == []
    (entry,) = calendars.calendars(limit=10, page="").items
    assert entry["summary"] == "primary"
    with pytest.raises(ToolError) as caught:
        calendars.create("other", {}, notify="none")
    assert caught.value.code == "not_found"


def test_a_linked_office_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real" / "calendar" / "primary").mkdir(parents=True)
    (tmp_path / "office").symlink_to(tmp_path / "real")
    with pytest.raises(ToolError):
        listed(LocalCalendars(tmp_path / "office"))


def test_what_a_person_changes_by_hand_is_seen_at_once(
    calendars: LocalCalendars, home: Path
) -> None:
    path = put(home, "UID:1", "DTSTART:20261116T090000Z", "SUMMARY:a")
    assert only(calendars)["summary"] == "a"
    path.write_bytes(path.read_bytes().replace(b"SUMMARY:a", b"SUMMARY:changed"))
    assert only(calendars)["summary"] == "changed"
    path.rename(home / "b.ics")
    assert only(calendars)["summary"] == "changed"
    (home / "b.ics").unlink()
    assert listed(calendars).items == []


@pytest.mark.parametrize("harm", ["gone", "garbage", "link", "folder", "read-only"])
def test_the_index_may_be_lost_at_any_time(
    calendars: LocalCalendars, home: Path, tmp_path: Path, harm: str
) -> None:
    put(home, "UID:1", "DTSTART:20261116T090000Z", "SUMMARY:a")
    assert only(calendars)["summary"] == "a"
    index = tmp_path / "office" / ".index" / "calendar.sqlite"
    assert index.is_file()
    if harm == "garbage":
        index.write_bytes(b"not a database, but long enough to be one" * 100)
    elif harm != "read-only":
        index.unlink()
    if harm == "link":
        index.symlink_to(tmp_path / "elsewhere")
    if harm == "folder":
        index.mkdir()
    if harm == "read-only":
        index.chmod(0o400)
    assert only(calendars)["summary"] == "a"
    assert update(calendars, only(calendars)["id"], summary="b")["summary"] == "b"
    assert not (tmp_path / "elsewhere").exists()


def test_calendars_have_names_and_colours_as_vdir_has_them(
    calendars: LocalCalendars, home: Path
) -> None:
    (home / "displayname").write_text("Ferry office\n")
    (home / "color").write_text("#2860aa\n")
    (home.parent / "aside").mkdir()
    (home.parent / ".hidden").mkdir()
    first, second = calendars.calendars(limit=10, page="").items
    assert (first["summary"], first["backgroundColor"]) == ("Ferry office", "#2860aa")
    assert (first["timeZone"], second["timeZone"]) == (BERLIN, "UTC")
    assert ("primary" in first, "primary" in second) == (True, False)


def test_the_first_calendar_is_primary_where_none_has_that_name(tmp_path: Path) -> None:
    for name in ("work", "home"):
        (tmp_path / "office" / "calendar" / name).mkdir(parents=True)
    calendars = LocalCalendars(tmp_path / "office")
    days = {"start": {"date": "2026-11-16"}, "end": {"date": "2026-11-17"}}
    made = calendars.create("primary", days, notify="none")
    assert calendars.event("home", made["id"]) == made


def test_a_series_that_moves_takes_its_exceptions_along(calendars: LocalCalendars) -> None:
    made = calendars.create(
        "primary",
        {
            "summary": "Crew",
            "start": at("2026-10-12T09:00:00"),
            "end": at("2026-10-12T10:00:00"),
            "recurrence": ["RRULE:FREQ=WEEKLY;UNTIL=20261102T080000Z"],
        },
        notify="none",
    )
    update(calendars, f"{made['id']}_20261019T070000Z", summary="second")
    calendars.delete("primary", f"{made['id']}_20261026T080000Z", notify="none")
    moved = {"start": at("2026-10-13T11:00:00"), "end": at("2026-10-13T12:00:00")}
    update(calendars, made["id"], location="Quay", **moved)
    items = listed(calendars).items
    assert [one["summary"] for one in items] == ["Crew", "second", "Crew"]
    assert [one["location"] for one in items] == ["Quay"] * 3
    # What was changed by itself keeps its own time, and is the second one still.
    assert [one["start"]["dateTime"] for one in items] == [
        "2026-10-13T11:00:00+02:00",
        "2026-10-19T09:00:00+02:00",
        "2026-11-03T11:00:00+01:00",
    ]
    days = {"start": {"date": "2026-10-14"}, "end": {"date": "2026-10-15"}}
    update(calendars, made["id"], **days)
    whole = [one for one in listed(calendars).items if one["summary"] == "Crew"]
    assert [one["start"] for one in whole] == [{"date": "2026-10-14"}, {"date": "2026-11-04"}]


def test_two_writers_at_once_lose_nothing(calendars: LocalCalendars, tmp_path: Path) -> None:
    days = {"start": {"date": "2026-11-16"}, "end": {"date": "2026-11-17"}}
    id = calendars.create("primary", days, notify="none")["id"]
    people = [f"p{number}@example.org" for number in range(8)]
    codes: set[str] = set()

    def write(person: str) -> None:
        own = LocalCalendars(tmp_path / "office")
        own.create("primary", {"summary": person, **days}, notify="none")
        while True:
            old = own.event("primary", id)
            wanted = [*old.get("attendees", []), {"email": person}]
            changes = {"attendees": wanted, "etag": old["etag"]}
            try:
                own.update("primary", id, changes, notify="none")
            except ToolError as error:
                codes.add(error.code)
            else:
                return

    threads = [threading.Thread(target=write, args=(person,)) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes <= {"conflict"}
    event = calendars.event("primary", id)
    assert {one["email"] for one in event["attendees"]} == set(people)
    assert event["sequence"] == len(people)
    assert {one.get("summary", "") for one in listed(calendars).items} == {"", *people}


def test_a_calendar_that_another_program_holds_is_busy(
    calendars: LocalCalendars, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl
    import os

    from callblocks.toolkits.office.local.calendar import calendar_files

    monkeypatch.setattr(calendar_files, "_PATIENCE", 0.05)
    days = {"start": {"date": "2026-11-16"}, "end": {"date": "2026-11-17"}}
    held = os.open(home, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(ToolError) as caught:
            calendars.create("primary", days, notify="none")
    finally:
        os.close(held)
    assert caught.value.code == "busy"
    assert calendars.create("primary", days, notify="none")["status"] == "confirmed"


def test_whoever_invites_is_the_person_of_the_office(
    calendars: LocalCalendars, tmp_path: Path
) -> None:
    (tmp_path / "office" / "mail").mkdir()
    (tmp_path / "office" / "mail" / "address").write_text("ada@example.org\n")
    days = {"start": {"date": "2026-11-16"}, "end": {"date": "2026-11-17"}}
    people = [{"email": "bo@example.org"}]
    made = calendars.create("primary", days | {"attendees": people}, notify="none")
    assert made["organizer"] == {"email": "ada@example.org"}
    assert "organizer" not in calendars.create("primary", days, notify="none")


def test_an_id_that_is_taken_or_none_is_refused(calendars: LocalCalendars) -> None:
    days = {"start": {"date": "2026-11-16"}, "end": {"date": "2026-11-17"}}
    calendars.create("primary", days | {"id": "first1"}, notify="none")
    for id, code in (
        ("first1", "conflict"),
        ("../../x", "invalid_input"),
        ("xyz", "invalid_input"),
    ):
        with pytest.raises(ToolError) as caught:
            calendars.create("primary", days | {"id": id}, notify="none")
        assert caught.value.code == code
