"""The content of the sample office, read from the files beside this one."""

from __future__ import annotations

import csv
import email.policy
import hashlib
import os
import tempfile
from collections.abc import Iterator
from datetime import datetime
from email.message import EmailMessage
from email.parser import BytesParser
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from callblocks.core.errors import CallerError
from callblocks.timeline.artifacts.media_types import named_type
from callblocks.toolkits.office.backend import DOCUMENT, FOLDER, SPREADSHEET, is_native
from callblocks.toolkits.office.local.database import database
from callblocks.toolkits.office.local.drive.drive_row import (
    ROOT,
    SUFFIXES,
    Decision,
    DriveFiles,
    DriveRow,
    Known,
)
from callblocks.toolkits.office.local.drive.drive_scan import stamped
from callblocks.toolkits.office.local.local_office import INDEX, LocalOffice, is_office
from callblocks.toolkits.office.local.sheet_file import SheetTables, enter_cells, make_sheet_file
from callblocks.toolkits.office.local.tasks import TaskFile

__all__ = (
    "ADDRESS",
    "NAME",
    "ZONE",
    "SampleCalendar",
    "SampleFile",
    "SampleMail",
    "SampleTaskList",
    "calendars",
    "files",
    "lay_office",
    "mails",
    "task_lists",
)

# The address of the office's owner.
ADDRESS = "mara@holmferry.example"

NAME = "Mara Lind"

# The time zone of the office.
ZONE = "Europe/Copenhagen"

_HERE = Path(__file__).parent / "sample"
_NATIVE = {"folder": FOLDER, "document": DOCUMENT, "spreadsheet": SPREADSHEET}


class SampleMail(msgspec.Struct, frozen=True):
    """A message: its name in a Maildir, its flags, and its bytes."""

    unique: str
    flags: str
    raw: bytes
    date: datetime


class SampleFile(msgspec.Struct, frozen=True, rename="camel"):
    """A file of the drive; `parent` is the id of a folder, "" the topmost one."""

    id: str
    name: str
    mime_type: str
    modified: datetime
    parent: str = ""

    @property
    def mime(self) -> str:
        """Its type, as Google names it."""
        return _NATIVE.get(self.mime_type, self.mime_type)

    @property
    def content(self) -> bytes:
        """The content of a file or a document."""
        if self.mime == DOCUMENT:
            return (_HERE / "documents" / f"{self.name}.md").read_bytes()
        folder = next((one.name for one in files() if one.id == self.parent), "")
        return (_HERE / "drive" / folder / self.name).read_bytes()

    @property
    def sheets(self) -> dict[str, list[list[str]]]:
        """The rows of each sheet of a spreadsheet, as typed."""
        found = sorted((_HERE / "sheets" / self.name).glob("*.csv"))
        return {path.stem: list(csv.reader(path.read_text("utf-8").splitlines())) for path in found}


class SampleCalendar(msgspec.Struct, frozen=True):
    """A calendar, and its events in Google's shape; `id` is `primary` for the first."""

    id: str
    summary: str
    color: str
    events: list[dict[str, Any]]


class SampleTaskList(msgspec.Struct, frozen=True):
    """A list, and its tasks in Google's shape."""

    id: str
    title: str
    tasks: list[dict[str, Any]]


def mails() -> Iterator[SampleMail]:
    """Yield the messages, oldest first."""
    parser = BytesParser(policy=email.policy.default)
    for number, path in enumerate(sorted((_HERE / "mail").glob("*.eml")), 1):
        message = parser.parsebytes(path.read_bytes())
        assert isinstance(message, EmailMessage)
        date: datetime = message["Date"].datetime
        flags = str(message["X-Sample-Flags"] or "")
        if "S" in flags:
            message.replace_header("X-Gmail-Labels", f"{message['X-Gmail-Labels']},Opened")
        raw = _whole(message, number)
        yield SampleMail(f"{int(date.timestamp())}.M{number}.holmferry", flags, raw, date)


@cache
def files() -> tuple[SampleFile, ...]:
    """Return the files of the drive, each after its folder."""
    return _read("drive.json", tuple[SampleFile, ...])


def calendars() -> tuple[SampleCalendar, ...]:
    """Return the calendars, the primary one first."""
    return _read("calendars.json", tuple[SampleCalendar, ...])


def task_lists() -> tuple[SampleTaskList, ...]:
    """Return the task lists, the default one first."""
    return _read("tasks.json", tuple[SampleTaskList, ...])


def _read(name: str, type: Any) -> Any:
    return msgspec.json.decode((_HERE / name).read_bytes(), type=type)


def _whole(source: EmailMessage, number: int) -> bytes:
    """Return a message as sent: with its attachments and without our own headers."""
    message = EmailMessage(policy=email.policy.SMTP)
    for name, value in source.items():
        if not name.lower().startswith(("x-sample-", "content-", "mime-version")):
            message[name] = str(value)
    subtype = source.get_content_subtype()
    text = bytes(source.get_payload(decode=True)).decode()
    message.set_content(text, subtype=subtype, cte="quoted-printable")
    for name in str(source["X-Sample-Attach"] or "").split():
        maintype, _, subtype = named_type(name).partition("/")
        content = (_HERE / "attachments" / name).read_bytes()
        message.add_attachment(content, maintype=maintype, subtype=subtype, filename=name)
        message.set_boundary(f"=_holmferry_{number}")
    return message.as_bytes()


# --- Creation of the sample in a folder, in the form of the local office, atomically ---

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


def _row(file: SampleFile, place: Path) -> DriveRow:
    """Return the database row of a file; set the file's mtime, as everything in it exists now."""
    moment = int(file.modified.timestamp())
    os.utime(place, (moment, moment))
    digest = "" if is_native(file.mime) else _md5(place)
    stored, folder = place.name, file.parent or ROOT
    row = DriveRow(file.id, folder, stored, file.name, file.mime, 0, 0, 0, 0, moment * 10**9)
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
