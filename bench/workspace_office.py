"""A large office: the sample, and beside it thousands of mails, files, events, cells and tasks.

It is written as other programs would write it; only the cells go through our own file.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import msgspec

from callblocks.toolkits.office.local.database import database
from callblocks.toolkits.office.local.sheet_file import SheetTables, make_sheet_file
from callblocks.toolkits.office.local.tasks import TaskFile, now
from callblocks.toolkits.office.sample_office import lay_office
from callblocks.toolkits.office.tools.cells import Cell

__all__ = ("WORDS", "Sizes", "fill_office")

WORDS = (
    *("boat", "tide", "harbour", "engine", "pump", "quay", "island", "lighthouse", "berth"),
    *("dredger", "notice", "winter", "school", "ticket", "passenger", "rope", "anchor", "fender"),
    *("gale", "storm", "calm", "wind", "north", "south", "west", "east", "morning", "evening"),
    *("timetable", "skipper", "crew", "radio", "chart", "sounding", "sand", "mud", "stone"),
    *("buoy", "light", "fog", "bell", "invoice", "offer", "repair", "paint", "hull", "deck"),
    *("cabin", "glove", "umbrella", "book", "letter", "parcel", "rolls", "bread"),
)
_START = datetime(2024, 1, 1, 8, tzinfo=UTC)
_COLUMNS = 20
_FOLDERS = 100


class Sizes(msgspec.Struct, frozen=True):
    """How much of each there is."""

    mails: int = 10_000
    files: int = 10_000
    events: int = 5_000
    cells: int = 100_000
    tasks: int = 1_000

    def smaller(self, by: int) -> Sizes:
        """The same, divided."""
        return Sizes(*(max(1, size // by) for size in msgspec.structs.astuple(self)))


def fill_office(folder: Path, sizes: Sizes) -> None:
    """Lay the sample in a folder that is not there yet, and put so many more things into it."""
    lay_office(folder)
    words = random.Random(7)
    _mails(folder / "mail" / "cur", sizes.mails, words)
    _files(folder / "drive", sizes.files, words)
    _events(folder / "calendar" / "primary", sizes.events, words)
    _cells(folder / "drive" / "Large.sheet", sizes.cells)
    _tasks(folder, sizes.tasks)


def _said(words: random.Random, count: int) -> str:
    return " ".join(words.choices(WORDS, k=count))


def _mails(folder: Path, count: int, words: random.Random) -> None:
    for at in range(count):
        date = _START + timedelta(hours=at)
        who = words.choice(WORDS)
        lines = [
            f"From: {who.title()} <{who}@example.org>",
            "To: Mara Lind <mara@holmferry.example>",
            f"Subject: {_said(words, 5)}",
            f"Date: {format_datetime(date)}",
            f"Message-ID: <{at}@bench.example>",
            *([f"In-Reply-To: <{at - 1}@bench.example>"] if at % 3 else []),
            "X-Gmail-Labels: Inbox,Opened",
            "Content-Type: text/plain; charset=utf-8",
            "",
            *(_said(words, 12) for _ in range(10)),
            "",
        ]
        name = f"{int(date.timestamp())}.M{at}.bench:2,S"
        (folder / name).write_text("\n".join(lines), "utf-8")


def _files(folder: Path, count: int, words: random.Random) -> None:
    for at in range(count):
        below = folder / f"folder {at % _FOLDERS}"
        below.mkdir(exist_ok=True)
        text = "\n".join(_said(words, 12) for _ in range(10))
        (below / f"{words.choice(WORDS)} {at}.txt").write_text(text, "utf-8")


def _events(folder: Path, count: int, words: random.Random) -> None:
    for at in range(count):
        start = _START + timedelta(hours=5 * at)
        end = start + timedelta(hours=1)
        again = ["RRULE:FREQ=WEEKLY;COUNT=10"] if at % 50 == 0 else []
        lines = [
            *("BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//bench//EN", "BEGIN:VEVENT"),
            f"UID:bench{at}",
            f"DTSTAMP:{_START:%Y%m%dT%H%M%SZ}",
            f"DTSTART:{start:%Y%m%dT%H%M%SZ}",
            f"DTEND:{end:%Y%m%dT%H%M%SZ}",
            f"SUMMARY:{_said(words, 4)}",
            *again,
            *("END:VEVENT", "END:VCALENDAR", ""),
        ]
        (folder / f"bench{at}.ics").write_text("\r\n".join(lines), "utf-8")


def _cells(path: Path, count: int) -> None:
    make_sheet_file(path, ["Sheet1"])
    with database(path, write=True) as connection:
        tables = SheetTables(connection)
        (sheet,) = tables.sheets()
        tables.resize(sheet, max(1000, count // _COLUMNS + 1), 26)
        tables.put(
            sheet,
            {(1 + at // _COLUMNS, 1 + at % _COLUMNS): Cell(at, "number") for at in range(count)},
        )


def _tasks(folder: Path, count: int) -> None:
    with TaskFile(folder).writing() as connection:
        connection.executemany(
            "insert into tasks (id, list, title, position, updated) values (?, 'boat', ?, ?, ?)",
            list(_task_rows(count)),
        )


def _task_rows(count: int) -> Iterator[tuple[str, str, str, str]]:
    for at in range(count):
        yield f"bench{at}", f"Task {at}", f"{at + 100:020d}", now()
