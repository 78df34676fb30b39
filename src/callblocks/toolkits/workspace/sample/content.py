"""The content of the sample office, read from the files beside this one."""

from __future__ import annotations

import csv
import email.policy
from collections.abc import Iterator
from datetime import datetime
from email.message import EmailMessage
from email.parser import BytesParser
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from callblocks.timeline.keeping.mime_names import named_type
from callblocks.toolkits.workspace.drive_types import DOCUMENT, FOLDER, SPREADSHEET

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
    "mails",
    "task_lists",
)

# The address of the office's owner.
ADDRESS = "mara@holmferry.example"

NAME = "Mara Lind"

# The time zone of the office.
ZONE = "Europe/Copenhagen"

_HERE = Path(__file__).parent
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
