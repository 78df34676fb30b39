"""Calendars and events, the same on both offices."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from callblocks.core.errors import ToolError
from callblocks.toolkits.office.backend import Office
from callblocks.toolkits.office.local.local_office import LocalOffice
from callblocks.toolkits.office.tools.calendar_tools import calendar_tools
from callblocks.tools.tool import Context
from support.google.calendar import add_calendar
from support.google.calling import Calling
from support.google.state import State

BERLIN = "Europe/Berlin"


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """The zone of a calendar that says none is that of the machine."""
    monkeypatch.setenv("TZ", "UTC")


@pytest.fixture
def add(call: Calling) -> Callable[..., str]:
    """Add an event; its id."""

    def add(summary: str, start: Any, end: Any, **more: Any) -> str:
        return call("calendar_create", summary=summary, start=start, end=end, **more)["id"]

    return add


@pytest.fixture
def weekly(add: Callable[..., str]) -> str:
    """A series on Mondays at nine in Berlin, across the end of summer time."""
    return add(
        "Crew",
        "2026-10-12 09:00",
        "2026-10-12 10:00",
        timeZone=BERLIN,
        recurrence="RRULE:FREQ=WEEKLY;COUNT=4",
    )


@pytest.fixture
def starts(call: Calling) -> Callable[..., list[str]]:
    """When the listed events start, in Berlin."""

    def starts(**given: Any) -> list[str]:
        items = call("calendar_events", timeZone=BERLIN, **given)["items"]
        return [one["start"].get("dateTime") or one["start"]["date"] for one in items]

    return starts


@pytest.fixture
def titles(call: Calling) -> Callable[..., list[str]]:
    """The titles of the listed events."""
    return lambda **given: [one["summary"] for one in call("calendar_events", **given)["items"]]


@pytest.fixture
def add_other(office: Office, request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Make another calendar in Tokyo, as a person does; its id."""
    if isinstance(office, LocalOffice):
        folder = office.folder / "calendar"

        def make(name: str) -> str:
            # Google's primary calendar is there from the start.
            (folder / "primary").mkdir(parents=True, exist_ok=True)
            (folder / name).mkdir()
            (folder / name / "timezone").write_text("Asia/Tokyo\n")
            return name

        return make
    state: State = request.getfixturevalue("google_state")
    return lambda name: add_calendar(state, name, name, "Asia/Tokyo")


def test_there_is_a_primary_calendar_at_first_and_nothing_in_it(call: Calling) -> None:
    (calendar,) = call("calendar_list")["items"]
    assert calendar["primary"] is True
    assert calendar["timeZone"] == "UTC"
    assert call("calendar_events") == {"items": []}
    assert call("calendar_events", calendarId=calendar["id"]) == {"items": []}


def test_an_event_is_given_back_as_it_was_made(call: Calling) -> None:
    made = call(
        "calendar_create",
        summary="Plan, budget; and more",
        start="2026-11-16T14:00",
        end="2026-11-16T15:30",
        timeZone=BERLIN,
        description="Line one\nline two 🚀",
        location="Room 5",
        attendees=["Ada Lovelace <ada@example.org>", {"email": "bo@example.org"}],
        reminders=[10],
    )
    for name, value in {
        "status": "confirmed",
        "summary": "Plan, budget; and more",
        "description": "Line one\nline two 🚀",
        "location": "Room 5",
        "start": {"dateTime": "2026-11-16T14:00:00+01:00", "timeZone": BERLIN},
        "end": {"dateTime": "2026-11-16T15:30:00+01:00", "timeZone": BERLIN},
        "attendees": [
            {
                "email": "ada@example.org",
                "displayName": "Ada Lovelace",
                "responseStatus": "needsAction",
            },
            {"email": "bo@example.org", "responseStatus": "needsAction"},
        ],
        "reminders": {"overrides": [{"method": "popup", "minutes": 10}]},
    }.items():
        assert made[name] == value
    assert call("calendar_events")["items"] == [made]


def test_the_whole_resource_has_what_a_program_needs(call: Calling) -> None:
    made = call(
        "calendar_create", summary="A", start="2026-11-16 14:00", end="2026-11-16 15:00", full=True
    )
    assert made["kind"] == "calendar#event"
    for name in ("etag", "iCalUID", "sequence", "created", "updated", "htmlLink"):
        assert name in made
    (listed,) = call("calendar_events", full=True)["items"]
    assert listed == made


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2026-11-16T14:00:00+01:00", "2026-11-16T15:00:00+01:00"),
        ("2026-11-16T13:00:00Z", "2026-11-16T14:00Z"),
        ("2026-11-16 14:00 Europe/Berlin", "2026-11-16 15:00 Europe/Berlin"),
        ("2026-11-16T14:00:00+01:00[Europe/Berlin]", "2026-11-16 15:00"),
        ("20261116T130000Z", "20261116T140000Z"),
        (
            {"dateTime": "2026-11-16T14:00:00", "timeZone": BERLIN},
            {"dateTime": "2026-11-16T15:00:00", "timeZone": BERLIN},
        ),
        ("2026-11-16T08:00:00-05:00", "2026-11-16 9:00"),
        ("2026-11-16 13:00", "2026-11-16 14:00:00.000"),
    ],
)
def test_a_time_may_be_written_in_many_ways(call: Calling, start: Any, end: Any) -> None:
    made = call("calendar_create", summary="A", start=start, end=end)
    moments = [datetime.fromisoformat(made[name]["dateTime"]) for name in ("start", "end")]
    assert moments == [datetime(2026, 11, 16, hour, tzinfo=UTC) for hour in (13, 14)]


def test_a_time_agrees_with_the_zone_beside_it(call: Calling, add: Callable[..., str]) -> None:
    add("A", "2026-11-16 14:00", "2026-11-16 15:00", timeZone=BERLIN)
    own = call("calendar_events")["items"][0]["start"]
    assert own == {"dateTime": "2026-11-16T14:00:00+01:00", "timeZone": BERLIN}
    asked = call("calendar_events", timeZone="Asia/Tokyo")["items"][0]["start"]
    assert asked == {"dateTime": "2026-11-16T22:00:00+09:00", "timeZone": "Asia/Tokyo"}


def test_a_call_that_is_repeated_finds_its_event_and_another_call_adds_one(call: Calling) -> None:
    given = {"summary": "A", "start": "2026-11-16 14:00", "end": "2026-11-16 15:00"}
    create = call.tool("calendar_create")
    values = dict(create.check(given).values)
    ids = [create(**values, context=Context(key=key))["id"] for key in ("one", "one", "two")]
    assert ids[0] == ids[1] != ids[2]
    assert len(call("calendar_events")["items"]) == 2


def test_a_time_without_a_zone_is_in_the_zone_of_the_calendar(
    call: Calling, add_other: Callable[[str], str]
) -> None:
    other = add_other("tokyo")
    made = call(
        "calendar_create",
        summary="A",
        start="2026-11-16 14:00",
        end="2026-11-16 15:00",
        calendarId=other,
    )
    assert made["start"] == {"dateTime": "2026-11-16T14:00:00+09:00", "timeZone": "Asia/Tokyo"}
    assert call("calendar_events")["items"] == []
    inside = {"timeMin": "2026-11-16 14:59", "timeMax": "2026-11-16 15:30"}
    assert call("calendar_events", calendarId=other, **inside)["items"] == [made]
    assert call("calendar_events", calendarId=other, timeMin="2026-11-16 15:00")["items"] == []


def test_an_event_of_whole_days_ends_before_the_day_of_its_end(
    call: Calling, add: Callable[..., str], titles: Callable[..., list[str]]
) -> None:
    add("Fair", "2026-11-16", {"date": "2026-11-18"})
    (event,) = call("calendar_events")["items"]
    assert event["start"] == {"date": "2026-11-16"}
    assert event["end"] == {"date": "2026-11-18"}
    assert titles(timeMin="2026-11-17", timeMax="2026-11-17") == ["Fair"]
    assert titles(timeMin="2026-11-18") == []
    assert titles(timeMax="2026-11-15") == []


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"start": "2026-11-16 15:00", "end": "2026-11-16 14:00"}, "end"),
        ({"start": "2026-11-16", "end": "2026-11-16"}, "end"),
        ({"start": "2026-11-16", "end": "2026-11-16 14:00"}, "end"),
        ({"start": "2026-11-16 14:00", "end": "2026-11-17"}, "end"),
        ({"start": "tomorrow"}, "start"),
        ({"start": "2026-02-30 14:00"}, "start"),
        ({"start": "2026-11-16 25:00"}, "start"),
        ({"start": "2026-11-16T14:00:00+99:00"}, "start"),
        ({"start": "2026-11-16 14:00 Mars/Base"}, "start"),
        ({"start": "2026-11-16Z"}, "start"),
        ({"start": {}}, "start"),
        ({"start": {"date": "2026-11-16 14:00"}}, "start"),
        ({"start": {"dateTime": "2026-11-16"}}, "start"),
        ({"end": ""}, "end"),
        ({"timeZone": "Europe/Berlln"}, "timeZone"),
        ({"timeZone": "Europe"}, "timeZone"),
        ({"timeZone": "../../etc/passwd"}, "timeZone"),
        ({"attendees": ["nobody"]}, "attendees"),
        ({"attendees": "a@b.c, <x"}, "attendees"),
        ({"attendees": [{"name": "Ada"}]}, "attendees"),
        ({"attendees": ["a@b.c\nATTENDEE:mailto:x@y.z"]}, "attendees"),
        ({"recurrence": "every day"}, "recurrence"),
        ({"recurrence": "RRULE:FREQ=OFTEN"}, "recurrence"),
        ({"recurrence": "RRULE:FREQ=DAILY;INTERVAL=0"}, "recurrence"),
        ({"recurrence": "RRULE:FREQ=DAILY;COUNT=2;UNTIL=20261201"}, "recurrence"),
        ({"recurrence": "RRULE:FREQ=DAILY;BYMONTH=13"}, "recurrence"),
        ({"recurrence": "RRULE:FREQ=DAILY;BYDAY=XX"}, "recurrence"),
        ({"recurrence": "RRULE:FREQ=DAILY;UNTIL=soon"}, "recurrence"),
        ({"recurrence": "RRULE:FREQ=DAILY;UNTIL=20261340"}, "recurrence"),
        ({"recurrence": ["EXDATE:20261123"]}, "recurrence"),
        ({"recurrence": ["RRULE:FREQ=DAILY", "EXDATE:soon"]}, "recurrence"),
        ({"recurrence": ["RRULE:FREQ=DAILY", "DTSTART:20261123"]}, "recurrence"),
        ({"summary": "bell \x07"}, "summary"),
        ({"reminders": [-1]}, "reminders"),
        ({"sendUpdates": "everybody"}, "sendUpdates"),
    ],
)
def test_what_cannot_be_is_refused_and_the_field_named(
    call: Calling, given: dict[str, Any], field: str
) -> None:
    event = {"summary": "A", "start": "2026-11-16 14:00", "end": "2026-11-16 15:00"} | given
    error = call.error("calendar_create", **event)
    assert error.code == "invalid_input"
    assert list(error.details) == [field]
    assert call("calendar_events")["items"] == []


def test_an_unknown_zone_is_answered_with_one_that_is_like_it(call: Calling) -> None:
    for written in ("Europe/Berln", "europe/berlin", "Berlin"):
        event = {"summary": "A", "start": "2026-11-16 14:00", "end": "2026-11-16 15:00"}
        error = call.error("calendar_create", timeZone=written, **event)
        assert "did you mean Europe/Berlin?" in error.message


@pytest.mark.parametrize("name", ["calendar_update", "calendar_delete"])
@pytest.mark.parametrize("id", ["nosuchevent", "a_20261116T130000Z", "../../etc/passwd", "ä b"])
def test_an_unknown_event_is_not_found(call: Calling, name: str, id: str) -> None:
    more = {"summary": "B"} if name == "calendar_update" else {}
    assert call.failure(name, eventId=id, **more) in ("not_found", "invalid_input")


def test_an_unknown_calendar_is_not_found(call: Calling) -> None:
    event = {"summary": "A", "start": "2026-11-16 14:00", "end": "2026-11-16 15:00"}
    for other in ("nosuch", "../primary", "."):
        assert call.failure("calendar_events", calendarId=other) in ("not_found", "invalid_input")
        assert call.failure("calendar_create", calendarId=other, **event) in (
            "not_found",
            "invalid_input",
        )


def test_events_come_by_their_start_page_by_page(call: Calling, add: Callable[..., str]) -> None:
    for hour in (15, 9, 12, 11, 10):
        add(f"at {hour}", f"2026-11-16 {hour}:00", f"2026-11-16 {hour}:30")
    seen: list[str] = []
    token = ""
    for expected in (2, 2, 1):
        page = call("calendar_events", maxResults=2, pageToken=token)
        assert len(page["items"]) == expected
        seen += [one["summary"] for one in page["items"]]
        token = page.get("nextPageToken", "")
    assert token == ""
    assert seen == ["at 9", "at 10", "at 11", "at 12", "at 15"]


def test_a_token_that_no_list_gave_is_refused(call: Calling, add: Callable[..., str]) -> None:
    add("A", "2026-11-16 14:00", "2026-11-16 15:00")
    assert call.failure("calendar_events", pageToken="%%%") == "invalid_input"
    assert call.failure("calendar_list", pageToken="%%%") == "invalid_input"


def test_calendars_come_page_by_page(call: Calling, add_other: Callable[[str], str]) -> None:
    names = {add_other(f"calendar{at}") for at in range(3)}
    first = call("calendar_list", maxResults=3)
    rest = call("calendar_list", maxResults=3, pageToken=first["nextPageToken"])
    ids = [one["id"] for one in first["items"] + rest["items"]]
    assert len(ids) == 4
    assert names < set(ids)
    assert "nextPageToken" not in rest


def test_a_window_has_what_overlaps_it(
    add: Callable[..., str], titles: Callable[..., list[str]]
) -> None:
    add("night", "2026-11-15 23:00", "2026-11-16 01:00")
    add("noon", "2026-11-16 12:00", "2026-11-16 13:00")
    assert titles(timeMin="2026-11-16", timeMax="2026-11-16") == ["night", "noon"]
    assert titles(timeMin="2026-11-16T01:00Z", timeMax="2026-11-16T12:00Z") == []
    assert titles(timeMin="2026-11-16T12:59:59Z") == ["noon"]
    assert titles(timeMax="2026-11-15T23:00:01Z") == ["night"]


def test_a_window_that_ends_before_it_starts_is_refused(call: Calling) -> None:
    error = call.error("calendar_events", timeMin="2026-11-17", timeMax="2026-11-15")
    assert (error.code, list(error.details)) == ("invalid_input", ["timeMax"])
    assert call.failure("calendar_events", timeMin="soon") == "invalid_input"
    assert call.failure("calendar_events", timeZone="Nowhere") == "invalid_input"


def test_words_are_looked_for_in_title_text_place_and_people(
    add: Callable[..., str], titles: Callable[..., list[str]]
) -> None:
    add("Budget", "2026-11-16 09:00", "2026-11-16 10:00", description="with the auditors")
    add("Lunch", "2026-11-16 12:00", "2026-11-16 13:00", location="Old Quay")
    add("Call", "2026-11-16 14:00", "2026-11-16 15:00", attendees="zoe@example.org")
    assert titles(query="BUDGET") == ["Budget"]
    assert titles(query="auditors budget") == ["Budget"]
    assert titles(query="quay") == ["Lunch"]
    assert titles(query="zoe@example") == ["Call"]
    assert titles(query="100% _") == []


def test_a_weekly_event_stays_at_nine_when_the_clocks_change(
    weekly: str, starts: Callable[..., list[str]], call: Calling
) -> None:
    assert starts() == [
        "2026-10-12T09:00:00+02:00",
        "2026-10-19T09:00:00+02:00",
        "2026-10-26T09:00:00+01:00",
        "2026-11-02T09:00:00+01:00",
    ]
    ids = [one["id"] for one in call("calendar_events")["items"]]
    stamps = ("20261012T070000Z", "20261019T070000Z", "20261026T080000Z", "20261102T080000Z")
    assert ids == [f"{weekly}_{stamp}" for stamp in stamps]


def test_an_occurrence_says_which_series_it_is_of(weekly: str, call: Calling) -> None:
    third = call("calendar_events", timeZone=BERLIN)["items"][2]
    assert third["recurringEventId"] == weekly
    assert third["originalStartTime"] == third["start"]
    assert "recurrence" not in third


def test_a_series_may_be_listed_as_one(weekly: str, call: Calling) -> None:
    (series,) = call("calendar_events", singleEvents=False, timeMin="2026-10-20")["items"]
    assert series["id"] == weekly
    assert series["recurrence"] == ["RRULE:FREQ=WEEKLY;COUNT=4"]
    assert call("calendar_events", singleEvents=False, timeMin="2026-11-20")["items"] == []


def test_a_series_of_days_has_days_in_its_ids(add: Callable[..., str], call: Calling) -> None:
    id = add(
        "Bins", "2026-11-16", "2026-11-17", recurrence=["FREQ=DAILY;COUNT=3", "EXDATE:20261117"]
    )
    items = call("calendar_events")["items"]
    assert [one["id"] for one in items] == [f"{id}_20261116", f"{id}_20261118"]
    assert items[1]["start"] == {"date": "2026-11-18"}


def test_what_is_left_out_of_a_series_may_be_said_by_day(
    add: Callable[..., str], starts: Callable[..., list[str]]
) -> None:
    lines = ["RRULE:FREQ=DAILY;UNTIL=20261119", "EXDATE:2026-11-17", "RDATE:20261125T100000"]
    add("Run", "2026-11-16 07:00", "2026-11-16 08:00", timeZone=BERLIN, recurrence=lines)
    assert starts() == [
        "2026-11-16T07:00:00+01:00",
        "2026-11-18T07:00:00+01:00",
        "2026-11-19T07:00:00+01:00",
        "2026-11-25T10:00:00+01:00",
    ]


def test_an_endless_series_is_listed_as_far_as_it_is_asked_for(
    add: Callable[..., str], starts: Callable[..., list[str]], call: Calling
) -> None:
    add("Run", "2026-11-16 07:00", "2026-11-16 08:00", recurrence="FREQ=DAILY")
    assert starts(timeMin="2028-02-28", timeMax="2028-02-29") == [
        "2028-02-28T08:00:00+01:00",
        "2028-02-29T08:00:00+01:00",
    ]
    page = call("calendar_events", maxResults=5)
    assert len(page["items"]) == 5
    assert "nextPageToken" in page
    assert [notice.code for notice in call.context.notices] == ["oldest_first"]


def test_only_what_is_given_changes(call: Calling, add: Callable[..., str]) -> None:
    more = {"description": "text", "location": "Room 5", "attendees": ["ada@example.org"]}
    id = add("A", "2026-11-16 14:00", "2026-11-16 15:00", **more)
    (before,) = call("calendar_events")["items"]
    after = call("calendar_update", eventId=id, summary="B")
    assert after == before | {"summary": "B"}
    gone = call("calendar_update", eventId=id, description="", location="", attendees=[])
    assert gone.keys() == before.keys() - more.keys()
    assert call("calendar_events")["items"] == [gone]


def test_an_event_that_is_moved_stays_as_long_as_it_was(
    call: Calling, add: Callable[..., str]
) -> None:
    id = add("A", "2026-11-16 14:00", "2026-11-16 15:30", timeZone=BERLIN)
    moved = call("calendar_update", eventId=id, start="2026-11-17 09:00")
    assert moved["start"] == {"dateTime": "2026-11-17T09:00:00+01:00", "timeZone": BERLIN}
    assert moved["end"] == {"dateTime": "2026-11-17T10:30:00+01:00", "timeZone": BERLIN}
    longer = call("calendar_update", eventId=id, end="2026-11-17 12:00")
    assert longer["start"] == moved["start"]
    assert longer["end"] == {"dateTime": "2026-11-17T12:00:00+01:00", "timeZone": BERLIN}
    assert call.failure("calendar_update", eventId=id, end="2026-11-17 08:00") == "invalid_input"


def test_an_event_may_become_one_of_whole_days_and_back(
    call: Calling, add: Callable[..., str]
) -> None:
    id = add("A", "2026-11-16 14:00", "2026-11-16 15:30")
    days = call("calendar_update", eventId=id, start="2026-11-17")
    assert (days["start"], days["end"]) == ({"date": "2026-11-17"}, {"date": "2026-11-18"})
    assert call.failure("calendar_update", eventId=id, start="2026-11-17 09:00") == "invalid_input"
    times = call("calendar_update", eventId=id, start="2026-11-17 09:00", end="2026-11-17 10:00")
    assert times["start"] == {"dateTime": "2026-11-17T09:00:00Z", "timeZone": "UTC"}


def test_who_stays_keeps_their_answer(call: Calling, add: Callable[..., str]) -> None:
    people = ["Ada <ada@example.org>", "bo@example.org"]
    id = add("A", "2026-11-16 14:00", "2026-11-16 15:30", attendees=people)
    answered = {"email": "ada@example.org", "displayName": "Ada", "responseStatus": "accepted"}
    call.office.calendars.update("primary", id, {"attendees": [answered]}, notify="none")
    after = call("calendar_update", eventId=id, attendees="ada@example.org, cy@example.org")
    assert after["attendees"] == [
        answered,
        {"email": "cy@example.org", "responseStatus": "needsAction"},
    ]


def test_a_change_of_what_was_changed_meanwhile_is_a_conflict(
    call: Calling, add: Callable[..., str]
) -> None:
    id = add("A", "2026-11-16 14:00", "2026-11-16 15:30")
    old = call.office.calendars.event("primary", id)
    call("calendar_update", eventId=id, summary="B")
    with pytest.raises(ToolError) as caught:
        call.office.calendars.update(
            "primary", id, {"summary": "C", "etag": old["etag"]}, notify="none"
        )
    assert caught.value.code == "conflict"
    assert call("calendar_events")["items"][0]["summary"] == "B"


def test_nothing_to_change_is_refused(call: Calling, add: Callable[..., str]) -> None:
    id = add("A", "2026-11-16 14:00", "2026-11-16 15:30")
    assert call.failure("calendar_update", eventId=id) == "invalid_input"
    assert call.failure("calendar_update", eventId=id, timeZone=BERLIN) == "invalid_input"


def test_one_occurrence_is_changed_alone(
    weekly: str, call: Calling, starts: Callable[..., list[str]], titles: Callable[..., list[str]]
) -> None:
    id = f"{weekly}_20261026T080000Z"
    changed = call("calendar_update", eventId=id, summary="Crew, late", start="2026-10-26 16:00")
    assert changed["id"] == id
    assert changed["recurringEventId"] == weekly
    assert changed["originalStartTime"]["dateTime"] == "2026-10-26T09:00:00+01:00"
    assert titles() == ["Crew", "Crew", "Crew, late", "Crew"]
    assert starts()[2] == "2026-10-26T16:00:00+01:00"
    assert titles(query="late") == ["Crew, late"]
    again = call("calendar_update", eventId=id, location="Quay")
    assert again["summary"] == "Crew, late"
    assert call.failure("calendar_update", eventId=id, recurrence="FREQ=DAILY") == "invalid_input"


def test_one_occurrence_is_deleted_alone_and_may_be_restored(
    weekly: str, call: Calling, starts: Callable[..., list[str]]
) -> None:
    id = f"{weekly}_20261026T080000Z"
    whole = starts()
    call("calendar_delete", eventId=id)
    assert starts() == [whole[0], whole[1], whole[3]]
    assert call.failure("calendar_delete", eventId=id) == "not_found"
    assert call.failure("calendar_update", eventId=id, summary="B") == "not_found"
    call("calendar_update", eventId=id, status="confirmed")
    assert starts() == whole


def test_an_occurrence_that_the_series_does_not_have_is_not_found(
    weekly: str, call: Calling
) -> None:
    for stamp in ("20261027T080000Z", "20261026", "20261109T080000Z", "99999999T999999Z"):
        assert call.failure("calendar_delete", eventId=f"{weekly}_{stamp}") == "not_found"


def test_a_change_of_the_series_keeps_what_was_changed_in_it(
    weekly: str, call: Calling, titles: Callable[..., list[str]]
) -> None:
    call("calendar_update", eventId=f"{weekly}_20261019T070000Z", summary="Crew, short")
    call("calendar_delete", eventId=f"{weekly}_20261102T080000Z")
    call("calendar_update", eventId=weekly, summary="All hands")
    assert titles() == ["All hands", "Crew, short", "All hands"]


def test_a_series_may_get_another_rule_or_none(
    weekly: str, call: Calling, starts: Callable[..., list[str]]
) -> None:
    call("calendar_update", eventId=weekly, recurrence=["FREQ=DAILY;COUNT=2"])
    assert starts() == ["2026-10-12T09:00:00+02:00", "2026-10-13T09:00:00+02:00"]
    call("calendar_update", eventId=weekly, recurrence=[])
    assert starts() == ["2026-10-12T09:00:00+02:00"]
    assert call("calendar_events")["items"][0]["id"] == weekly


def test_what_is_deleted_is_not_listed_and_may_be_restored(
    call: Calling, add: Callable[..., str], titles: Callable[..., list[str]]
) -> None:
    id = add("A", "2026-11-16 14:00", "2026-11-16 15:30")
    assert call("calendar_delete", eventId=id) == {"id": id, "status": "cancelled", "summary": "A"}
    assert titles() == titles(singleEvents=False) == []
    assert call.failure("calendar_delete", eventId=id) == "not_found"
    assert call.failure("calendar_update", eventId=id, summary="B") == "not_found"
    assert call("calendar_update", eventId=id, status="confirmed")["status"] == "confirmed"
    assert titles() == ["A"]


def test_a_series_is_deleted_with_all_that_was_changed_in_it(
    weekly: str, call: Calling, titles: Callable[..., list[str]]
) -> None:
    call("calendar_update", eventId=f"{weekly}_20261019T070000Z", summary="Crew, short")
    call("calendar_delete", eventId=weekly)
    assert titles() == titles(singleEvents=False) == []


def test_a_call_that_is_repeated_makes_one_event(call: Calling) -> None:
    event = {"summary": "A", "start": "2026-11-16 14:00", "end": "2026-11-16 15:00"}
    assert call("calendar_create", **event) == call("calendar_create", **event)
    assert len(call("calendar_events")["items"]) == 1


@pytest.mark.parametrize(
    "text",
    [
        'a, b; c: d \\ \\n \\, "q" ^n ^\' %0A',
        "first\nsecond\n\n\tfourth",
        "END:VEVENT\nEND:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:x",
        "🧑‍🚀 naïve 日本語 \u2028 \u00a0 \u200b",
        " leading and trailing ",
        "long " * 200,
    ],
)
def test_any_text_survives(call: Calling, text: str) -> None:
    fields = {"summary": text, "description": text, "location": text}
    made = call("calendar_create", start="2026-11-16 14:00", end="2026-11-16 15:00", **fields)
    assert {name: made[name] for name in fields} == fields
    assert [one["id"] for one in call("calendar_events")["items"]] == [made["id"]]


def test_reading_taints_the_turn(call: Calling) -> None:
    call("calendar_events")
    assert call.context.taints == ["calendar of others"]


def test_the_names_of_ones_own_calendars_taint_nothing(call: Calling) -> None:
    call("calendar_list")
    is_shared = call.server is not None
    assert call.context.taints == (["calendar of others"] if is_shared else [])


def test_what_is_created_brings_nothing_of_others(call: Calling) -> None:
    call("calendar_create", summary="Fair", start="2026-11-16", end="2026-11-17")
    assert not call.context.taints
    assert not call.tool("calendar_create").brings_text_of_others


def test_a_person_sees_what_is_to_be_changed(call: Calling, add: Callable[..., str]) -> None:
    more = {"location": "Quay", "attendees": ["ada@example.org"], "timeZone": BERLIN}
    id = add("Crew", "2026-11-16 09:00", "2026-11-16 10:00", **more)
    text = call.preview("calendar_update", eventId=id, start="2026-11-16 11:00", location="Hall")
    assert text.splitlines() == [
        "change Crew, 2026-11-16 09:00 to 10:00 (Europe/Berlin), with 1 person",
        "- start: 2026-11-16 09:00 (Europe/Berlin)",
        "+ start: 2026-11-16 11:00 (Europe/Berlin)",
        "- end: 2026-11-16 10:00 (Europe/Berlin)",
        "+ end: 2026-11-16 12:00 (Europe/Berlin)",
        "- location: Quay",
        "+ location: Hall",
        "nobody is told",
    ]
    text = call.preview("calendar_delete", eventId=id)
    assert text.startswith("delete Crew, 2026-11-16 09:00 to 10:00 (Europe/Berlin)")
    assert call.refused("calendar_delete", eventId="nosuchevent").startswith("not_found: ")
    assert call.refused("calendar_update", eventId=id, start="x").startswith("invalid_input: ")
    assert call("calendar_events")["items"][0]["location"] == "Quay"


def test_a_person_sees_what_is_to_be_created(call: Calling) -> None:
    text = call.preview("calendar_create", summary="Fair", start="2026-11-16", end="2026-11-18")
    said = "create Fair, 2026-11-16 to 2026-11-17, in the calendar 'primary'"
    assert text.splitlines()[0] == said
    text = call.refused("calendar_create", summary="Fair", start="2026-11-16", end="2026-11-15")
    assert text.startswith("invalid_input: end:")
    assert call("calendar_events")["items"] == []


def test_the_traits_say_what_a_call_may_do(local_office: Office) -> None:
    traits = {tool.name: tool.traits.names() for tool in calendar_tools(local_office)}
    assert traits == {
        "calendar_list": ("read_only", "idempotent"),
        "calendar_events": ("read_only", "idempotent", "source"),
        "calendar_create": ("idempotent", "open_world"),
        "calendar_update": ("destructive", "open_world", "source"),
        "calendar_delete": ("destructive", "idempotent", "open_world", "source"),
    }
