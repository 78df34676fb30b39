"""Every tool does its work at Google with its own scopes, and uses each of them.

The played Google records the methods that a tool asks for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from callblocks.guard.files.root import Root
from callblocks.toolkits.office.backend import Office
from callblocks.toolkits.office.google.auth import scopes_for
from callblocks.toolkits.office.open_office import SERVICES
from support.google.calling import Calling
from support.google.discovery import all_methods
from support.google.server import Server

MAIL = (
    b"From: Bob <bob@example.org>\r\nTo: ada@example.org\r\nSubject: Tea\r\n"
    b"Message-ID: <tea@example.org>\r\nDate: Mon, 07 Jan 2030 10:00:00 +0000\r\n\r\nAt four?\r\n"
)
START, END = "2030-01-07T10:00:00Z", "2030-01-07T11:00:00Z"


def use_gmail(call: Calling) -> None:
    from support.google import gmail

    assert call.server is not None
    gmail.receive(call.server.state, MAIL)
    message = call("gmail_list")["messages"][0]["id"]
    call("gmail_search", query="tea")
    call("gmail_read", messageId=message)
    call("gmail_send", to="bob@example.org", subject="Re: Tea", body="Yes", replyTo=message)


def use_drive(call: Calling) -> None:
    file = call("drive_create", name="a.txt", content="a")["id"]
    call("drive_list")
    call("drive_search", query="name contains 'a'")
    call("drive_read", fileId=file)
    call("drive_update", fileId=file, content="b")
    call.preview("drive_delete", fileId=file)
    call("drive_delete", fileId=file)


def use_calendar(call: Calling) -> None:
    call("calendar_list")
    event = call("calendar_create", summary="Tea", start=START, end=END)["id"]
    call("calendar_events")
    call("calendar_update", eventId=event, summary="Coffee")
    call.preview("calendar_delete", eventId=event)
    call("calendar_delete", eventId=event)


def use_docs(call: Calling) -> None:
    document = call("docs_create", title="Notes", text="one")["documentId"]
    call("docs_read", documentId=document)
    call("docs_append", documentId=document, text="two")
    call("docs_replace", documentId=document, findText="two", replaceText="three")


def use_sheets(call: Calling) -> None:
    sheet = call("sheets_create", title="Sums")["spreadsheetId"]
    call("sheets_write", spreadsheetId=sheet, range="A1", values=[[1, 2]])
    call("sheets_append", spreadsheetId=sheet, range="A1", values=[[3, 4]])
    call("sheets_read", spreadsheetId=sheet, range="A1:B2")
    call("sheets_clear", spreadsheetId=sheet, range="A1:B2")


def use_tasks(call: Calling) -> None:
    task = call("tasks_create", taskListId="@default", title="Tea")["id"]
    call("tasks_list", taskListId="@default")
    given = {"taskListId": "@default", "taskId": task}
    call("tasks_get", **given)
    call("tasks_update", **given, title="Coffee")
    call("tasks_complete", **given)
    call("tasks_delete", **given)


USES: tuple[Callable[[Calling], None], ...] = (
    use_gmail,
    use_drive,
    use_calendar,
    use_docs,
    use_sheets,
    use_tasks,
)


class Recording(Calling):
    """Notes which methods each tool asked for."""

    def __init__(self, office: Office, root: Root, server: Server) -> None:
        super().__init__(office, root, server)
        self.methods: dict[str, set[str]] = {}

    def __call__(self, name: str, /, **input: Any) -> Any:
        assert self.server is not None
        self.server.asked.clear()
        output = super().__call__(name, **input)
        self.methods.setdefault(name, set()).update(self.server.seen)
        return output


@pytest.mark.parametrize("use", USES, ids=[use.__name__ for use in USES])
def test_each_tool_uses_its_own_scopes_and_all_of_them(
    google_office: Office, root: Root, google_server: Server, use: Callable[[Calling], None]
) -> None:
    call = Recording(google_office, root, google_server)
    use(call)
    assert tuple(sorted(call.methods)) == tuple(sorted(SERVICES[use.__name__[4:]]))
    for name, methods in call.methods.items():
        scopes = set(scopes_for([name]))
        taken = [scopes & all_methods()[method].scopes for method in methods]
        assert methods
        assert all(taken), name
        for scope in scopes:
            assert any(found == {scope} for found in taken), f"{name} does not need {scope}"
