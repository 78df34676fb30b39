"""Suggestions for an id that does not exist.

    no file has the id 'Boat' …; did you mean boat (the folder 'Boat')?
    no event has the id 'springtide' …; it is in the calendar crew: give calendarId

Models give names for ids, and forget which calendar an event is in. The search costs a request or
two, and only after the call has failed. If the policy does not permit it, nothing is suggested.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.files.root import is_hidden
from callblocks.toolkits.office.backend import (
    DOCUMENT,
    FOLDER,
    SPREADSHEET,
    Calendars,
    Json,
    Office,
    Page,
)
from callblocks.toolkits.office.drive_query import And, Term, write_query
from callblocks.tools.tool import Context, Paths, Precheck, running_context

__all__ = (
    "Placed",
    "meant_event",
    "meant_file",
    "must_be_there",
    "new_path",
    "paths_of",
    "reaching",
    "readable_page",
    "require_readable",
    "with_way_out",
)

# --- The paths of files that are named by ids, so that path rules apply to them too ---
#
#     drive_read 1AbC…      office/drive/secret/plan.md
#
# A local office is a folder of the workspace: a rule about `office/drive/secret/**` applies to
# these files whichever tool reaches them. Files elsewhere have no path.


@runtime_checkable
class Placed(Protocol):
    """A drive whose files are in the workspace."""

    def paths(self, file_ids: Iterable[str], *, below: bool = False) -> list[list[str]]:
        """Return the paths of each file, and with `below` of all that is in it."""
        ...

    def new_path(self, folder_id: str, name: str, mime: str) -> str:
        """Return the path that a new file would get."""
        ...


def reaching(office: Office, *fields: str, below: bool = False) -> Paths | None:
    """Return the function that gives a policy the paths of files named by these parameters."""
    # A shared office is remote: asking its drive would send a request before the policy has
    # decided.
    if getattr(office, "is_shared", False):
        return None

    def paths(given: dict[str, Any]) -> Sequence[str]:
        return paths_of(office, *(str(given[one]) for one in fields if given.get(one)), below=below)

    return paths


def paths_of(office: Office, *file_ids: str, below: bool = False) -> list[str]:
    """Return the paths of these files; none if they are not in the workspace."""
    drive = office.drive
    if not isinstance(drive, Placed) or not file_ids:
        return []
    return [path for paths in drive.paths(file_ids, below=below) for path in paths]


def new_path(office: Office, folder_id: str, name: str, mime: str) -> list[str]:
    """Return the path that a new file would get, if it is in the workspace."""
    if getattr(office, "is_shared", False):
        return []
    drive = office.drive
    try:
        return [drive.new_path(folder_id, name, mime)] if isinstance(drive, Placed) else []
    except ToolError:  # there is no such folder, as the call itself will say
        return []


def require_readable(office: Office, context: Context, *file_ids: str, below: bool = False) -> None:
    """Raise `policy_denied` for a file that the policy does not let the call read."""
    for path in paths_of(office, *file_ids, below=below):
        refusal = context.path_refusal(path)
        if refusal is not None:
            raise ToolError("policy_denied", refusal)


def readable_page(page: Page, context: Context) -> Page:
    """Return the page without files that the policy does not let the call read."""
    if not page.paths:
        return page
    # All paths of a file must be readable: a trashed file counts under its former path as well, so
    # a rule cannot be evaded by way of the trash.
    placed = zip(page.items, page.paths, strict=True)
    kept: list[Json] = [
        file for file, paths in placed if all(context.path_refusal(one) is None for one in paths)
    ]
    return msgspec.structs.replace(page, items=kept, paths=())


# --- Suggestions for an id that does not exist ---

_KINDS = {FOLDER: "folder", DOCUMENT: "document", SPREADSHEET: "spreadsheet"}
_LONGEST = 200
_LOOKED_AT = 50
_CALENDARS = 20


@contextmanager
def meant_file(office: Office, *ids: str) -> Generator[None, None, None]:
    """Suggest the file that was meant if one of these ids is not found."""
    with with_way_out(lambda: _first(_file_hint(office, one) for one in ids if one)):
        yield


def must_be_there(office: Office, field: str) -> Precheck:
    """Return a precheck that the file with the id in a parameter exists.

    It applies to a local office only: a request to another one needs the approval first.
    """

    def precheck(**given: Any) -> None:
        if isinstance(office.drive, Placed):
            with meant_file(office, given[field]):
                office.drive.file(given[field])

    return precheck


@contextmanager
def meant_event(office: Office, calendar: str, event_id: str) -> Generator[None, None, None]:
    """Suggest the event that was meant, or the calendar that it is in."""
    with with_way_out(lambda: _event_hint(office.calendars, calendar, event_id)):
        yield


@contextmanager
def with_way_out(find: Callable[[], str]) -> Generator[None, None, None]:
    """Add the result of `find` to a `not_found` failure."""
    try:
        yield
    except ToolError as error:
        if error.code != "not_found":
            raise
        try:
            # The search for a hint may fail in turn. The original failure is what the model must
            # see.
            hint = find()
        except ToolError:
            hint = ""
        if not hint:
            raise
        # A suggestion shows names that others may have chosen.
        if context := running_context():
            context.taint("names in the office")
        raise ToolError(error.code, f"{error.message}; {hint}", **error.details) from error


def _file_hint(office: Office, name: str) -> str:
    """Return the only file of that name, with or without its suffix, if `name` is no id."""
    if len(name) > _LONGEST or _is_file(office, name):
        return ""
    query = And((Term("name", "contains", name.strip()), Term("trashed", "=", False)))
    page = office.drive.files(query=write_query(query), order="", limit=_LOOKED_AT, page="")
    items = _nameable(page)
    named = [one for one in items if _same(one["name"], name)]
    named = named or [one for one in items if _same(one["name"].rpartition(".")[0], name)]
    # Suggest only a unique file. With more pages there might be another one of that name.
    if len(named) != 1 or page.next:
        return ""
    kind = _KINDS.get(named[0]["mimeType"], "file")
    return _did_you_mean(named[0]["id"], kind, named[0]["name"])


def _nameable(page: Page) -> list[Json]:
    """Return the files of a page that the policy does not hide from the call."""
    if not page.paths:
        return page.items
    placed = zip(page.items, page.paths, strict=True)
    return [file for file, paths in placed if not any(map(is_hidden, paths))]


def _is_file(office: Office, file_id: str) -> bool:
    try:
        office.drive.file(file_id)
    except ToolError:
        return False
    return True


def _event_hint(calendars: Calendars, calendar: str, event_id: str) -> str:
    others = [
        one["id"]
        for one in _known_calendars(calendars)
        if calendar not in (one["id"], "primary" if one.get("primary") else "")
    ]
    held = next((one for one in others if _has_event(calendars, one, event_id)), "")
    if held:
        return f"it is in another calendar: give calendarId {brief(held)}"
    found = calendars.events(
        calendar,
        time_min="",
        time_max="",
        query=event_id[:_LONGEST],
        single=False,
        zone="",
        limit=_LOOKED_AT,
        page="",
    )
    named = [one for one in found.items if _same(str(one.get("summary", "")), event_id)]
    return _did_you_mean(named[0]["id"], "event", named[0]["summary"]) if len(named) == 1 else ""


def _known_calendars(calendars: Calendars) -> list[Json]:
    try:
        return calendars.calendars(limit=_CALENDARS, page="").items
    except ToolError:  # to see events is not to see which calendars there are
        return []


def _has_event(calendars: Calendars, calendar: str, event_id: str) -> bool:
    try:
        calendars.event(calendar, event_id)
    except ToolError:
        return False
    return True


def _did_you_mean(id: str, kind: str, name: str) -> str:
    return f"did you mean {id} (the {kind} {brief(name)})?"


def _same(one: str, other: str) -> bool:
    return one.strip().casefold() == other.strip().casefold()


def _first(hints: Iterable[str]) -> str:
    return next(filter(None, hints), "")
