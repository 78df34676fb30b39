"""What the tools write in a local office is read by programs that know nothing of callblocks."""

from __future__ import annotations

import csv
import mailbox
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import icalendar
import pytest
from dateutil.rrule import rrulestr

from callblocks.guard.files.root import Root
from callblocks.toolkits.office.local.local_office import LocalOffice
from support.google.calling import Calling
from support.sample_offices import copy_office

# Commas, quotes, UTF-8.
_CSV = "csv:Text - txt - csv (StarCalc):44,34,76,1"
EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@pytest.fixture
def office(tmp_path: Path) -> Path:
    return copy_office(tmp_path)


@pytest.fixture
def call(office: Path) -> Iterator[Calling]:
    with Root(office.parent) as root:
        yield Calling(LocalOffice(office), root)


def test_a_mail_program_reads_what_was_sent(office: Path, call: Calling) -> None:
    before = set(mailbox.Maildir(office / "mail", create=False).keys())
    call(
        "gmail_send",
        to="Camille Moreau <camille@moreau.example>, 田中 愛子 <aiko@lighthouse-inn.example>",
        subject="Retrouvé : un gant rouge",
        body="Bonjour,\n\nnous l'avons. À samedi !\n\nMara\n",
        cc="jonas@holmferry.example",
        replyTo="39cee2ad0eb327ca",
    )
    box = mailbox.Maildir(office / "mail", create=False, factory=_modern)
    (sent,) = set(box.keys()) - before
    mail: Any = box[sent]
    assert mail["Subject"] == "Retrouvé : un gant rouge"
    assert [one.display_name for one in mail["To"].addresses] == ["Camille Moreau", "田中 愛子"]
    assert mail["Cc"].addresses[0].addr_spec == "jonas@holmferry.example"
    assert mail["From"].addresses[0].addr_spec == "mara@holmferry.example"
    assert mail["In-Reply-To"] == "<10-lost-glove@holmferry.example>"
    assert mail.get_body().get_content() == "Bonjour,\n\nnous l'avons. À samedi !\n\nMara\n"
    assert mail.defects == []


def _modern(file: Any) -> Any:
    from email import message_from_binary_file
    from email.policy import default

    return message_from_binary_file(file, policy=default)


def test_a_mail_program_may_mark_and_file_mail_and_the_tools_notice(
    office: Path, call: Calling
) -> None:
    box = mailbox.Maildir(office / "mail", create=False)
    glove = next(key for key, mail in box.items() if "Gant" in mail["Subject"])
    message = box[glove]
    message.set_flags("SF")
    box[glove] = message
    found = call("gmail_search", query="is:starred from:camille")
    assert [one["id"] for one in found["messages"]] == ["39cee2ad0eb327ca"]
    assert "UNREAD" not in found["messages"][0]["labelIds"]


def test_a_calendar_library_reads_and_expands_a_series(office: Path, call: Calling) -> None:
    made = call(
        "calendar_create",
        summary="Radio check",
        start="2026-10-20T07:05:00",
        end="2026-10-20T07:10:00",
        timeZone="Europe/Copenhagen",
        recurrence=["RRULE:FREQ=WEEKLY;COUNT=3"],
        location="Harbour office",
        calendarId="crew",
    )
    calendar = icalendar.Calendar.from_ical(
        (office / "calendar" / "crew" / f"{made['id']}.ics").read_bytes()
    )
    (event,) = calendar.walk("VEVENT")
    # The clocks go back on 25 October: five past seven stays five past seven.
    assert [f"{start:%d.%m. %H:%M %z}" for start in _starts(event)] == [
        *("20.10. 07:05 +0200", "27.10. 07:05 +0100", "03.11. 07:05 +0100"),
    ]
    assert (event["SUMMARY"], event["LOCATION"]) == ("Radio check", "Harbour office")
    assert calendar.errors == []


def _starts(event: Any) -> list[datetime]:
    rule = event["RRULE"].to_ical().decode()
    return list(rrulestr(rule, dtstart=event["DTSTART"].dt))


def test_a_calendar_library_sees_one_occurrence_moved_and_an_event_cancelled(
    office: Path, call: Calling
) -> None:
    call(
        "calendar_update",
        eventId="staffmeeting_20261116T080000Z",
        start="2026-11-16T11:00:00+01:00",
        end="2026-11-16T11:45:00+01:00",
    )
    call("calendar_delete", eventId="dentist")
    folder = office / "calendar" / "primary"
    series = icalendar.Calendar.from_ical((folder / "staffmeeting.ics").read_bytes())
    events: list[Any] = series.walk("VEVENT")
    whole, moved = events
    assert len(_starts(whole)) == 8
    assert moved["RECURRENCE-ID"].dt in _starts(whole)
    assert moved["DTSTART"].dt - moved["RECURRENCE-ID"].dt == timedelta(hours=2)
    assert moved["SUMMARY"] == "Crew meeting"
    dentist = icalendar.Calendar.from_ical((folder / "dentist.ics").read_bytes())
    assert dentist.walk("VEVENT")[0]["STATUS"] == "CANCELLED"


def test_a_spreadsheet_program_reads_what_was_exported(call: Calling, tmp_path: Path) -> None:
    made = call(
        "sheets_create",
        title="Übersicht",
        values=[
            ["name", "amount", "paid", "day", "share"],
            ["Moreau, Camille", 27.5, True, "2026-11-14", "12%"],
            ['said "no"', -3, False, "2026-11-15", "50%"],
        ],
    )
    call("sheets_append", spreadsheetId=made["spreadsheetId"], range="Sheet1", values=[["冬", 0]])
    call("drive_read", fileId=made["spreadsheetId"], mimeType=EXCEL)
    ((name, content),) = call.kept.items()
    rows = _converted(tmp_path, name, content)
    assert rows[0] == ["name", "amount", "paid", "day", "share"]
    assert rows[1][:3] == ["Moreau, Camille", "27.5", "TRUE"]
    assert _day(rows[1][3]) == "2026-11-14"
    assert rows[1][4] in ("12%", "12.00%")
    assert rows[2][:3] == ['said "no"', "-3", "FALSE"]
    assert rows[3][:2] == ["冬", "0"]


def _converted(folder: Path, name: str, content: bytes) -> list[list[str]]:
    """The rows of a file, as LibreOffice understands it."""
    soffice = shutil.which("soffice")
    assert soffice is not None, "LibreOffice is needed to run the tests: scripts/setup"
    (folder / name).write_bytes(content)
    # With a profile of its own it does not wait for one that somebody else has open.
    profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
    command = [soffice, profile, "--headless", "--convert-to", _CSV, "--outdir", str(folder)]
    subprocess.run([*command, str(folder / name)], check=True, capture_output=True, timeout=120)
    with (folder / name).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def _day(text: str) -> str:
    for form in ("%Y-%m-%d", "%m/%d/%Y", "%m/%d/%y"):
        try:
            return f"{datetime.strptime(text, form):%Y-%m-%d}"
        except ValueError:
            continue
    return text


def test_a_document_is_a_text_and_a_task_a_row(office: Path, call: Calling) -> None:
    call("docs_append", documentId="winter-notice", text="Bring a scarf.")
    notice = (office / "drive" / "Winter notice.md").read_text("utf-8")
    assert notice.rstrip("\n").endswith("Warm drinks are on board.\nBring a scarf.")
    call("tasks_create", taskListId="boat", title="Check the radio", due="2026-11-28")
    with closing(sqlite3.connect(office / "tasks.sqlite")) as base:
        found = base.execute("select due from tasks where title = 'Check the radio'").fetchall()
    assert found == [("2026-11-28",)]


def test_a_file_that_a_person_puts_into_the_drive_is_found(office: Path, call: Calling) -> None:
    (office / "drive" / "Boat" / "fenders.txt").write_text("four fenders, blue")
    (found,) = call("drive_search", query="fullText contains 'fenders'")["files"]
    assert found["name"] == "fenders.txt"
    assert call("drive_read", fileId=found["id"])["text"] == "four fenders, blue"
