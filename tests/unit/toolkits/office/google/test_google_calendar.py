"""What is asked of Google for the calendar tools."""

from __future__ import annotations

from typing import Any

import pytest

from callblocks.core.errors import ToolError
from callblocks.guard.files.root import Root
from callblocks.toolkits.office.backend import Office
from support.google.calendar import add_calendar
from support.google.calling import Calling
from support.google.server import Server

EVENT = {"summary": "A", "start": "2026-11-16T14:00:00Z", "end": "2026-11-16T15:00:00Z"}


@pytest.fixture
def google(google_office: Office, root: Root, google_server: Server) -> Calling:
    return Calling(google_office, root, google_server)


def test_a_list_is_asked_for_as_google_wants_it(google: Calling, google_server: Server) -> None:
    google("calendar_events", timeMin="2026-11-16", query="crew", timeZone="Europe/Berlin")
    (asked,) = google_server.asked
    assert asked.query == {
        "alt": "json",
        "maxResults": 50,
        "orderBy": "startTime",
        "q": "crew",
        "singleEvents": True,
        "timeMin": "2026-11-16T00:00:00+01:00",
        "timeZone": "Europe/Berlin",
    }


def test_the_zone_of_a_calendar_is_asked_for_only_where_it_matters(
    google: Calling, google_server: Server
) -> None:
    add_calendar(google_server.state, "tokyo", "Tokyo", "Asia/Tokyo")
    google("calendar_create", calendarId="tokyo", **EVENT)
    assert google_server.seen == ["calendar.events.insert"]
    google("calendar_events", calendarId="tokyo", timeMin="2026-11-16", timeMax="2026-11-17")
    assert google_server.seen[1:] == ["calendar.events.list"] * 2
    first, second = google_server.asked[1:]
    assert first.query["fields"] == "timeZone"
    assert second.query["timeMin"] == "2026-11-16T00:00:00+09:00"
    assert second.query["timeMax"] == "2026-11-18T00:00:00+09:00"


@pytest.mark.parametrize("notify", ["none", "all", "externalOnly"])
def test_google_is_told_whom_to_tell(google: Calling, google_server: Server, notify: Any) -> None:
    made = google("calendar_create", attendees="ada@example.org", sendUpdates=notify, **EVENT)
    google("calendar_update", eventId=made["id"], summary="B", sendUpdates=notify)
    google("calendar_delete", eventId=made["id"], sendUpdates=notify)
    told = [
        asked.query["sendUpdates"]
        for asked in google_server.asked
        if asked.query.get("sendUpdates")
    ]
    assert told == [notify] * 3
    assert google.context.notices == []


def test_an_event_whose_answer_was_lost_is_made_once(
    google: Calling, google_server: Server
) -> None:
    first = google("calendar_create", **EVENT)
    google_server.plan(503, "backendError")
    assert google("calendar_create", **EVENT) == first
    assert len(google("calendar_events")["items"]) == 1


def test_a_change_by_what_was_read_holds_only_if_nobody_changed_it(
    google: Calling, google_server: Server
) -> None:
    made = google("calendar_create", **EVENT)
    google("calendar_update", eventId=made["id"], attendees="ada@example.org")
    google("calendar_update", eventId=made["id"], location="Quay")
    patches = [one for one in google_server.asked if one.id == "calendar.events.patch"]
    assert ["if-match" in one.headers for one in patches] == [True, False]


def test_a_day_takes_the_place_of_a_time_whole(google: Calling, google_server: Server) -> None:
    made = google("calendar_create", **EVENT)
    google("calendar_update", eventId=made["id"], start="2026-11-16", end="2026-11-17")
    body = google_server.asked[-1].body
    assert body["start"] == {"date": "2026-11-16", "dateTime": None, "timeZone": None}


@pytest.mark.parametrize(
    ("status", "reason", "code"),
    [
        (403, "forbidden", "forbidden"),
        (403, "quotaExceeded", "quota_exceeded"),
        (404, "notFound", "not_found"),
        (412, "conditionNotMet", "conflict"),
    ],
)
def test_what_google_refuses_has_a_code(
    google: Calling, google_server: Server, status: int, reason: str, code: str
) -> None:
    google_server.plan(status, reason, times=9)
    assert google.failure("calendar_events") == code


def test_a_misspelt_field_is_refused(google: Calling) -> None:
    point = {"date": "2026-11-16"}
    event = {"sumary": "A", "start": point, "end": {"date": "2026-11-17"}}
    with pytest.raises(ToolError) as caught:
        google.office.calendars.create("primary", event, notify="none")
    assert caught.value.code == "invalid_input"
    assert "sumary" in caught.value.message


def test_a_person_sees_who_gets_an_email(google: Calling) -> None:
    made = google("calendar_create", attendees=["ada@example.org", "bo@example.org"], **EVENT)
    asked = {"eventId": made["id"], "sendUpdates": "all"}
    # Also those who are no longer to attend.
    text = google.preview("calendar_update", attendees="cy@example.org", **asked)
    told = "an email goes to all of: ada@example.org, bo@example.org, cy@example.org"
    assert text.splitlines()[-1] == told
    assert "an email goes to all of: ada@example.org" in google.preview("calendar_delete", **asked)
