"""One example for each tool type: an input that runs on the sample office.

`callblocks tools NAME` shows it in every dialect, and the pages of the catalogue are made from it.
"""

from __future__ import annotations

from typing import Any

from callblocks.model.calls import Call

__all__ = ("EXAMPLES", "example_call")

# The input of an example by the name of its tool, in the order of the catalogue.
EXAMPLES: dict[str, dict[str, Any]] = {
    "api_call": {"url": "http://tides.example/api/low-water?date=2026-11-20"},
    "file_ingest": {"path": "office/drive/price-list.html"},
    "file_upload": {"filename": "notice.txt", "content": "No boat on 18 November.\n"},
    "search": {"query": "left pump", "scope": "all", "limit": 3},
    "web_search": {"query": "winter timetable", "maxTokens": 500},
    "custom": {"name": "file_list", "parameters": {"path": "office/drive"}},
    "gmail_list": {"maxResults": 5, "labelIds": ["INBOX", "UNREAD"]},
    "gmail_read": {"messageId": "76aafcc7ca1744b1"},
    "gmail_send": {
        "to": "petra.novak@northschool.example",
        "subject": "The boat on 20 November",
        "body": "Dear Petra,\n\n24 pupils are fine; the boat at 15:00 brings you back.\n\nMara\n",
    },
    "gmail_search": {"query": "from:petra has:attachment", "maxResults": 5},
    "drive_list": {"folderId": "boat", "maxResults": 10},
    "drive_read": {"fileId": "winter-2026"},
    "drive_create": {
        "name": "gale.txt",
        "content": "Saturday 21:00 to Sunday 06:00: lines doubled.\n",
        "mimeType": "text/plain",
    },
    "drive_update": {
        "fileId": "engine-log",
        "content": "2026-11-16  1489 h  oil 5.0 bar  left pump loud\n",
    },
    "drive_delete": {"fileId": "price-list"},
    "drive_search": {"query": "name contains 'winter'", "maxResults": 5},
    "calendar_list": {},
    "calendar_events": {
        "calendarId": "primary",
        "timeMin": "2026-11-16T00:00:00+01:00",
        "timeMax": "2026-11-23T00:00:00+01:00",
    },
    "calendar_create": {
        "summary": "Hang up the winter notice",
        "start": "2026-11-27T10:00:00+01:00",
        "end": "2026-11-27T10:30:00+01:00",
    },
    "calendar_update": {
        "eventId": "schooltrip",
        "summary": "North School, 24 pupils and two teachers",
    },
    "calendar_delete": {"eventId": "dentist"},
    "docs_read": {"documentId": "winter-notice"},
    "docs_create": {
        "title": "Minutes 16 November",
        "text": "# Minutes, 16 November\n\n- The school comes with 24 pupils.\n",
    },
    "docs_append": {
        "documentId": "minutes-november",
        "text": "\n- Mara rings the inn on 19 November.\n",
    },
    "docs_replace": {
        "documentId": "winter-notice",
        "findText": "berth 4",
        "replaceText": "berth 3",
    },
    "sheets_read": {"spreadsheetId": "bookings", "range": "November!A1:G6"},
    "sheets_write": {
        "spreadsheetId": "bookings",
        "range": "November!E4:F4",
        "values": [[24, 108]],
    },
    "sheets_append": {
        "spreadsheetId": "fuel-log",
        "range": "Log!A1:D1",
        "values": [["2026-11-16", 228, 1489, 405.8]],
    },
    "sheets_create": {"title": "Lost and found"},
    "sheets_clear": {"spreadsheetId": "bookings", "range": "November!A6:G6"},
    "tasks_list": {"taskListId": "ferryoffice"},
    "tasks_get": {"taskListId": "boat", "taskId": "leftpump"},
    "tasks_create": {
        "taskListId": "boat",
        "title": "Check the radio",
        "notes": "Before the winter timetable begins.",
    },
    "tasks_update": {
        "taskListId": "boat",
        "taskId": "orderfenders",
        "title": "Order four fenders",
    },
    "tasks_complete": {"taskListId": "boat", "taskId": "doublelines"},
    "tasks_delete": {"taskListId": "ferryoffice", "taskId": "sendglove"},
    "terminal_execute": {"command": "cat office/drive/Boat/engine-log.txt | wc -l", "timeout": 30},
}


def example_call(name: str) -> Call | None:
    """Return the example of a tool as a call, if it has one."""
    given = EXAMPLES.get(name)
    return None if given is None else Call(id=name.replace("_", "-"), name=name, input=given)
