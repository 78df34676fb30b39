"""The interface of an office, implemented by a local folder and by Google Workspace.

Values have the shape of Google's resources, complete; the tools trim them for the model. Pages have
at most `limit` items, and `next` is the token of the next page, "" at the end. Every failure is a
`ToolError` with a code: `not_found`, `invalid_input`, `conflict` …
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import msgspec

__all__ = (
    "DOCUMENT",
    "EXPORTS",
    "FOLDER",
    "LARGEST",
    "SPREADSHEET",
    "Calendars",
    "Documents",
    "Drive",
    "Json",
    "Mail",
    "Office",
    "Page",
    "Sheets",
    "Tasks",
    "is_native",
)

# A resource as in Google's reference.
Json: TypeAlias = dict[str, Any]


class Page(msgspec.Struct, frozen=True):
    """A page of items, and the token of the next one.

    `faults` has a line for each thing that could not be read. `paths` are the workspace paths of
    each item, for a policy to judge; empty for items outside of the workspace.
    """

    items: list[Json]
    next: str = ""
    faults: tuple[str, ...] = ()
    paths: tuple[tuple[str, ...], ...] = ()


class Mail(Protocol):
    """Messages of one person (Gmail v1)."""

    def address(self) -> str:
        """Return the person's own address."""
        ...

    def labels(self) -> list[Json]:
        """Return the labels, each with its `id` and `name`."""
        ...

    def messages(
        self, *, query: str, labels: Sequence[str], spam_trash: bool, limit: int, page: str
    ) -> Page:
        """Return messages with headers and snippet but no body, newest first (`format=metadata`).

        They have all of these labels (ids); `spam_trash` includes spam and trash.
        """
        ...

    def message(self, message_id: str) -> Json:
        """Return one message with its parts; an attachment is an id and a size (`format=full`)."""
        ...

    def thread(self, thread_id: str) -> Json:
        """Return a thread with its messages, oldest first, each as from `message`."""
        ...

    def attachment(self, message_id: str, attachment_id: str) -> bytes:
        """Return the content of an attachment."""
        ...

    def send(self, raw: bytes, thread_id: str) -> Json:
        """Send a whole MIME message, in a thread or ("") in a new one."""
        ...


class Drive(Protocol):
    """Files and folders (Drive v3)."""

    def files(self, *, query: str, order: str, limit: int, page: str) -> Page:
        """Return files that match a query in Drive's syntax; "" matches all, including the
        trash.
        """
        ...

    def file(self, file_id: str) -> Json:
        """Return the metadata of one file; `root` is the topmost folder."""
        ...

    def content(self, file_id: str, mime: str) -> tuple[bytes, str]:
        """Return a file's content and type; documents and sheets are exported as `mime`."""
        ...

    def create(self, metadata: Json, content: bytes | None) -> Json:
        """Create a file, or a folder if the type says so."""
        ...

    def update(
        self, file_id: str, changes: Json, content: bytes | None, *, add: str = "", remove: str = ""
    ) -> Json:
        """Change a file's metadata (`trashed` too), its content, and its folders."""
        ...

    def delete(self, file_id: str) -> None:
        """Delete a file permanently, bypassing the trash."""
        ...


class Calendars(Protocol):
    """Calendars and their events (Calendar v3)."""

    @property
    def invites(self) -> bool:
        """True if attendees are really notified when `notify` says so."""
        ...

    def zone(self, calendar_id: str) -> str:
        """Return the time zone of a calendar: Europe/Berlin."""
        ...

    def calendars(self, *, limit: int, page: str) -> Page:
        """Return the calendars that the person sees; one is `primary`."""
        ...

    def events(
        self,
        calendar_id: str,
        *,
        time_min: str,
        time_max: str,
        query: str,
        single: bool,
        zone: str,
        limit: int,
        page: str,
    ) -> Page:
        """Return events that overlap a time range (RFC 3339, "" is open), by start; `single`
        expands series.
        """
        ...

    def event(self, calendar_id: str, event_id: str) -> Json:
        """Return one event, one occurrence of a series (`<id>_<time>`), or a series."""
        ...

    def create(self, calendar_id: str, event: Json, *, notify: str) -> Json:
        """Add an event; `notify` is all, externalOnly or none."""
        ...

    def update(self, calendar_id: str, event_id: str, changes: Json, *, notify: str) -> Json:
        """Change fields of an event, a series, or one occurrence; `None` removes a field.

        With `etag` among the changes, an event that has another one by now is a `conflict`.
        """
        ...

    def delete(self, calendar_id: str, event_id: str, *, notify: str) -> None:
        """Cancel an event, a series, or one occurrence."""
        ...


class Documents(Protocol):
    """Texts (Docs v1); each is a file of the drive too."""

    def document(self, document_id: str) -> Json:
        """Return a document with its paragraphs."""
        ...

    def create(self, title: str, text: str) -> Json:
        """Create a document."""
        ...

    def append(self, document_id: str, text: str) -> None:
        """Append text."""
        ...

    def replace(self, document_id: str, find: str, new: str, *, match_case: bool) -> int:
        """Replace each match; return their number."""
        ...


class Sheets(Protocol):
    """Spreadsheets (Sheets v4); each is a file of the drive too.

    If formulas are stored but not computed, an answer has the additional key `uncomputed`: the
    number of formulas among its cells.
    """

    def spreadsheet(self, spreadsheet_id: str) -> Json:
        """Return its title and its sheets, without cells."""
        ...

    def values(self, spreadsheet_id: str, range: str, *, render: str, major: str) -> Json:
        """Return the cells of a range in A1 notation as a ValueRange."""
        ...

    def write(
        self, spreadsheet_id: str, range: str, values: Sequence[Sequence[Any]], *, entered: str
    ) -> Json:
        """Write cells; `entered` is RAW or USER_ENTERED. An UpdateValuesResponse."""
        ...

    def append(
        self, spreadsheet_id: str, range: str, values: Sequence[Sequence[Any]], *, entered: str
    ) -> Json:
        """Add rows below the table in that range. An AppendValuesResponse."""
        ...

    def create(self, title: str, sheets: Sequence[str]) -> Json:
        """Create a spreadsheet with these sheets."""
        ...

    def clear(self, spreadsheet_id: str, range: str) -> Json:
        """Empty cells. A ClearValuesResponse."""
        ...


class Tasks(Protocol):
    """Lists of tasks (Tasks v1)."""

    def lists(self, *, limit: int, page: str) -> Page:
        """Return the lists; `@default` is the first."""
        ...

    def tasks(
        self,
        list_id: str,
        *,
        completed: bool,
        due_min: str,
        due_max: str,
        limit: int,
        page: str,
    ) -> Page:
        """Return tasks in their order; `completed` includes completed ones."""
        ...

    def task(self, list_id: str, task_id: str) -> Json:
        """Return one task."""
        ...

    def create(self, list_id: str, task: Json, *, parent: str, previous: str) -> Json:
        """Add a task, at the top, below a parent, or after another."""
        ...

    def update(self, list_id: str, task_id: str, changes: Json) -> Json:
        """Change fields of a task; `status` too."""
        ...

    def delete(self, list_id: str, task_id: str) -> None:
        """Delete a task."""
        ...


class Office(Protocol):
    """All services; each is opened at its first use.

    With `is_shared = True` others may see what is created; with `is_absent = True` the office does
    not exist yet and is created by the first write.
    """

    @property
    def mail(self) -> Mail: ...
    @property
    def drive(self) -> Drive: ...
    @property
    def calendars(self) -> Calendars: ...
    @property
    def documents(self) -> Documents: ...
    @property
    def sheets(self) -> Sheets: ...
    @property
    def tasks(self) -> Tasks: ...


# --- File types with special treatment ---
#
#     folder        holds files
#     document      a text; it has no bytes of its own and is exported, as Markdown by default
#     spreadsheet   tables; exported as CSV by default

# Size limit in bytes of a file that is read or written.
LARGEST = 25 * 1024 * 1024

_NATIVE = "application/vnd.google-apps."
FOLDER = f"{_NATIVE}folder"
DOCUMENT = f"{_NATIVE}document"
SPREADSHEET = f"{_NATIVE}spreadsheet"

# Default export types of files without bytes of their own.
EXPORTS = {
    DOCUMENT: "text/markdown",
    SPREADSHEET: "text/csv",
    f"{_NATIVE}presentation": "text/plain",
    f"{_NATIVE}drawing": "image/png",
    f"{_NATIVE}script": f"{_NATIVE}script+json",
}


def is_native(mime: str) -> bool:
    """Tell if files of this type have no bytes of their own and are exported."""
    return mime.startswith(_NATIVE)
