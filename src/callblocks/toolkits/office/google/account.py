"""The address of an account, requested from the first service that may tell it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from google.auth.credentials import Credentials

from callblocks.core.errors import CallerError
from callblocks.toolkits.office.backend import Json
from callblocks.toolkits.office.google.google_service import Service

__all__ = (
    "SCOPES",
    "address_of",
    "holds",
    "scopes_for",
)

# --- The OAuth scopes of each tool: the least that it needs ---
#
#     scopes_for(["gmail_list", "gmail_send"])
#     -> (".../auth/gmail.readonly", ".../auth/gmail.send")

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


# --- The address of an account, requested from the first service that may tell it ---


def address_of(credentials: Credentials, scopes: Collection[str], base: str = "") -> str:
    """Return the address; "" if no granted scope can tell it."""
    # No scope is requested for the address alone: the scopes that the tools need anyway suffice.
    for (name, version), tool, ask in _WAYS:
        if not holds(scopes, tool):
            continue
        service = Service(name, version, credentials, base=base)
        try:
            return ask(service)
        finally:
            service.close()
    return ""


def _by_mail(service: Service) -> str:
    profile = service.call(lambda api: api.users().getProfile(userId="me"))
    return str(profile.get("emailAddress", ""))


def _by_drive(service: Service) -> str:
    about = service.call(lambda api: api.about().get(fields="user(emailAddress)"))
    user: Json = about.get("user", {})
    return str(user.get("emailAddress", ""))


def _by_calendar(service: Service) -> str:
    # The id of a person's primary calendar is the person's address.
    calendar = service.call(lambda api: api.calendarList().get(calendarId="primary"))
    return str(calendar.get("id", ""))


_WAYS = (
    (("gmail", "v1"), "gmail_list", _by_mail),
    (("drive", "v3"), "drive_list", _by_drive),
    (("calendar", "v3"), "calendar_list", _by_calendar),
)
