"""The sample office: always the same ids, and readable by what others have written."""

from __future__ import annotations

import csv
import mailbox
from email.header import decode_header, make_header
from pathlib import Path
from typing import Any

import icalendar
import pytest

from callblocks.core.errors import CallerError
from callblocks.toolkits.office.local.local_office import LocalOffice
from callblocks.toolkits.office.sample_office import (
    ZONE,
    calendars,
    files,
    lay_office,
    mails,
    task_lists,
)
from support.sample_offices import copy_office


@pytest.fixture
def office(tmp_path: Path) -> LocalOffice:
    return LocalOffice(copy_office(tmp_path))


def test_ids_are_the_same_in_each_office_that_is_laid(tmp_path: Path, office: LocalOffice) -> None:
    lay_office(tmp_path / "another")
    assert _ids(LocalOffice(tmp_path / "another")) == _ids(office)


def _ids(office: LocalOffice) -> list[str]:
    mail = office.mail.messages(query="", labels=(), spam_trash=True, limit=100, page="")
    drive = office.drive.files(query="", order="name", limit=100, page="")
    tasks = [
        one
        for held in office.tasks.lists(limit=9, page="").items
        for one in office.tasks.tasks(
            held["id"], completed=True, due_min="", due_max="", limit=100, page=""
        ).items
    ]
    return [one["id"] for one in (*mail.items, *drive.items, *tasks)]


def test_an_office_is_laid_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from callblocks.toolkits.office import sample_office as laying

    def fail(office: Path) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(laying, "_lay_tasks", fail)
    with pytest.raises(OSError, match="full"):
        lay_office(tmp_path / "office")
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "office").write_text("a file of that name")
    with pytest.raises(CallerError, match="is there already"):
        lay_office(tmp_path / "office")
    assert (tmp_path / "office").read_text() == "a file of that name"


def test_mails_hang_together_in_threads(office: LocalOffice) -> None:
    found = office.mail.messages(query="", labels=(), spam_trash=True, limit=100, page="")
    threads = {one["threadId"] for one in found.items}
    assert (len(found.items), len(threads)) == (15, 8)
    unread = office.mail.messages(
        query="is:unread", labels=(), spam_trash=False, limit=100, page=""
    )
    assert len(unread.items) == 4


def test_a_mail_program_reads_the_mail(office: LocalOffice) -> None:
    box = mailbox.Maildir(office.folder / "mail", create=False)
    subjects = {str(make_header(decode_header(mail["Subject"]))) for mail in box}
    assert "冬の朝食の注文について" in subjects
    assert "Gant perdu sur le bateau" in subjects
    named = {part.get_filename() for mail in box for part in mail.walk()} - {None}
    assert named == {"class-list.csv", "angebot-2217.pdf", "glove.png", "berth-plan.png"}
    assert sum("S" not in mail.get_flags() for mail in box) == 4
    texts = [
        bytes(part.get_payload(decode=True)).decode()
        for mail in box
        for part in mail.walk()
        if part.get_content_maintype() == "text"
    ]
    assert not any("\ufffd" in text for text in texts)
    assert any("retrouvé" in text for text in texts)


def test_a_calendar_library_reads_the_events(office: LocalOffice) -> None:
    found: list[Any] = [
        event
        for path in (office.folder / "calendar").rglob("*.ics")
        for event in icalendar.Calendar.from_ical(path.read_bytes()).walk("VEVENT")
    ]
    assert len(found) == sum(len(one.events) for one in calendars()) == 12
    series = next(event for event in found if event["SUMMARY"] == "Crew meeting")
    assert series["RRULE"]["FREQ"] == ["WEEKLY"]
    days = next(event for event in found if event["SUMMARY"] == "Jonas is off")
    assert str(days["DTSTART"].dt) == "2026-11-21"


def test_its_calendars_are_where_the_ferry_is(
    office: LocalOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    for calendar in calendars():
        assert office.calendars.zone(calendar.id) == ZONE
    start = office.calendars.event("primary", "dentist")["start"]
    assert start == {"dateTime": "2026-11-17T15:30:00+01:00", "timeZone": ZONE}


def test_files_lie_in_the_drive_as_they_are(office: LocalOffice) -> None:
    drive = office.folder / "drive"
    with (drive / "Timetable" / "winter-2026.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 6
    assert (drive / "Boat" / "berth-plan.png").read_bytes().startswith(b"\x89PNG")
    assert (drive / "Winter notice.md").read_text("utf-8").startswith("# Winter notice\n")
    assert len(list(drive.rglob("*"))) == len(files()) == 15


def test_the_sample_is_what_it_is_meant_to_be() -> None:
    assert len(list(mails())) == 15
    assert [len(one.tasks) for one in task_lists()] == [5, 3]
    kinds = [file.mime_type for file in files()]
    assert (kinds.count("document"), kinds.count("spreadsheet")) == (3, 2)
