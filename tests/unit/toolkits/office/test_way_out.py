"""A call that fails says what to do instead: the id that was meant, the calendar, the list."""

from __future__ import annotations

from pathlib import Path

import pytest

from callblocks.guard.files.root import Root
from callblocks.toolkits.office.backend import FOLDER, Office
from callblocks.toolkits.office.local.local_office import LocalOffice
from support.google.calling import Calling
from support.sample_offices import copy_office


@pytest.fixture
def ferry(tmp_path: Path) -> Calling:
    """The tools on the sample office."""
    return Calling(LocalOffice(copy_office(tmp_path)), Root(tmp_path))


@pytest.mark.parametrize("name", ["Boat", "boat", " BOAT"])
def test_a_name_in_place_of_an_id_is_answered_with_the_id(call: Calling, name: str) -> None:
    made = call("drive_create", name="Boat", mimeType="folder")
    assert made["mimeType"] == FOLDER
    hint = f"did you mean {made['id']} (the folder 'Boat')?"
    assert hint in call.error("drive_list", folderId=name).message
    assert hint in call.error("drive_read", fileId=name).message
    assert hint in call.error("drive_create", name="x", folderId=name).message
    assert hint in call.error("drive_delete", fileId=name).message
    assert hint in call.error("drive_delete", fileId=name, permanent=True).message
    assert hint in call.error("drive_update", fileId=name, name="y").message


def test_nothing_is_guessed_where_two_have_the_name(call: Calling) -> None:
    for _ in range(2):
        call("drive_create", name="Boat", mimeType="folder")
    error = call.error("drive_read", fileId="Boat")
    assert error.code == "not_found"
    assert "did you mean" not in error.message


def test_documents_and_sheets_are_found_by_their_names_too(ferry: Calling) -> None:
    hint = "did you mean winter-notice (the document 'Winter notice')?"
    document = {"documentId": "Winter notice"}
    assert hint in ferry.error("docs_read", **document).message
    assert hint in ferry.error("docs_append", text="x", **document).message
    assert hint in ferry.error("docs_replace", findText="a", replaceText="b", **document).message
    hint = "did you mean bookings (the spreadsheet 'Bookings')?"
    assert hint in ferry.error("sheets_read", spreadsheetId="Bookings").message
    given = {"spreadsheetId": "Bookings", "range": "A1"}
    assert hint in ferry.error("sheets_clear", **given).message
    hint = "did you mean winter-2026 (the file 'winter-2026.csv')?"
    assert hint in ferry.error("drive_read", fileId="winter-2026.CSV").message


def test_an_event_of_another_calendar_is_said_to_be_there(ferry: Calling) -> None:
    hint = "give calendarId 'crew'"
    assert hint in ferry.error("calendar_delete", eventId="springtide").message
    assert hint in ferry.error("calendar_update", eventId="springtide", summary="x").message
    hint = "give calendarId 'primary'"
    assert hint in ferry.error("calendar_delete", eventId="dentist", calendarId="crew").message


def test_an_event_may_be_meant_by_its_title(call: Calling) -> None:
    given = {"summary": "Dentist", "start": "2026-11-16 14:00", "end": "2026-11-16 15:00"}
    made = call("calendar_create", **given)["id"]
    hint = f"did you mean {made} (the event 'Dentist')?"
    assert hint in call.error("calendar_delete", eventId="dentist").message
    assert "did you mean" not in call.error("calendar_delete", eventId="nothing").message


def test_a_task_of_another_list_is_said_to_be_there(ferry: Calling) -> None:
    for name, more in (("tasks_get", {}), ("tasks_update", {"title": "x"}), ("tasks_delete", {})):
        error = ferry.error(name, taskListId="@default", taskId="leftpump", **more)
        assert (error.code, "give taskListId 'boat'" in error.message) == ("not_found", True)
    assert "give taskListId" not in ferry.error("tasks_get", taskListId="boat", taskId="x").message


def test_a_list_that_is_not_named_may_be_the_default_one(call: Calling) -> None:
    for name in ("tasks_get", "tasks_create", "tasks_update", "tasks_complete", "tasks_delete"):
        assert '"@default"' in str(call.error(name).details["taskListId"])


def test_a_task_that_was_deleted_is_brought_back_by_its_status(call: Calling) -> None:
    given = {"taskListId": "@default", "taskId": ""}
    given["taskId"] = call("tasks_create", taskListId="@default", title="Fenders")["id"]
    call("tasks_delete", **given)
    assert "tasks_update with a status" in call.error("tasks_get", **given).message
    assert call.failure("tasks_update", title="x", **given) == "not_found"
    assert "Fenders" in call.preview("tasks_update", status="needsAction", **given)
    call("tasks_update", status="needsAction", **given)
    assert [one["title"] for one in call("tasks_list")["items"]] == ["Fenders"]


def test_a_file_is_no_empty_folder(call: Calling) -> None:
    file = call("drive_create", name="a.txt", content="a")["id"]
    folder = call("drive_create", name="f", mimeType="folder")["id"]
    error = call.error("drive_list", folderId=file)
    assert error.code == "invalid_input"
    assert "drive_read" in str(error.details["folderId"])
    assert call("drive_list", folderId=folder)["files"] == []


def test_a_file_that_is_no_spreadsheet_is_read_another_way(ferry: Calling) -> None:
    for given in ({}, {"range": "A1:B2"}, {"range": "Sheet1!A1"}):
        error = ferry.error("sheets_read", spreadsheetId="winter-2026", **given)
        assert error.code == "invalid_input"
        assert "drive_read" in str(error.details["spreadsheetId"])


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("A1-B2", "write A1:B2"),
        ("Sheet1!A1 – B2", "write Sheet1!A1:B2"),
        ("'My sheet'!A1..B2", "write 'My sheet'!A1:B2"),
    ],
)
def test_a_range_is_written_with_a_colon(call: Calling, written: str, meant: str) -> None:
    book = call("sheets_create", title="Book")["spreadsheetId"]
    assert meant in call.error("sheets_read", spreadsheetId=book, range=written).message


def test_a_sheet_may_be_called_like_that_in_quotes(call: Calling) -> None:
    book = call("sheets_create", title="Book", sheets=["A1-B2"])["spreadsheetId"]
    assert call("sheets_read", spreadsheetId=book, range="'A1-B2'")["values"] == []


def test_a_rule_in_words_is_answered_with_one_that_is_taken(call: Calling) -> None:
    given = {"summary": "A", "start": "2026-11-16 14:00", "end": "2026-11-16 15:00"}
    error = call.error("calendar_create", recurrence="every day", **given)
    assert "RRULE:FREQ=DAILY;COUNT=5" in str(error.details["recurrence"])


def test_other_letters_are_only_named_where_they_help(call: Calling) -> None:
    document = call("docs_create", title="Plan", text="The Boat")["documentId"]

    def notice(find: str, **more: bool) -> str:
        call("docs_replace", documentId=document, findText=find, replaceText="x", **more)
        return call.context.notices[0].message

    assert "matchCase false it is there 1 times" in notice("the boat")
    assert "matchCase" not in notice("the ship")
    assert "matchCase" not in notice("the ship", matchCase=False)


def test_an_office_that_is_not_there_is_told(local_office: Office, root: Root) -> None:
    call = Calling(local_office, root)
    searches = (("gmail_search", {"query": "a"}), ("drive_search", {"query": "name = 'a'"}))
    lists = ("gmail_list", "drive_list", "calendar_list", "calendar_events", "tasks_list")
    for name, given in (*searches, *((name, {}) for name in lists)):
        call(name, **given)
        assert [one.code for one in call.context.notices] == ["no_office"], name
    call("tasks_create", taskListId="@default", title="x")
    call("gmail_list")
    assert call.context.notices == []
