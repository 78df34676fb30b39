"""What is asked of Google Sheets and Tasks, beyond what both offices have in common."""

from __future__ import annotations

from typing import Any

import pytest

from callblocks.toolkits.office.backend import Office
from support.google.calling import Calling
from support.google.server import Server


@pytest.fixture
def office(google_office: Office) -> Office:
    return google_office


@pytest.fixture
def there(call: Calling) -> Calling:
    return call


@pytest.fixture
def book(there: Calling) -> str:
    return there("sheets_create", title="Plan", values=[["a", 1]])["spreadsheetId"]


def _queries(server: Server, method: str) -> list[dict[str, Any]]:
    return [asked.query for asked in server.asked if asked.id == method]


def test_formulas_are_computed_there_and_nothing_is_told(there: Calling, book: str) -> None:
    there("sheets_write", spreadsheetId=book, range="C1", values=[["=1+2"]])
    assert there("sheets_read", spreadsheetId=book, range="C1")["values"] == [[3]]
    assert not there.context.notices


def test_dates_are_asked_for_as_text(there: Calling, book: str, google_server: Server) -> None:
    there("sheets_read", spreadsheetId=book, range="A1")
    (query,) = _queries(google_server, "sheets.spreadsheets.values.get")
    assert query["valueRenderOption"] == "UNFORMATTED_VALUE"
    assert query["dateTimeRenderOption"] == "FORMATTED_STRING"


def test_the_grid_is_enlarged_only_where_it_must_be(
    there: Calling, book: str, google_server: Server
) -> None:
    there("sheets_write", spreadsheetId=book, range="A1000", values=[[1]])
    assert "sheets.spreadsheets.batchUpdate" not in google_server.seen
    there("sheets_write", spreadsheetId=book, range="Z1000", values=[[1, 2], [3]])
    read = there("sheets_read", spreadsheetId=book, range="A1", full=True)
    grid = read["sheets"][0]["properties"]["gridProperties"]
    assert grid == {"rowCount": 1001, "columnCount": 27}


def test_a_write_that_fails_in_passing_is_repeated_and_an_append_is_not(
    there: Calling, book: str, google_server: Server
) -> None:
    google_server.plan(500, "backendError")
    there("sheets_write", spreadsheetId=book, range="A1", values=[["again"]])
    google_server.plan(500, "backendError")
    given = {"spreadsheetId": book, "range": "A1", "values": [["once"]]}
    assert there.failure("sheets_append", **given) == "service_unavailable"


def test_tasks_done_in_googles_own_programs_are_listed_as_done(
    there: Calling, google_server: Server
) -> None:
    made = there("tasks_create", taskListId="@default", title="x")["id"]
    there("tasks_complete", taskListId="@default", taskId=made)
    _, task = google_server.state.tasks[made]
    task["hidden"] = True
    assert there("tasks_list")["items"] == []
    assert [one["id"] for one in there("tasks_list", showCompleted=True)["items"]] == [made]


def test_a_change_of_a_task_is_repeated_and_making_one_is_not(
    there: Calling, google_server: Server
) -> None:
    made = there("tasks_create", taskListId="@default", title="x")["id"]
    google_server.plan(500, "backendError")
    there("tasks_complete", taskListId="@default", taskId=made)
    google_server.plan(500, "backendError")
    failed = there.failure("tasks_create", taskListId="@default", title="y")
    assert failed == "service_unavailable"
