"""What the workspace tools ask of an office, whether it is a folder here or Google Workspace.

Values have the shape of Google's resources, whole; the tools trim them for the model. Pages
have at most `limit` items, and `next` is the token of the page after it, "" at the end.
Whatever goes wrong is a `ToolError` with a code: `not_found`, `invalid_input`, `conflict` …
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import msgspec

__all__ = (
    "Calendars",
    "Documents",
    "Drive",
    "Json",
    "Mail",
    "Office",
    "Page",
    "Sheets",
    "Tasks",
)

# A resource, as Google's reference documents it.
Json: TypeAlias = dict[str, Any]


class Page(msgspec.Struct, frozen=True):
    """Some of the items, and the token that gets the next ones.

    `faults` says what could not be read on the way, a line each. `paths` are where the items lie,
    each with all its places, for a policy to judge; none where they are not in the workspace.
    """

    items: list[Json]
    next: str = ""
    faults: tuple[str, ...] = ()
    paths: tuple[tuple[str, ...], ...] = ()


class Mail(Protocol):
    """Messages of one person (Gmail v1)."""

    def address(self) -> str:
        """The person's own address."""
        ...

    def labels(self) -> list[Json]:
        """The labels that there are, each with its `id` and `name`."""
        ...

    def messages(
        self, *, query: str, labels: Sequence[str], spam_trash: bool, limit: int, page: str
    ) -> Page:
        """Messages with headers and snippet but no body, newest first (`format=metadata`).

        They have all of these labels (ids); `spam_trash` finds those in spam and trash, too.
        """
        ...

    def message(self, message_id: str) -> Json:
        """One message with its parts; an attachment is an id and a size (`format=full`)."""
        ...

    def thread(self, thread_id: str) -> Json:
        """A thread with its messages, oldest first, each as `message` gives it."""
        ...

    def attachment(self, message_id: str, attachment_id: str) -> bytes:
        """What an attachment holds."""
        ...

    def send(self, raw: bytes, thread_id: str) -> Json:
        """Send a whole MIME message, in a thread or ("") in one of its own."""
        ...


class Drive(Protocol):
    """Files and folders (Drive v3)."""

    def files(self, *, query: str, order: str, limit: int, page: str) -> Page:
        """Files that a query in Drive's syntax finds; "" finds all, those in the trash too."""
        ...

    def file(self, file_id: str) -> Json:
        """What is known of one file; `root` is the topmost folder."""
        ...

    def content(self, file_id: str, mime: str) -> tuple[bytes, str]:
        """What a file holds, and its type; documents and sheets are exported as `mime`."""
        ...

    def create(self, metadata: Json, content: bytes | None) -> Json:
        """Make a file, or with the type of a folder a folder."""
        ...

    def update(
        self, file_id: str, changes: Json, content: bytes | None, *, add: str = "", remove: str = ""
    ) -> Json:
        """Change what is known of a file (`trashed` too), what it holds, and its folders."""
        ...

    def delete(self, file_id: str) -> None:
        """Delete a file for ever, past the trash."""
        ...


class Calendars(Protocol):
    """Calendars and their events (Calendar v3)."""

    @property
    def invites(self) -> bool:
        """Whether those who attend are really told where `notify` says so."""
        ...

    def zone(self, calendar_id: str) -> str:
        """The time zone of a calendar: Europe/Berlin."""
        ...

    def calendars(self, *, limit: int, page: str) -> Page:
        """The calendars that the person sees; one is `primary`."""
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
        """Events that overlap a time (RFC 3339, "" is open), by start; `single` expands series."""
        ...

    def event(self, calendar_id: str, event_id: str) -> Json:
        """One event, one occurrence of a series (`<id>_<time>`), or a series."""
        ...

    def create(self, calendar_id: str, event: Json, *, notify: str) -> Json:
        """Add an event; `notify` is whom to tell: all, externalOnly, none."""
        ...

    def update(self, calendar_id: str, event_id: str, changes: Json, *, notify: str) -> Json:
        """Change fields of an event, a series, or one occurrence; `None` takes a field away.

        With `etag` among the changes it is a `conflict` if the event has another one by now.
        """
        ...

    def delete(self, calendar_id: str, event_id: str, *, notify: str) -> None:
        """Cancel an event, a series, or one occurrence."""
        ...


class Documents(Protocol):
    """Texts (Docs v1); each is a file of the drive too."""

    def document(self, document_id: str) -> Json:
        """A document with its paragraphs."""
        ...

    def create(self, title: str, text: str) -> Json:
        """Make a document."""
        ...

    def append(self, document_id: str, text: str) -> None:
        """Add text at the end."""
        ...

    def replace(self, document_id: str, find: str, new: str, *, match_case: bool) -> int:
        """Replace each place; how many there were."""
        ...


class Sheets(Protocol):
    """Spreadsheets (Sheets v4); each is a file of the drive too.

    Where formulas are kept but not computed, an answer has one key more, `uncomputed`: how many
    formulas are among the cells it tells of.
    """

    def spreadsheet(self, spreadsheet_id: str) -> Json:
        """Its title and its sheets, without cells."""
        ...

    def values(self, spreadsheet_id: str, range: str, *, render: str, major: str) -> Json:
        """The cells of a range in A1 notation, as a ValueRange."""
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
        """Make a spreadsheet with these sheets."""
        ...

    def clear(self, spreadsheet_id: str, range: str) -> Json:
        """Empty cells. A ClearValuesResponse."""
        ...


class Tasks(Protocol):
    """Lists of tasks (Tasks v1)."""

    def lists(self, *, limit: int, page: str) -> Page:
        """The lists; `@default` stands for the first."""
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
        """Tasks in their order; `completed` shows those that are done, too."""
        ...

    def task(self, list_id: str, task_id: str) -> Json:
        """One task."""
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
    """All of it; a part is opened when it is first asked for.

    One with `is_shared = True` is an office where others may see what is made; one with
    `is_absent = True` is not there yet, and made by the first write.
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
