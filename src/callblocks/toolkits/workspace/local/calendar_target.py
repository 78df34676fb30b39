"""Lookup of events by id, and changes of their files.

An id names an event or a series, or one occurrence: `staffmeeting_20261116T080000Z`.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import msgspec

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.local.calendar_files import hold, read_file, write_file
from callblocks.toolkits.workspace.local.calendar_homes import Home
from callblocks.toolkits.workspace.local.calendar_index import CalendarIndex, Row, Rows
from callblocks.toolkits.workspace.local.ics_file import BROKEN, Group, IcsFile
from callblocks.toolkits.workspace.local.reading_events import etag_of
from callblocks.toolkits.workspace.local.series import Series, find_occurrence, split

__all__ = ("Target", "changing_event", "find_event", "no_event", "require_new_event")


class Target(msgspec.Struct, frozen=True):
    """The target of a change: the file, its group of one UID, and the event or occurrence."""

    row: Row
    event: Json
    file: IcsFile
    group: Group

    @property
    def is_occurrence(self) -> bool:
        """True for one occurrence of a series."""
        return "recurringEventId" in self.event


@contextmanager
def changing_event(
    index: CalendarIndex, home: Home, event_id: str, etag: str = ""
) -> Generator[Target, None, None]:
    """Yield the event to change under the calendar's lock; write the file afterwards."""
    if home.folder is None:
        raise no_event(event_id)
    with hold(home.folder):
        row, event = find_event(index, home, event_id)
        content = read_file(home.folder, row.place.name)
        try:
            file = IcsFile(content)
            group = file.groups[row.place.at]
        except BROKEN as error:
            raise _changed(event_id) from error
        if file.faults:
            # Parts that were not parsed would be lost by writing the file.
            why = f"{brief(row.place.name)} cannot be changed here: {file.faults[0]}"
            raise ToolError("workspace_damaged", why)
        # The index was read before the file: the file may have been replaced in between.
        if group.uid != row.series.uid or (etag and etag != etag_of(content)):
            raise _changed(event_id)
        yield Target(row, event, file, group)
        write_file(home.folder, row.place.name, file.to_bytes(), new=False)


def find_event(index: CalendarIndex, home: Home, event_id: str) -> tuple[Row, Json]:
    """Return the row of an id and its event."""
    if home.folder is None:
        raise no_event(event_id)
    with index.fresh(home.folder, home.name) as rows:
        row = rows.by_id(event_id)
        if row is not None and row.series.master is not None:
            return row, row.series.master
        parts = split(event_id)
        row = rows.by_id(parts[0]) if parts else row
        if row is None or parts is None:
            raise _missing(event_id, rows)
    series: Series = row.series.settled(home.zone)
    event = find_occurrence(series, parts[1], home.zone)
    if event is None:
        raise no_event(event_id, "the series has no occurrence then")
    return row, event


def require_new_event(index: CalendarIndex, home: Home, id: str) -> None:
    """Raise `conflict` if an event has that id."""
    assert home.folder is not None
    with index.fresh(home.folder, home.name) as rows:
        if rows.by_id(id) is not None:
            raise ToolError("conflict", f"an event with the id {id} is there already")


def no_event(event_id: str, why: str = "calendar_events lists those that are there") -> ToolError:
    """Return the failure for an unknown id."""
    return ToolError("not_found", f"no event has the id {brief(event_id)}; {why}")


def _missing(event_id: str, rows: Rows) -> ToolError:
    for name, faults in rows.faults():
        if name == f"{event_id}.ics":
            return ToolError("workspace_damaged", faults.splitlines()[0])
    return no_event(event_id)


def _changed(event_id: str) -> ToolError:
    return ToolError(
        "conflict",
        f"the event {brief(event_id)} was changed meanwhile; read it again, then change it",
    )
