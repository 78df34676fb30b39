"""The calendars of an office: their list, and one that is open.

    office/calendar/primary/displayname, color      as vdir has it; `timezone` is the zone's name

The folder named `primary` is the primary calendar, else the first one by name. The primary calendar
exists for callers even before its folder is created.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json, Page
from callblocks.toolkits.workspace.local.calendar_files import (
    calendar_names,
    open_calendar,
    read_line,
)
from callblocks.toolkits.workspace.local.zones import known_zone, machine_zone
from callblocks.tools.context import running_context

__all__ = ("Home", "calendar_page", "opened_home")

_PRIMARY = "primary"
_COLOR = re.compile(r"#[0-9A-Fa-f]{6}")


class Home(msgspec.Struct, frozen=True):
    """An open calendar; `folder` is `None` for a primary calendar that does not exist yet."""

    name: str
    zone: str
    folder: int | None


@contextmanager
def opened_home(
    office: Path, calendar_id: str, *, make: bool = False
) -> Generator[Home, None, None]:
    """Open the calendar of that id; with `make` create its folder."""
    names = calendar_names(office)
    name = (names or [_PRIMARY])[0] if calendar_id == _PRIMARY else calendar_id
    if name not in (names or [_PRIMARY]):
        known = ", ".join(names[:10]) or _PRIMARY
        _saw_names(names[:10])
        raise ToolError(
            "not_found", f"no calendar has the id {brief(calendar_id)}; there are: {known}"
        )
    with open_calendar(office, name, make=make) as folder:
        yield Home(name, _zone_of(folder), folder)


def calendar_page(office: Path, *, limit: int, page: str) -> Page:
    """Return a page of the calendars, the primary one first."""
    names = calendar_names(office) or [_PRIMARY]
    start = _read_number(page) if page else 0
    rest = names[start:]
    items = [_entry(office, name, primary=name == names[0]) for name in rest[:limit]]
    _saw_names([item["summary"] for item in items] + [item["id"] for item in items])
    return Page(items, str(start + limit) if len(rest) > limit else "")


def _saw_names(names: list[str]) -> None:
    """Taint the call that is shown calendar names: whoever created a folder chose its name."""
    context = running_context()
    if context is not None and any(name != _PRIMARY for name in names):
        context.taint("names of calendars")


def _entry(office: Path, name: str, *, primary: bool) -> Json:
    with open_calendar(office, name) as folder:
        title = read_line(folder, "displayname") if folder is not None else ""
        color = read_line(folder, "color") if folder is not None else ""
        zone = _zone_of(folder)
    entry: Json = {
        "kind": "calendar#calendarListEntry",
        "id": name,
        "summary": title or name,
        "timeZone": zone,
        "accessRole": "owner",
        "selected": True,
    }
    if _COLOR.match(color):
        entry["backgroundColor"] = color[:7]
    return entry | {"primary": True} if primary else entry


def _zone_of(folder: int | None) -> str:
    named = read_line(folder, "timezone") if folder is not None else ""
    return (known_zone(named) if named else "") or machine_zone()


def _read_number(page: str) -> int:
    if not (page.isascii() and page.isdigit() and len(page) < 9):
        why = f"{brief(page)} is no token of a page; give the nextPageToken of a list, or none"
        raise ToolError("invalid_input", why, pageToken=why)
    return int(page)
