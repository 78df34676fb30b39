"""Creation of the sample in a folder, in the form of the local office, atomically."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

import msgspec

from callblocks.model.errors import CallerError
from callblocks.toolkits.workspace.drive_types import FOLDER, SPREADSHEET, is_native
from callblocks.toolkits.workspace.local.database import database
from callblocks.toolkits.workspace.local.drive_files import Decision, DriveFiles, Known
from callblocks.toolkits.workspace.local.drive_names import SUFFIXES
from callblocks.toolkits.workspace.local.drive_row import ROOT, Row
from callblocks.toolkits.workspace.local.drive_scan import stamped
from callblocks.toolkits.workspace.local.office import INDEX, LocalOffice, is_office
from callblocks.toolkits.workspace.local.sheet_file import SheetTables, make_sheet_file
from callblocks.toolkits.workspace.local.sheet_writing import enter_cells
from callblocks.toolkits.workspace.local.task_file import TaskFile
from callblocks.toolkits.workspace.sample.content import (
    ADDRESS,
    NAME,
    ZONE,
    SampleFile,
    calendars,
    files,
    mails,
    task_lists,
)

__all__ = ("lay_office",)

_UPDATED = "2026-11-13T11:00:00.000Z"


def lay_office(folder: Path) -> None:
    """Create the sample; `CallerError` if the folder holds more than an index."""
    is_taken = folder.is_symlink() or not folder.is_dir() or is_office(folder)
    if os.path.lexists(folder) and is_taken:
        raise CallerError(f"{folder} is there already; nothing was changed")
    # In the same folder, so that it can be renamed instead of copied.
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".office-") as beside:
        laid = Path(beside, folder.name)
        laid.mkdir(mode=0o700)
        _lay_mail(laid / "mail")
        _lay_drive(laid)
        _lay_calendars(laid)
        _lay_tasks(laid)
        for path in laid.rglob("*"):
            path.chmod(0o700 if path.is_dir() else 0o600)
        if (folder / INDEX).is_dir():  # a search was there before; its index is a cache
            os.rename(folder / INDEX, Path(beside, INDEX))
        # Fails if the folder was created meanwhile, unless it is empty.
        os.rename(laid, folder)


def _lay_mail(folder: Path) -> None:
    for name in ("cur", "new", "tmp"):
        (folder / name).mkdir(parents=True)
    (folder / "address").write_text(f"{NAME} <{ADDRESS}>\n", "utf-8")
    for mail in mails():
        path = folder / "cur" / f"{mail.unique}:2,{mail.flags}"
        path.write_bytes(mail.raw)
        moment = mail.date.timestamp()
        os.utime(path, (moment, moment))


def _lay_drive(office: Path) -> None:
    (office / "drive").mkdir()
    places = {"": office / "drive"}
    for file in files():
        place = places[file.parent] / f"{file.name}{SUFFIXES.get(file.mime, '')}"
        places[file.id] = place
        _lay_file(file, place)
    rows = [_row(file, places[file.id]) for file in reversed(files())]

    def keep(known: Known) -> Decision[None]:
        return None, rows, ()

    DriveFiles(office / "drive.sqlite", []).change(keep)


def _lay_file(file: SampleFile, place: Path) -> None:
    if file.mime == FOLDER:
        place.mkdir()
    elif file.mime == SPREADSHEET:
        _lay_spreadsheet(file, place)
    else:
        place.write_bytes(file.content)


def _lay_spreadsheet(file: SampleFile, place: Path) -> None:
    make_sheet_file(place, file.sheets)
    with database(place, write=True) as connection:
        tables = SheetTables(connection)
        for sheet in tables.sheets():
            rows = file.sheets[sheet.title]
            enter_cells(tables, sheet, (1, 1), rows, "USER_ENTERED")


def _row(file: SampleFile, place: Path) -> Row:
    """Return the database row of a file; set the file's mtime, as everything in it exists now."""
    moment = int(file.modified.timestamp())
    os.utime(place, (moment, moment))
    digest = "" if is_native(file.mime) else _md5(place)
    stored, folder = place.name, file.parent or ROOT
    row = Row(file.id, folder, stored, file.name, file.mime, 0, 0, 0, 0, moment * 10**9)
    return msgspec.structs.replace(stamped(row, place.stat()), md5=digest)


def _md5(place: Path) -> str:
    return hashlib.md5(place.read_bytes(), usedforsecurity=False).hexdigest()


def _lay_calendars(office: Path) -> None:
    local = LocalOffice(office).calendars
    for calendar in calendars():
        folder = office / "calendar" / calendar.id
        folder.mkdir(parents=True)
        (folder / "displayname").write_text(f"{calendar.summary}\n", "utf-8")
        (folder / "color").write_text(f"{calendar.color}\n", "utf-8")
        (folder / "timezone").write_text(f"{ZONE}\n", "utf-8")
        for event in calendar.events:
            local.create(calendar.id, event, notify="none")


def _lay_tasks(office: Path) -> None:
    with TaskFile(office).writing() as connection:
        connection.execute("delete from lists")
        for position, held in enumerate(task_lists()):
            connection.execute(
                "insert into lists values (?, ?, ?, ?)", (held.id, held.title, position, _UPDATED)
            )
            for place, task in enumerate(held.tasks):
                fields = {
                    "list": held.id,
                    "status": "needsAction",
                    "position": f"{place:020d}",
                    "updated": _UPDATED,
                    **task,
                    "due": task.get("due", "")[:10],
                }
                names = ", ".join(fields)
                marks = ", ".join("?" * len(fields))
                connection.execute(
                    f"insert into tasks ({names}) values ({marks})", tuple(fields.values())
                )
