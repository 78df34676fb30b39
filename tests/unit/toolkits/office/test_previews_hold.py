"""What a person is shown before a change is what the change does: no less, and nothing else.

Each case looks at the whole office, makes the preview, runs the call and looks again. All that
differs must be named in the preview; a preview changes nothing; and one that fails, fails as the
call does.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callblocks.core.errors import ToolError
from callblocks.guard.files.root import Root
from callblocks.toolkits.file_tools import file_tools
from callblocks.toolkits.office.backend import EXPORTS, FOLDER, SPREADSHEET
from callblocks.toolkits.office.local.local_office import LocalOffice
from callblocks.toolkits.office.tools.cells import cell_name, quote_sheet
from support.google.calling import Calling
from support.sample_offices import copy_office

Key = tuple[str, ...]
State = dict[Key, Any]

LONG = "long words " * 800
MONDAYS = {"summary": "Watch", "recurrence": "RRULE:FREQ=WEEKLY;COUNT=4", "timeZone": "UTC"}
NOTHING = ("no change", "already", "not in the trash", "no cell changes")
_FILE = ("name", "mimeType", "description", "parents", "trashed", "explicitlyTrashed")
_EVENT = (
    *("summary", "start", "end", "recurrence", "location", "description", "attendees"),
    *("reminders", "status"),
)
_TASK = ("title", "notes", "due", "status", "parent", "deleted")


class World:
    """The sample office in a workspace, with a few things more."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.office = LocalOffice(copy_office(workspace))
        self.root = Root(workspace)
        self.call = Calling(self.office, self.root)
        self.files = {tool.name: tool for tool in file_tools(self.root)}
        (workspace / "notes.txt").write_text("first\nsecond\n")
        (workspace / "photo.bin").write_bytes(b"\0\1")

    def preview(self, name: str, given: dict[str, Any]) -> str:
        if name not in self.files:
            return self.call.preview(name, **given)
        tool = self.files[name]
        assert tool.preview is not None
        return tool.preview(**tool.check(given).values)

    def run(self, name: str, given: dict[str, Any]) -> None:
        if name in self.files:
            tool = self.files[name]
            tool(**tool.check(given).values)
        else:
            self.call(name, **given)

    def state(self) -> State:
        """All that is there, by service, id and field."""
        parts = (self._drive(), self._events(), self._tasks(), self._mail(), self._workspace())
        return {key: value for part in parts for key, value in part}

    def stamps(self) -> dict[str, tuple[int, int]]:
        """Size and time of each file, but of those that only say again what others hold."""
        files = [path for path in self.workspace.rglob("*") if path.is_file()]
        kept = [path for path in files if ".index" not in path.parts]
        return {
            str(path): (path.stat().st_size, path.stat().st_mtime_ns)
            for path in kept
            if path.name != "drive.sqlite"
        }

    def _drive(self) -> Iterator[tuple[Key, Any]]:
        for file in self.office.drive.files(query="", order="", limit=500, page="").items:
            for field in _FILE:
                yield ("drive", file["id"], field), file.get(field, "")
            if file["mimeType"] == SPREADSHEET:
                yield from self._cells(file["id"])
            elif file["mimeType"] != FOLDER:
                wanted = EXPORTS.get(file["mimeType"], "")
                yield (
                    ("drive", file["id"], "content"),
                    self.office.drive.content(file["id"], wanted)[0],
                )

    def _cells(self, book: str) -> Iterator[tuple[Key, Any]]:
        sheets = self.office.sheets
        for sheet in sheets.spreadsheet(book)["sheets"]:
            title = sheet["properties"]["title"]
            for render in ("FORMULA", "FORMATTED_VALUE"):
                found = sheets.values(book, quote_sheet(title), render=render, major="ROWS")
                for number, row in enumerate(found.get("values", ()), 1):
                    for place, value in enumerate(row, 1):
                        if value != "":
                            yield ("cell", book, title, cell_name(number, place), render), value

    def _events(self) -> Iterator[tuple[Key, Any]]:
        calendars = self.office.calendars
        for calendar in calendars.calendars(limit=50, page="").items:
            for single in (False, True):
                page = calendars.events(
                    calendar["id"],
                    time_min="2026-01-01T00:00:00Z",
                    time_max="2028-01-01T00:00:00Z",
                    query="",
                    single=single,
                    zone="",
                    limit=500,
                    page="",
                )
                for event in page.items:
                    for field in _EVENT:
                        if event.get(field):
                            key = "occurrence" if single else "event"
                            yield (key, event["id"], field), event[field]

    def _tasks(self) -> Iterator[tuple[Key, Any]]:
        tasks = self.office.tasks
        for one in tasks.lists(limit=50, page="").items:
            page = tasks.tasks(
                one["id"], completed=True, due_min="", due_max="", limit=500, page=""
            )
            for task in page.items:
                for field in _TASK:
                    yield ("task", task["id"], field), task.get(field, "")

    def _mail(self) -> Iterator[tuple[Key, Any]]:
        mail = self.office.mail
        page = mail.messages(query="", labels=(), spam_trash=True, limit=500, page="")
        for one in page.items:
            yield ("mail", one["id"], "labels"), sorted(one["labelIds"])

    def _workspace(self) -> Iterator[tuple[Key, Any]]:
        for path in self.workspace.rglob("*"):
            below = path.relative_to(self.workspace)
            if path.is_file() and below.parts[0] != "office":
                yield ("file", str(below), "content"), path.read_bytes()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    with world.root:
        yield world


def _hold(world: World, tool: str, cases: list[dict[str, Any]]) -> None:
    before = world.state()
    for given in cases:
        stamps = world.stamps()
        try:
            shown = world.preview(tool, given)
        except ToolError as error:
            _fails_so(world, tool, given, error.code)
            assert world.state() == before
            continue
        assert world.stamps() == stamps, "a preview changes nothing"
        world.run(tool, given)
        after = world.state()
        changed = {
            key: (before.get(key), after.get(key))
            for key in before.keys() | after.keys()
            if before.get(key) != after.get(key)
        }
        if not changed:
            assert any(words in shown for words in NOTHING), (given, shown)
            assert not any(words in shown for words in ("becomes", "→", "moves")), (given, shown)
        for key, (old, new) in changed.items():
            _named(world, key, old, new, shown, after | before)
        before = after


def _fails_so(world: World, tool: str, given: dict[str, Any], code: str) -> None:
    with pytest.raises(ToolError) as raised:
        world.run(tool, given)
    assert raised.value.code == code, given


def _named(world: World, key: Key, old: Any, new: Any, shown: str, known: State) -> None:
    told = (key, old, new, shown)
    match key[0]:
        case "drive":
            _file_is_named(key, old, new, shown, known)
        case "cell":
            _cell_is_named(key, old, new, shown, known)
        case "event" if "_" not in key[1]:
            _event_is_named(key, old, new, shown)
        case "event" | "occurrence":
            series = key[1].partition("_")[0]
            alone = "this occurrence alone" in shown or "recurrence: " in shown
            assert "_" not in key[1] or "whole series" in shown or alone, told
            assert str(known.get(("event", series, "summary"), "")) in shown, told
        case "task":
            _task_is_named(key, old, new, shown, known)
        case "file":
            assert key[1] in shown, told
            _content_is_named(old, new, shown)
        case _:
            assert key[0] == "mail", told
            _mail_is_named(world, key[1], shown)


def _cell_is_named(key: Key, old: Any, new: Any, shown: str, known: State) -> None:
    _, book, sheet, cell, render = key
    assert f"{quote_sheet(sheet)}!" in shown, (key, shown)
    assert repr(known["drive", book, "name"]) in shown, (key, shown)
    lines = [line for line in shown.splitlines() if line.startswith(f"{cell}: ")]
    assert lines, (key, old, new, shown)
    if render == "FORMULA":
        assert all(repr(one)[:400] in lines[0] for one in (old, new) if one is not None), lines
    elif new is not None:
        plain = lines[0].replace("True", "TRUE").replace("False", "FALSE")
        assert str(new)[:400] in plain, (key, old, new, shown)


def _event_is_named(key: Key, old: Any, new: Any, shown: str) -> None:
    told = (key, old, new, shown)
    if old is None and (key[2] == "status" or new == {"useDefault": False}):
        assert shown.startswith("create ") or "+ status: " in shown, told
    elif old is not None or "- status: cancelled" not in shown:
        assert f" {key[2]}: " in shown or shown.startswith("delete "), told
        assert all(text in shown for text in _texts(key[2], old, new, shown)), told


def _task_is_named(key: Key, old: Any, new: Any, shown: str, known: State) -> None:
    told = (key, old, new, shown)
    assert repr(known["task", key[1], "title"]) in shown, told
    if old is None and key[2] in ("status", "parent"):
        assert shown.startswith("create ") or "deleted: " in shown, told
        assert not new or key[2] == "status" or "below the task" in shown, told
        return
    assert "deleted" in shown or f"{key[2]}: " in shown or not new, told
    if "deleted" not in shown and key[2] in ("title", "notes") and new:
        assert repr(new) in shown, told


def _texts(field: str, old: Any, new: Any, shown: str) -> Iterator[str]:
    if shown.startswith("delete "):
        if field == "summary":
            yield str(old)
        return
    for value in (old, new):
        if isinstance(value, str):
            yield value[:4000]
        elif field == "attendees" and value:
            yield from (one["email"] for one in value)
            yield from ("(optional)" for one in value if one.get("optional"))
        elif field == "recurrence" and value:
            yield from value


def _file_is_named(key: Key, old: Any, new: Any, shown: str, known: State) -> None:
    told = (key, old, new, shown)
    field = key[2]
    if "for ever" in shown or (field in ("trashed", "explicitlyTrashed")):
        above = known["drive", key[1], "parents"][0]
        names = [known["drive", one, "name"] for one in (key[1], above) if one in _ids(known)]
        assert any(repr(name) in shown for name in names) or "all below" in shown, told
        assert "trash" in shown or "for ever" in shown, told
    elif field == "parents":
        folder = known.get(("drive", new[0], "name"), "My Drive")
        assert f"moves to the folder {folder!r}" in shown or "to the topmost folder" in shown, told
    elif field == "content":
        _content_is_named(old, new, shown)
    else:
        assert f"{field}: {old!r} becomes {new!r}" in shown, told


def _ids(known: State) -> set[str]:
    return {key[1] for key in known if key[0] == "drive"}


def _content_is_named(old: bytes | None, new: bytes, shown: str) -> None:
    if b"\0" in (old or b"") + new:
        assert f"{len(new)}" in shown
        return
    lines = shown.splitlines()
    was, will = (old or b"").decode().split("\n"), new.decode().split("\n")
    assert all(f"-{line}" in lines for line in was if line and line not in will)
    assert all(f"+{line}" in lines for line in will if line and line not in was)


def _mail_is_named(world: World, message: str, shown: str) -> None:
    mail = world.call("gmail_read", messageId=message)
    bcc = world.call("gmail_read", messageId=message, full=True)["payload"]["headers"]
    people = [mail["headers"].get(one, "") for one in ("To", "Cc")]
    people += [one["value"] for one in bcc if one["name"] == "Bcc"]
    for address in re.findall(r"[\w.+-]+@[\w.-]+", " ".join(people)):
        assert address in shown, (address, shown)
    assert f"Subject: {mail['headers'].get('Subject', '')}" in shown
    for line in mail["text"].splitlines():
        assert line in shown, (line, shown)
    for one in mail.get("attachments", ()):
        assert f"Attachment: {one['filename']} ({one['size']} bytes)" in shown


# Files of the drive.


def test_changes_of_files_are_as_shown(world: World) -> None:
    call = world.call
    new = call("drive_create", name="Old place", mimeType="folder")["id"]
    inner = call("drive_create", name="inner.txt", content="in", folderId=new)["id"]
    call("drive_delete", fileId=inner)
    lost = call("drive_create", name="Lost", mimeType="folder")["id"]
    orphan = call("drive_create", name="orphan.txt", content="x", folderId=lost)["id"]
    call("drive_delete", fileId=orphan)
    call("drive_delete", fileId=lost, permanent=True)
    held = call("drive_create", name="Held", mimeType="folder")["id"]
    below = call("drive_create", name="below.txt", content="x", folderId=held)["id"]
    log = "engine-log"
    _hold(
        world,
        "drive_update",
        [
            {"fileId": log, "content": "all new\nlines ünd 🛠\n"},
            {"fileId": log, "content": ""},
            {"fileId": log, "content": "", "name": ""},
            {"fileId": log, "content": "back", "name": "Log 🛠.txt", "description": "a\nb"},
            {"fileId": log, "description": LONG, "mimeType": "text/csv", "folderId": new},
            {"fileId": log, "description": ""},
            {"fileId": log, "folderId": new},
            {"fileId": log, "folderId": "root"},
            {"fileId": log, "folderId": "root"},
            {"fileId": log, "name": "n" * 300},
            {"fileId": log, "trashed": False},
            {"fileId": log, "trashed": True},
            {"fileId": log, "trashed": True},
            {"fileId": log, "name": "in the trash", "content": "still"},
            {"fileId": log, "folderId": new},
            {"fileId": log, "trashed": True, "folderId": new},
            {"fileId": inner, "trashed": False},
            {"fileId": orphan, "trashed": False, "description": "found"},
            {"fileId": "winter-notice", "content": "# Other\n"},
            {"fileId": "berth-plan", "content": base64.b64encode(b"\0\1").decode()}
            | {"encoding": "base64"},
            {"fileId": held, "trashed": True},
            {"fileId": below, "name": "renamed.txt"},
            {"fileId": below, "trashed": True},
            {"fileId": below, "trashed": False},
            {"fileId": held, "trashed": False, "folderId": new, "name": "Held on"},
            {"fileId": "bookings", "content": "x"},
            {"fileId": "bookings", "name": "Books"},
            {"fileId": "nowhere", "name": "x"},
            {"fileId": log},
        ],
    )


def test_deletions_of_files_are_as_shown(world: World) -> None:
    call = world.call
    folder = call("drive_create", name="Full", mimeType="folder")["id"]
    deep = call("drive_create", name="Deep", mimeType="folder", folderId=folder)["id"]
    call("drive_create", name="deep.txt", content="x", folderId=deep)
    thrown = call("drive_create", name="thrown before.txt", content="x", folderId=folder)["id"]
    call("drive_delete", fileId=thrown)
    shown = call.preview("drive_delete", fileId=folder)
    assert "with 1 files and folders" in shown
    assert "thrown" not in shown
    cases: list[dict[str, Any]] = [
        {"fileId": "price-list"},
        {"fileId": "price-list"},
        {"fileId": folder},
        {"fileId": deep},
        {"fileId": folder, "permanent": True},
        {"fileId": thrown, "permanent": True},
        {"fileId": "bookings"},
        {"fileId": "winter-notice", "permanent": True},
        {"fileId": "root"},
        {"fileId": "nowhere", "permanent": True},
    ]
    _hold(world, "drive_delete", cases)


def test_replacements_are_as_shown(world: World) -> None:
    text = "One one ONE\r\nTwo ünd 🛠\n\n\nlast"
    own = world.call("docs_create", title="Own 🛠", text=text)["documentId"]
    bare = world.call("drive_create", name="bare.txt", content="one\n\n", mimeType="text/plain")
    gone = world.call("docs_create", title="Gone", text="one")["documentId"]
    world.call("drive_delete", fileId=gone)
    _hold(
        world,
        "docs_replace",
        [
            {"documentId": own, "findText": "one", "replaceText": "eins"},
            {"documentId": own, "findText": "one", "replaceText": "", "matchCase": False},
            {"documentId": own, "findText": "\n\n", "replaceText": "\n"},
            {"documentId": own, "findText": "🛠", "replaceText": "\\1 \\g<0>"},
            {"documentId": own, "findText": "nowhere", "replaceText": "x"},
            {"documentId": bare["id"], "findText": "\n", "replaceText": "|"},
            {"documentId": gone, "findText": "one", "replaceText": "1"},
            {"documentId": own, "findText": "last", "replaceText": "\ud800"},
            {"documentId": "bookings", "findText": "a", "replaceText": "b"},
        ],
    )


# Spreadsheets.


def test_cells_are_written_as_shown(world: World) -> None:
    made = world.call(
        "sheets_create",
        title="Own book",
        sheets=["First", "Its 2nd"],
        values=[["a", 1, True], ["50%", "=A1", "2026-11-16"]],
    )
    book = {"spreadsheetId": made["spreadsheetId"]}
    _hold(
        world,
        "sheets_write",
        [
            {**book, "range": "A1", "values": [["b", None, False], ["", "=A2"]]},
            {**book, "range": "A1", "values": [["b", None, False]]},
            {**book, "range": "A2", "values": [["50%"]]},
            {**book, "range": "A2", "values": [["0.5"]]},
            {**book, "range": "A2", "values": [["$1,234.50"]]},
            {**book, "range": "B2", "values": [["=A3"]], "valueInputOption": "RAW"},
            {**book, "range": "B1", "values": [["1"]], "valueInputOption": "RAW"},
            {**book, "range": "'Its 2nd'!C3:D9", "values": [["x", "ünd 🛠"], ["'007"]]},
            {**book, "range": "First!A900", "values": [[n] for n in range(300)]},
            {**book, "range": "A1", "values": [["x" * 3000]]},
            {**book, "range": "A1:A1", "values": [[1, 2]]},
            {**book, "range": "A1:B1", "values": [[1], [2]]},
            {**book, "range": "None!A1", "values": [[1]]},
            {"spreadsheetId": "bookings", "range": "November!E4", "values": [["paid", 3]]},
        ],
    )
    _hold(
        world,
        "sheets_clear",
        [
            {**book, "range": "B1:C2"},
            {**book, "range": "B1:C2"},
            {**book, "range": "'Its 2nd'!A1:ZZ900"},
            {**book, "range": "First!A:A"},
            {**book, "range": "First"},
            {"spreadsheetId": "bookings", "range": "2:3"},
            {**book, "range": "None!A1"},
        ],
    )


# Events.


def test_changes_of_events_are_as_shown(world: World) -> None:
    call = world.call
    at = {"start": "2026-11-16T09:00", "end": "2026-11-16T10:00"}
    series = call("calendar_create", **MONDAYS, **at)["id"]
    second = f"{series}_20261123T090000Z"
    third = f"{series}_20261130T090000Z"
    one = call("calendar_create", summary="One", attendees="ada@example.org", **at)["id"]
    days = call("calendar_create", summary="Fair", start="2026-12-01", end="2026-12-03")["id"]
    gone = call("calendar_create", summary="Gone", **at)["id"]
    call("calendar_delete", eventId=gone)
    people = ["Ada <ada@example.org>", {"email": "bob@example.org", "optional": True}]
    _hold(
        world,
        "calendar_update",
        [
            {"eventId": one, "summary": "", "location": "Quay ünd 🛠", "description": LONG[:4000]},
            {"eventId": one, "summary": "One", "description": "", "location": ""},
            {"eventId": one, "attendees": people, "sendUpdates": "all"},
            {"eventId": one, "attendees": ["ada@example.org", "bob@example.org"]},
            {"eventId": one, "attendees": []},
            {"eventId": one, "reminders": [10, 30]},
            {"eventId": one, "reminders": []},
            {"eventId": one, "start": "2026-11-16T09:00:30", "end": "2026-11-16T10:00"},
            {"eventId": one, "start": "2026-11-17T09:00+05:00"},
            {"eventId": one, "start": "2026-11-18", "end": "2026-11-19"},
            {"eventId": one, "status": "tentative"},
            {"eventId": days, "start": "2026-12-02"},
            {"eventId": days, "recurrence": ["RRULE:FREQ=MONTHLY;COUNT=3"]},
            {"eventId": days, "recurrence": []},
            {"eventId": gone, "status": "confirmed", "summary": "Back"},
            {"eventId": second, "start": "2026-11-24T11:00", "summary": "Watch, moved"},
            {"eventId": series, "location": "Bridge"},
            {"eventId": series, "start": "2026-11-16T08:00"},
            {"eventId": third, "summary": "x"},
            {"eventId": f"{series}_20261130T080000Z", "description": "alone"},
            {"eventId": series, "recurrence": "RRULE:FREQ=WEEKLY;COUNT=2"},
            {"eventId": second, "recurrence": "RRULE:FREQ=DAILY"},
            {"eventId": "nowhere", "summary": "x"},
            {"eventId": one},
        ],
    )


def test_new_and_deleted_events_are_as_shown(world: World) -> None:
    at = {"start": "2026-11-16T09:00", "end": "2026-11-16T10:00"}
    people = "Ada <ada@example.org>, bob@example.org"
    _hold(
        world,
        "calendar_create",
        [
            {"summary": "", **at},
            {"summary": "All ünd 🛠", "start": "2026-11-16", "end": "2026-11-18"},
            {**MONDAYS, **at, "attendees": people, "location": "Quay", "reminders": [5]},
            {"summary": "Crew only", **at, "calendarId": "crew", "description": "a\nb"},
            {"summary": "Never", "start": "2026-11-16", "end": "2026-11-16"},
            {"summary": "Nowhere", **at, "calendarId": "nowhere"},
        ],
    )
    items = world.call("calendar_events", singleEvents=False, maxResults=100)["items"]
    ids = {one.get("summary", ""): one["id"] for one in items}
    _hold(
        world,
        "calendar_delete",
        [
            {"eventId": f"{ids['Watch']}_20261123T090000Z", "sendUpdates": "all"},
            {"eventId": f"{ids['Watch']}_20261123T090000Z"},
            {"eventId": ids["Watch"]},
            {"eventId": ids["All ünd 🛠"]},
            {"eventId": ids["Watch"]},
            {"eventId": "nowhere"},
        ],
    )


# Tasks, mail, and files of the workspace.


def test_changes_of_tasks_are_as_shown(world: World) -> None:
    call = world.call
    top = call("tasks_create", taskListId="@default", title="Top")["id"]
    below = call("tasks_create", taskListId="@default", title="Below ünd 🛠", parent=top)["id"]
    call("tasks_create", taskListId="@default", title="Deepest", parent=below)
    list_id = {"taskListId": "@default"}
    _hold(
        world,
        "tasks_update",
        [
            {
                **list_id,
                "taskId": top,
                "title": "Tip\n🛠",
                "notes": LONG[:8000],
                "due": "2030-01-31",
            },
            {**list_id, "taskId": top, "notes": "", "due": ""},
            {**list_id, "taskId": top, "notes": ""},
            {**list_id, "taskId": top, "status": "completed"},
            {**list_id, "taskId": top, "status": "needsAction", "title": "Top"},
            {**list_id, "taskId": top},
            {**list_id, "taskId": "nowhere", "title": "x"},
        ],
    )
    _hold(world, "tasks_complete", [{**list_id, "taskId": below}, {**list_id, "taskId": below}])
    _hold(
        world,
        "tasks_create",
        [
            {**list_id, "title": "New", "notes": LONG[:8000], "due": "2030-01-31"},
            {**list_id, "title": "Lower", "parent": top},
            {**list_id, "title": "Lost", "parent": "nowhere"},
        ],
    )
    _hold(world, "tasks_delete", [{**list_id, "taskId": top}, {**list_id, "taskId": top}])
    _hold(world, "tasks_update", [{**list_id, "taskId": top, "status": "needsAction"}])
    assert "'Top'" in world.preview("tasks_delete", {**list_id, "taskId": top})


def test_a_task_that_comes_back_is_named_as_such(world: World) -> None:
    made = world.call("tasks_create", taskListId="@default", title="Top")["id"]
    world.call("tasks_delete", taskListId="@default", taskId=made)
    given = {"taskListId": "@default", "taskId": made, "status": "needsAction"}
    assert "deleted: True becomes" in world.preview("tasks_update", given)


def test_a_mail_is_sent_as_shown(world: World) -> None:
    listed = world.call("gmail_list", maxResults=1)["messages"][0]
    to = {"to": "ada@example.org", "subject": "Plan", "body": "Hello\n\nthere ünd 🛠"}
    _hold(
        world,
        "gmail_send",
        [
            to,
            {**to, "cc": ["Bob <bob@example.org>"], "bcc": "c@example.org; d@example.org"},
            {**to, "html": "<p>Hello <b>there</b></p>", "attachments": ["notes.txt", "photo.bin"]},
            {**to, "subject": "Ünd 🛠", "attachments": ["drive:berth-plan", "drive:winter-notice"]},
            {"to": "", "subject": "", "body": "Yes", "replyTo": listed["id"]},
            {
                "to": "",
                "subject": "Other",
                "body": "",
                "threadId": listed["threadId"],
                "cc": "e@x.org",
            },
            {**to, "to": ""},
            {**to, "attachments": ["drive:boat"]},
            {**to, "attachments": ["nowhere.txt"]},
            {**to, "replyTo": "nowhere"},
        ],
    )


def test_files_are_written_as_shown(world: World) -> None:
    _hold(
        world,
        "file_write",
        [
            {"path": "notes.txt", "content": "first\nünd 🛠\n"},
            {"path": "notes.txt", "content": "first\nünd 🛠\n"},
            {"path": "notes.txt", "content": ""},
            {"path": "./new/deep/a.md", "content": "no end"},
            {"path": "photo.bin", "content": "text"},
            {"path": "new", "content": "x"},
            {"path": "../out.txt", "content": "x"},
        ],
    )
    _hold(
        world,
        "file_upload",
        [
            {"filename": "b.txt", "content": "hello\n"},
            {"filename": "b.bin", "content": "AAEC", "path": "new", "encoding": "base64"},
            {"filename": "b.bin", "content": "AA==", "path": "new", "encoding": "base64"},
            {"filename": "a/b", "content": "x"},
            {"filename": "b.txt", "content": "no base", "encoding": "base64"},
        ],
    )
