"""The OAuth scopes of each tool: the least that it needs.

scopes_for(["gmail_list", "gmail_send"])
-> (".../auth/gmail.readonly", ".../auth/gmail.send")
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from callblocks.model.errors import CallerError

__all__ = ("SCOPES", "holds", "scopes_for")

_AUTH = "https://www.googleapis.com/auth/"

_READ_MAIL = (f"{_AUTH}gmail.readonly",)
_READ_FILES = (f"{_AUTH}drive.readonly",)
# All files of the person, not only those that were created here (`drive.file`): the tools work on
# documents that the person already has.
_WRITE_FILES = (f"{_AUTH}drive",)
_READ_CALENDARS = (f"{_AUTH}calendar.calendarlist.readonly",)
_READ_EVENTS = (f"{_AUTH}calendar.events.readonly",)
_WRITE_EVENTS = (f"{_AUTH}calendar.events",)
_READ_DOCUMENTS = (f"{_AUTH}documents.readonly",)
_WRITE_DOCUMENTS = (f"{_AUTH}documents",)
_READ_SHEETS = (f"{_AUTH}spreadsheets.readonly",)
_WRITE_SHEETS = (f"{_AUTH}spreadsheets",)
_READ_TASKS = (f"{_AUTH}tasks.readonly",)
_WRITE_TASKS = (f"{_AUTH}tasks",)

# The scopes of each tool that uses Google.
SCOPES: dict[str, tuple[str, ...]] = {
    "gmail_list": _READ_MAIL,
    "gmail_read": _READ_MAIL,
    "gmail_search": _READ_MAIL,
    # A reply needs the headers of the answered message, and the person's own address.
    "gmail_send": (f"{_AUTH}gmail.send", *_READ_MAIL),
    "drive_list": _READ_FILES,
    "drive_read": _READ_FILES,
    "drive_search": _READ_FILES,
    "drive_create": _WRITE_FILES,
    "drive_update": _WRITE_FILES,
    "drive_delete": _WRITE_FILES,
    "calendar_list": _READ_CALENDARS,
    "calendar_events": _READ_EVENTS,
    "calendar_create": _WRITE_EVENTS,
    "calendar_update": _WRITE_EVENTS,
    "calendar_delete": _WRITE_EVENTS,
    "docs_read": _READ_DOCUMENTS,
    "docs_create": _WRITE_DOCUMENTS,
    "docs_append": _WRITE_DOCUMENTS,
    "docs_replace": _WRITE_DOCUMENTS,
    "sheets_read": _READ_SHEETS,
    "sheets_write": _WRITE_SHEETS,
    "sheets_append": _WRITE_SHEETS,
    "sheets_create": _WRITE_SHEETS,
    "sheets_clear": _WRITE_SHEETS,
    "tasks_list": _READ_TASKS,
    "tasks_get": _READ_TASKS,
    "tasks_create": _WRITE_TASKS,
    "tasks_update": _WRITE_TASKS,
    "tasks_complete": _WRITE_TASKS,
    "tasks_delete": _WRITE_TASKS,
}

# A write scope includes the read scope, which need not be requested then.
_COVERS = {
    _WRITE_FILES[0]: _READ_FILES[0],
    _WRITE_EVENTS[0]: _READ_EVENTS[0],
    _WRITE_DOCUMENTS[0]: _READ_DOCUMENTS[0],
    _WRITE_SHEETS[0]: _READ_SHEETS[0],
    _WRITE_TASKS[0]: _READ_TASKS[0],
}


def scopes_for(names: Iterable[str]) -> tuple[str, ...]:
    """Return the scopes of these tools, sorted, without those that another one covers."""
    wanted: set[str] = set()
    for name in names:
        if name not in SCOPES:
            raise CallerError(f"{name} asks nothing of Google; tools that do: {', '.join(SCOPES)}")
        wanted.update(SCOPES[name])
    covered = {_COVERS[scope] for scope in wanted if scope in _COVERS}
    return tuple(sorted(wanted - covered))


def holds(granted: Collection[str], name: str) -> bool:
    """Tell if the granted scopes suffice for a tool."""
    enough = {*granted, *(_COVERS[scope] for scope in granted if scope in _COVERS)}
    return enough.issuperset(scopes_for([name]))
