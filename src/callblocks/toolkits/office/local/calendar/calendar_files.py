"""The folders and files of the calendars: `office/calendar/<calendar>/<name>.ics`.

Everything is opened relative to the folder above it, never through a link. A writer holds an
exclusive `flock` on the calendar's folder, so writers of several processes are serialized. Readers
take no lock: files are replaced atomically.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.files.real_path import FOLDER, naming
from callblocks.guard.files.replace_file import replace
from callblocks.toolkits.office.backend import Json, Page
from callblocks.toolkits.office.times import known_zone, machine_zone
from callblocks.tools.tool import running_context

__all__ = (
    "LARGEST",
    "Home",
    "calendar_names",
    "calendar_page",
    "hold",
    "open_calendar",
    "opened_home",
    "own_address",
    "read_file",
    "read_line",
    "scan",
    "write_file",
)

# Size limit in bytes of one iCalendar file.
LARGEST = 5 * 1024 * 1024

_FOLDER = FOLDER | os.O_NOFOLLOW
# O_NONBLOCK: opening a FIFO that somebody put there must not block.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_PATIENCE = 5.0
_PAUSE = 0.01
_PRIVATE = 0o600


def calendar_names(office: Path) -> list[str]:
    """Return the names of the calendar folders, the primary one first."""
    with _opened(office, ("calendar",)) as folder:
        if folder is None:
            return []
        with os.scandir(folder) as entries:
            names = [
                entry.name
                for entry in entries
                if _is_plain(entry.name) and entry.is_dir(follow_symlinks=False)
            ]
    return sorted(names, key=lambda name: (name != "primary", name))


def _is_plain(name: str) -> bool:
    """Tell if a name is printable and not hidden; a name that is not UTF-8 cannot be an id."""
    return name.isprintable() and not name.startswith(".")


@contextmanager
def open_calendar(
    office: Path, name: str, *, make: bool = False
) -> Generator[int | None, None, None]:
    """Open the folder of a calendar that `calendar_names` returned; `None` if it is missing."""
    with _opened(office, ("calendar", name), make=make) as folder:
        yield folder


def own_address(office: Path) -> str:
    """Return the address in `mail/address`, or ""."""
    with _opened(office, ("mail",)) as folder:
        said = read_line(folder, "address") if folder is not None else ""
    # The form is `Name <address>` or the bare address.
    return said.rpartition("<")[2].removesuffix(">").strip()


def scan(folder: int) -> dict[str, str]:
    """Map the iCalendar files to stamps that differ once a file has changed."""
    found: dict[str, str] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.endswith(".ics") or not _is_plain(entry.name):
                continue
            with suppress(FileNotFoundError):
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    found[entry.name] = f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}"
    return found


def read_file(folder: int, name: str) -> bytes:
    """Read an iCalendar file; `file_too_large` above the limit."""
    with naming(name):
        opened = os.open(name, _FILE, dir_fd=folder)
        with open(opened, "rb") as file:
            content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ToolError("file_too_large", f"{brief(name)} has more than {LARGEST} bytes of events")
    return content


def read_line(folder: int, name: str) -> str:
    """Return the first line of a small file, such as `displayname`, or ""."""
    try:
        opened = os.open(name, _FILE, dir_fd=folder)
        with open(opened, "rb") as file:
            return file.read(500).decode(errors="replace").strip().partition("\n")[0]
    except OSError:
        return ""


def write_file(folder: int, name: str, content: bytes, *, new: bool) -> None:
    """Write an iCalendar file atomically; a `new` one must not exist."""
    with naming(name):
        old = None if new else os.stat(name, dir_fd=folder, follow_symlinks=False)
        replace(folder, name, content, old=old, executable=False, overwrite=not new)
        if new:
            os.chmod(name, _PRIVATE, dir_fd=folder)


@contextmanager
def hold(folder: int) -> Generator[None, None, None]:
    """Hold the lock of a calendar; `busy` if another process holds it for too long."""
    import fcntl

    until = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > until:
                raise ToolError(
                    "busy", "another program is changing this calendar; try again"
                ) from None
            time.sleep(_PAUSE)
    try:
        yield
    finally:
        fcntl.flock(folder, fcntl.LOCK_UN)


@contextmanager
def _opened(
    office: Path, names: tuple[str, ...], *, make: bool = False
) -> Generator[int | None, None, None]:
    with naming("/".join((office.name, *names))):
        folder = _descend(office, names, make)
    try:
        yield folder
    finally:
        if folder is not None:
            os.close(folder)


def _descend(office: Path, names: tuple[str, ...], make: bool) -> int | None:
    if make:
        with suppress(FileExistsError):
            os.mkdir(office, 0o700)
    try:
        at = os.open(office, _FOLDER)
    except FileNotFoundError:
        return None
    for name in names:
        try:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=at)
            below = os.open(name, _FOLDER, dir_fd=at)
        except FileNotFoundError:
            return None
        finally:
            os.close(at)
        at = below
    return at


# --- The calendars of an office: their list, and one that is open ---
#
#     office/calendar/primary/displayname, color      as vdir has it; `timezone` is the zone's name
#
# The folder named `primary` is the primary calendar, else the first one by name. The primary
# calendar exists for callers even before its folder is created.

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
