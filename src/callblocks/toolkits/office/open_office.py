"""The choice of the office that the tools work on.

    local     the folder `office/` of the workspace; it is made by the first write
    google    Google Workspace, with the account that `callblocks workspace connect` let in

Neither is opened before a tool needs it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from callblocks.core.calls import Call
from callblocks.core.errors import CallerError
from callblocks.core.extras import require
from callblocks.core.specs import CATALOGUE
from callblocks.core.text import brief
from callblocks.guard.files.root import Root
from callblocks.toolkits.office.backend import (
    Calendars,
    Documents,
    Drive,
    Mail,
    Office,
    Sheets,
    Tasks,
)
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool

__all__ = (
    "EXAMPLES",
    "FOLDER",
    "GOOGLE_METHODS",
    "OFFICES",
    "OFFICE_TOOLS",
    "SERVICES",
    "LateOffice",
    "add_workspace_tools",
    "example_call",
    "google_office",
    "has_office",
    "local_office",
    "open_office",
    "require_google",
    "service_tools",
)

OFFICES = ("local", "google")
# The folder of the local office in its workspace.
FOLDER = "office"


class LateOffice:
    """An office that is opened at its first use, once for all threads.

    `is_shared` says that others may see what is created in it.
    """

    def __init__(self, opened: Callable[[], Office], *, is_shared: bool = False) -> None:
        self.is_shared = is_shared
        self._open = opened
        self._opened: Office | None = None
        self._lock = threading.Lock()

    @property
    def _office(self) -> Office:
        # Tools run in worker threads. Without the lock two of them could open two offices, with two
        # caches and two sets of connections.
        with self._lock:
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    @property
    def is_absent(self) -> bool:
        """True if there is no office yet: a local one is created by the first write."""
        return getattr(self._office, "is_absent", False)

    @property
    def mail(self) -> Mail:
        return self._office.mail

    @property
    def drive(self) -> Drive:
        return self._office.drive

    @property
    def calendars(self) -> Calendars:
        return self._office.calendars

    @property
    def documents(self) -> Documents:
        return self._office.documents

    @property
    def sheets(self) -> Sheets:
        return self._office.sheets

    @property
    def tasks(self) -> Tasks:
        return self._office.tasks


def open_office(root: Root, choice: str, token: Path | None = None) -> Office:
    """Return the office of that name; `token` is the file of the Google sign-in."""
    if choice == "local":
        return local_office(root)
    if choice == "google":
        return google_office(token)
    raise CallerError(f"an office is one of {', '.join(OFFICES)}, not {brief(choice)}")


def local_office(root: Root) -> Office:
    """Return the office in a workspace."""

    def opened() -> Office:
        from callblocks.toolkits.office.local.local_office import LocalOffice

        return LocalOffice(Path(root.folder) / FOLDER, root.origins)

    return LateOffice(opened)


def has_office(root: Root) -> bool:
    """Tell if a workspace has an office, and not only the index of a search."""
    from callblocks.toolkits.office.local.local_office import is_office

    return is_office(root.folder / FOLDER)


def google_office(token: Path | None = None) -> Office:
    """Google Workspace; raises `MissingExtra` where its packages are not installed."""
    require_google()

    def opened() -> Office:
        from callblocks.toolkits.office.google.auth import load
        from callblocks.toolkits.office.google.google_office import GoogleOffice

        return GoogleOffice(load(token))

    return LateOffice(opened, is_shared=True)


def require_google() -> None:
    """Raise `MissingExtra` where the packages for Google are not installed."""
    require("google", "the office of Google")


# --- The names of the office tools, which a registry knows before any of them is created ---
#
#     gmail_*      list, read, send, search              calendar_*   list, events, create, …
#     drive_*      list, read, create, update, …         docs_*       read, create, append, replace
#     sheets_*     read, write, append, create, clear    tasks_*      list, get, create, complete, …
#
# A service's module is imported when one of its tools is requested. In a shared office every
# changing tool counts as reaching others.

# The tools of each service; its module has the service's name and makes them.
SERVICES: dict[str, tuple[str, ...]] = {
    service: tuple(name for name in CATALOGUE if name.startswith(f"{service}_"))
    for service in ("gmail", "drive", "calendar", "docs", "sheets", "tasks")
}

_WITH_FILES = ("gmail",)
# Nobody else sees an account's tasks, but others can assign some from documents and chats.
_PRIVATE = ("tasks",)

# Every tool that works on an office.
OFFICE_TOOLS = tuple(name for names in SERVICES.values() for name in names)


# The Google method that corresponds to a tool, which may call others as well.
GOOGLE_METHODS = {
    "gmail_list": "gmail.users.messages.list",
    "gmail_read": "gmail.users.messages.get",
    "gmail_send": "gmail.users.messages.send",
    "gmail_search": "gmail.users.messages.list",
    "drive_list": "drive.files.list",
    "drive_read": "drive.files.get",
    "drive_create": "drive.files.create",
    "drive_update": "drive.files.update",
    "drive_delete": "drive.files.update",
    "drive_search": "drive.files.list",
    "calendar_list": "calendar.calendarList.list",
    "calendar_events": "calendar.events.list",
    "calendar_create": "calendar.events.insert",
    "calendar_update": "calendar.events.patch",
    "calendar_delete": "calendar.events.delete",
    "docs_read": "docs.documents.get",
    "docs_create": "docs.documents.create",
    "docs_append": "docs.documents.batchUpdate",
    "docs_replace": "docs.documents.batchUpdate",
    "sheets_read": "sheets.spreadsheets.values.get",
    "sheets_write": "sheets.spreadsheets.values.update",
    "sheets_append": "sheets.spreadsheets.values.append",
    "sheets_create": "sheets.spreadsheets.create",
    "sheets_clear": "sheets.spreadsheets.values.clear",
    "tasks_list": "tasks.tasks.list",
    "tasks_get": "tasks.tasks.get",
    "tasks_create": "tasks.tasks.insert",
    "tasks_update": "tasks.tasks.patch",
    "tasks_complete": "tasks.tasks.patch",
    "tasks_delete": "tasks.tasks.delete",
}


def add_workspace_tools(registry: Registry, office: Office, root: Root) -> None:
    """Let a registry know the tools of an office; a service's are made together, when needed."""
    for service, names in SERVICES.items():
        registry.add_later(names, partial(service_tools, service, office, root))


_MODULES = {
    "gmail": "mail_tools",
    "drive": "drive_tools",
    "calendar": "calendar_tools",
    "docs": "docs_tools",
    "sheets": "sheet_tools",
    "tasks": "task_tools",
}


def service_tools(service: str, office: Office, root: Root) -> Iterable[Tool]:
    """Make the tools of one service of an office; what is attached to a mail comes from `root`."""
    module = import_module(f"callblocks.toolkits.office.tools.{_MODULES[service]}")
    make: Callable[..., Iterable[Tool]] = getattr(module, f"{service}_tools")
    made = make(office, root) if service in _WITH_FILES else make(office)
    # The same tool has other traits in a shared office, where others see or wrote its content; so
    # the traits are set here and not where the tool is declared.
    if not getattr(office, "is_shared", False):
        return made
    return map(_of_others if service in _PRIVATE else _outward, made)


def _outward(tool: Tool) -> Tool:
    """Return the tool marked as reaching others: additions to a shared file are sent to them."""
    if tool.traits.read_only:
        return tool
    return replace(tool, traits=replace(tool.traits, open_world=True))


def _of_others(tool: Tool) -> Tool:
    """Return the tool marked as a source of foreign text."""
    return replace(tool, traits=replace(tool.traits, kind="source"))


# --- One example for each tool type: an input that runs on the sample office ---
#
# `callblocks tools NAME` shows it in every dialect, and the pages of the catalogue are made from
# it.

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
