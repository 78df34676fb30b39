"""The local office under attack: a hostile model, hostile mails and files, and bad luck.

Whatever is given or lies in the folder, a call ends with an answer or a failure with a code, in
little memory; nothing beside the office is read, changed or deleted; and one damaged file hides
no other.
"""

from __future__ import annotations

import base64
import os
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from callblocks.core.errors import ToolError
from callblocks.guard.files.root import Root
from callblocks.toolkits.office.local import database
from callblocks.toolkits.office.local.local_office import LocalOffice
from callblocks.toolkits.search.index import PLACE, use_store
from support.google.calling import Calling, drop_mail
from support.roots import snapshot

FOLDER = "application/vnd.google-apps.folder"
LARGEST = 25 * 1024 * 1024
HEAD = b"From: ada@example.org\r\nSubject: hostile\r\nDate: Mon, 1 Jan 2024 00:00:00 +0000\r\n"
DAY = {"summary": "meeting", "start": "2026-01-01", "end": "2026-01-02"}


class World:
    """An office in a workspace, and beside it what must stay as it is."""

    def __init__(self, base: Path, root: Root) -> None:
        self.outside = base / "outside"
        self.workspace = base / "workspace"
        self.office = self.workspace / "office"
        self.call = Calling(LocalOffice(self.office), root)
        self.victim = self.outside / "secret"

    def again(self) -> Calling:
        """The same office, as another process finds it."""
        return Calling(LocalOffice(self.office), self.call.root)

    def put(self, path: str, content: bytes) -> Path:
        place = self.office / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        return place

    def preview(self, tool: str, **given: Any) -> str:
        """What a person is shown; a preview fails as the call would, and in no other way."""
        try:
            return self.call.preview(tool, **given)
        except ToolError as error:
            return f"this would fail: {error.code}"

    def id_of(self, name: str) -> str:
        files = self.call("drive_list", maxResults=100)["files"]
        return next(file["id"] for file in files if file["name"] == name)


@pytest.fixture
def world() -> Iterator[World]:
    with made() as world:
        before = snapshot(world.outside)
        yield world
        assert snapshot(world.outside) == before


@contextmanager
def made() -> Iterator[World]:
    # In memory: thousands of flushed writes would wear a disk.
    base = Path(tempfile.mkdtemp(prefix="callblocks-office-", dir="/dev/shm"))
    try:
        (base / "workspace").mkdir()
        (base / "outside").mkdir()
        (base / "outside" / "secret").write_text("precious")
        with Root(base / "workspace") as root:
            yield World(base, root)
    finally:
        shutil.rmtree(base)


# What lies beside an SQLite file.


def naming_journal(victim: Path) -> bytes:
    """A journal that SQLite plays back, and that names a file to be deleted then."""
    name = os.fsencode(str(victim))
    check = sum(byte if byte < 128 else byte - 256 for byte in name) & 0xFFFFFFFF
    magic = bytes.fromhex("d9d505f920a163d7")
    head = (magic + struct.pack(">IIIII", 0, 0, 1, 512, 4096)).ljust(512, b"\0")
    return head + struct.pack(">I", 0) + name + struct.pack(">II", len(name), check) + magic


DATABASES = {
    "tasks.sqlite": ("tasks_list", {}),
    "drive.sqlite": ("drive_list", {}),
    "drive/S.sheet": ("sheets_read", {"range": "A1"}),
    ".index/mail.sqlite": ("gmail_list", {}),
    ".index/calendar.sqlite": ("calendar_events", {}),
    ".index/drive-texts.sqlite": ("drive_search", {"query": "fullText contains 'word'"}),
}


class Filled(NamedTuple):
    """An office with something in each service, to be copied; `sheet` is a spreadsheet's id."""

    office: Path
    sheet: str


@pytest.fixture(scope="module")
def filled() -> Iterator[Filled]:
    with made() as world:
        call = world.call
        call("tasks_create", taskListId="@default", title="buy milk")
        call("drive_create", name="a.txt", content="a word")
        call("gmail_send", to="ada@example.org", subject="hello", body="text")
        call("calendar_create", **DAY)
        sheet = call("sheets_create", title="S", values=[["cell"]])["spreadsheetId"]
        for name in DATABASES:
            assert asked(call, name, sheet) == ""
        yield Filled(world.office, str(sheet))


@pytest.fixture
def sheet(world: World, filled: Filled) -> str:
    """The world's office has something in each service; the id of a spreadsheet."""
    shutil.copytree(filled.office, world.office)
    return filled.sheet


def asked(call: Calling, name: str, sheet: str) -> str:
    """Ask what needs this database; "" or the code of the failure."""
    tool, given = DATABASES[name]
    try:
        call(tool, **given, **({"spreadsheetId": sheet} if tool == "sheets_read" else {}))
    except ToolError as error:
        return error.code
    return ""


@pytest.mark.parametrize("name", DATABASES)
def test_a_planted_journal_deletes_no_file_of_the_user(world: World, sheet: str, name: str) -> None:
    (world.office / f"{name}-journal").write_bytes(naming_journal(world.victim))
    assert asked(world.again(), name, sheet) in ("", "workspace_damaged")
    assert world.victim.read_text() == "precious"


def test_a_planted_journal_of_the_search_index_deletes_nothing(world: World, sheet: str) -> None:
    def ask(store: sqlite3.Connection) -> int:
        return int(store.execute("select 1").fetchone()[0])

    assert sheet
    assert use_store(world.call.root, ask) == 1
    place = world.workspace / f"{PLACE}-journal"
    place.write_bytes(naming_journal(world.victim))
    assert use_store(world.call.root, ask) == 1
    assert world.victim.read_text() == "precious"


@pytest.mark.parametrize("ending", ["-journal", "-wal", "-shm"])
@pytest.mark.parametrize("name", DATABASES)
def test_nothing_is_written_through_a_link_beside_a_database(
    world: World, sheet: str, name: str, ending: str
) -> None:
    (world.office / f"{name}{ending}").symlink_to(world.outside / "new")
    assert asked(world.again(), name, sheet) in ("", "workspace_damaged")


def test_a_long_name_does_not_become_the_journal_of_a_spreadsheet(world: World) -> None:
    title = "ä" * 116 + "a"  # so that the cut of a long name falls right behind the ending
    sheet = world.call("sheets_create", title=title, values=[["cell"]])["spreadsheetId"]
    planted = base64.b64encode(naming_journal(world.victim)).decode()
    name = f"{title}.sheet-journal{'b' * 100}"
    world.call("drive_create", name=name, content=planted, encoding="base64")
    assert world.call("sheets_read", spreadsheetId=sheet, range="A1")["values"] == [["cell"]]
    assert len(world.call("drive_list")["files"]) == 2
    assert world.victim.exists()


@pytest.mark.parametrize("name", DATABASES)
@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_what_is_no_file_in_place_of_a_database_stops_nothing(
    world: World, sheet: str, name: str, kind: str
) -> None:
    place = world.office / name
    place.unlink()
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        os.mknod(place, 0o20600, os.makedev(1, 3))
    codes = ("", "workspace_damaged", "file_error", "not_found")
    assert asked(world.again(), name, sheet) in codes


@pytest.mark.parametrize("name", DATABASES)
@pytest.mark.parametrize("how", ["no tables", "wrong tables", "schema is no text", "cut", "zeros"])
def test_a_damaged_database_is_said_or_made_anew(
    world: World, sheet: str, name: str, how: str
) -> None:
    place = world.office / name
    raw = place.read_bytes()
    if how == "cut":
        place.write_bytes(raw[: len(raw) // 2])
    elif how == "zeros":
        place.write_bytes(raw[:1024] + bytes(len(raw) - 1024))
    elif how == "schema is no text":
        place.write_bytes(
            raw.replace(b"CREATE", b"\xff\xfe\xfd\xfcTE").replace(b"create", b"\xff" * 6)
        )
    else:
        place.unlink()
        with sqlite3.connect(place) as base:
            base.execute("PRAGMA user_version = 1")
            if how == "wrong tables":
                for table in ("message", "files", "series", "state", "tasks", "lists", "cells"):
                    base.execute(f"CREATE TABLE {table} (x)")
        base.close()
    codes = ("", "workspace_damaged", "not_found", "busy")
    assert asked(world.again(), name, sheet) in codes
    if name.startswith(".index") or name == "drive.sqlite":
        assert asked(world.again(), name, sheet) in ("", "not_found")


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("tasks_create", {"taskListId": "@default", "title": "x"}),
        ("drive_create", {"name": "x", "content": "x"}),
        ("docs_create", {"title": "x"}),
        ("sheets_create", {"title": "x"}),
        ("calendar_create", DAY),
        ("gmail_send", {"to": "ada@example.org", "subject": "x", "body": "x"}),
    ],
)
def test_an_office_that_is_a_link_is_not_followed(
    world: World, tool: str, given: dict[str, Any]
) -> None:
    world.office.symlink_to(world.outside)
    assert world.call.failure(tool, **given) in ("workspace_damaged", "wrong_file_type")


# Mail.


@pytest.mark.parametrize(
    "raw",
    [
        b"Content-Type: text/html\r\n\r\n&#" + b"1" * 6000 + b";",
        b"Content-Type: text/plain; charset=punycode\r\n\r\n\xff" + b"az9" * 9000,
        b"X: y\r\n" * 30_000 + b"\r\nx",
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + b"--b\r\n\r\nx\r\n" * 5_000,
        b"Content-Type: message/rfc822\r\n\r\n" * 2_000 + b"x",
        b"Content-Type: text/plain" + b";a=1" * 3_000 + b"\r\n\r\nx",
        b"Content-Type: text/plain; name*" + b"9" * 5000 + b"*=utf-8''x\r\n\r\nx",
        b"X-Gmail-Labels: a\x1fINBOX,\xff,\0\r\n\r\nx",
        b"Subject: " + b"=?a?q?" * 3_000 + b"\r\n\r\nx",
        b"Date: Mon, 1 Jan 99999 00:00:00 +99999999\r\n\r\nx",
        b"\0" * 100_000,
    ],
    ids=lambda raw: raw[:24].decode(errors="replace"),
)
def test_a_hostile_mail_hides_no_other(world: World, raw: bytes) -> None:
    drop_mail(world.office / "mail", HEAD + raw)
    drop_mail(world.office / "mail", b"From: bob@example.org\r\nSubject: plain\r\n\r\nhello")
    listed = world.call("gmail_list")["messages"]
    assert "plain" in [one["headers"]["Subject"] for one in listed]
    assert world.call.context.taints
    for one in listed:
        world.call("gmail_read", messageId=one["id"])


@pytest.mark.usefixtures("sheet")
@pytest.mark.parametrize(
    "query", ["a " * 900, "{" + "a " * 900 + "}", "-a " * 600, "😀 " * 900, "from:a " * 200]
)
def test_a_search_of_very_many_words_is_refused(world: World, query: str) -> None:
    assert world.call.failure("gmail_search", query=query) == "invalid_input"


@pytest.mark.usefixtures("sheet")
@pytest.mark.parametrize(
    "query",
    ["fullText contains '" + " ".join(map(str, range(1500))) + "'", "(" * 3000 + "name='a'"],
)
def test_a_search_for_very_many_words_of_files_is_refused(world: World, query: str) -> None:
    assert world.call.failure("drive_search", query=query) == "invalid_input"


@pytest.mark.usefixtures("sheet")
def test_a_nul_in_a_search_for_files_is_no_damage(world: World) -> None:
    assert len(world.call("drive_search", query="fullText contains 'a\0word'")["files"]) == 1


@pytest.mark.parametrize(
    "to",
    [
        "ada@example.org\r\nBcc: eve@example.org",
        "friends: ada@example.org, eve@example.org;",
        '"ada lovelace"@example.org',
        "ada@example.org <eve@example.org>",
        "ada@[127.0.0.1]",
        "x\u202ey <ada@example.org>",
        "ａda@example.org",
        "ada@" + "é" * 300 + ".org",
    ],
)
def test_an_address_with_a_trick_is_refused(world: World, to: str) -> None:
    given = {"to": to, "subject": "s", "body": "b"}
    assert world.call.failure("gmail_send", **given) == "invalid_input"
    assert "this would fail" in world.preview("gmail_send", **given)


def test_an_encoded_subject_adds_no_header(world: World) -> None:
    subject = "=?utf-8?q?x=0d=0aBcc:_eve@example.org?="
    world.call("gmail_send", to="ada@example.org", subject=subject, body="b")
    (sent,) = world.call("gmail_list")["messages"]
    assert sent["headers"]["Subject"] == subject
    assert "Bcc" not in sent["headers"]


@pytest.mark.parametrize("html", ["&#" + "1" * 5000 + ";", "<a href='&#" + "9" * 4500 + ";'>x</a>"])
def test_a_number_of_thousands_of_digits_is_text(world: World, html: str) -> None:
    given = {"to": "ada@example.org", "subject": "s", "body": "", "html": html}
    assert html in world.preview("gmail_send", **given)
    assert world.call("gmail_send", **given)["labelIds"] == ["SENT"]


def test_no_more_is_attached_than_can_be_sent(world: World) -> None:
    with (world.workspace / "big.bin").open("wb") as file:
        file.truncate(12 * 1024 * 1024)
    read: list[str] = []
    reading = world.call.root.read

    def counted(path: str, limit: int) -> bytes:
        read.append(path)
        return reading(path, limit)

    world.call.root.read = counted  # type: ignore[method-assign]
    given = {"to": "ada@example.org", "subject": "s", "body": "b"}
    code = world.call.failure("gmail_send", **given, attachments=["big.bin"] * 100)
    assert (code, len(read)) == ("file_too_large", 2)


@pytest.mark.parametrize("path", ["../outside/secret", "link/secret", "/etc/passwd", "link"])
def test_nothing_from_outside_is_attached(world: World, path: str) -> None:
    (world.workspace / "link").symlink_to(world.outside)
    given = {"to": "ada@example.org", "subject": "s", "body": "b", "attachments": [path]}
    assert world.call.failure("gmail_send", **given) in ("unsafe_path", "wrong_file_type")


def test_a_mail_is_sent_also_where_the_index_cannot_say_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(_self: object, _id: str) -> object:
        raise ToolError("busy", "the index is held")

    monkeypatch.setattr("callblocks.toolkits.office.local.mail.mail.LocalMail._row", busy)
    assert world.call("gmail_send", to="ada@example.org", subject="s", body="b")["id"]


# The drive and documents.


def test_no_folder_is_made_where_it_would_not_be_seen_again(world: World) -> None:
    deep = world.office / "drive" / "/".join("d" * 127)
    deep.mkdir(parents=True)
    folder = "root"
    for _ in range(127):
        (one,) = world.call("drive_list", folderId=folder)["files"]
        folder = one["id"]
    last = world.call("drive_create", name="last", mimeType=FOLDER, folderId=folder)["id"]
    file = world.call("drive_create", name="a.txt", content="a", folderId=last)["id"]
    assert world.call("drive_read", fileId=file)["text"] == "a"
    deeper = {"name": "deeper", "mimeType": FOLDER}
    assert world.call.failure("drive_create", **deeper, folderId=last) == "invalid_input"
    high = world.call("drive_create", **deeper)["id"]
    assert world.call.failure("drive_update", fileId=high, folderId=last) == "invalid_input"


def test_what_goes_to_the_trash_goes_to_no_folder(world: World) -> None:
    folder = world.call("drive_create", name="f", mimeType=FOLDER)["id"]
    file = world.call("drive_create", name="a.txt", content="a")["id"]
    given = {"fileId": file, "folderId": folder, "trashed": True}
    assert "this would fail" in world.preview("drive_update", **given)
    assert world.call.failure("drive_update", **given) == "invalid_input"


@pytest.mark.parametrize("kind", ["link", "link to a folder", "pipe", "device"])
def test_only_files_of_the_drive_are_read(world: World, kind: str) -> None:
    place = world.put("drive/a.txt", b"a").with_name("odd.txt")
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "device":
        os.mknod(place, 0o20600, os.makedev(1, 5))
    else:
        place.symlink_to(world.victim if kind == "link" else world.outside)
    assert [one["name"] for one in world.call("drive_list")["files"]] == ["a.txt"]
    assert world.call("drive_search", query="fullText contains 'precious'")["files"] == []


def test_a_file_that_became_a_link_is_not_followed(world: World) -> None:
    file = world.call("drive_create", name="a.txt", content="a")["id"]
    place = world.office / "drive" / "a.txt"
    place.unlink()
    place.symlink_to(world.victim)
    for tool, given in (
        ("drive_read", {}),
        ("drive_update", {"content": "overwritten"}),
        ("drive_delete", {"permanent": True}),
    ):
        assert world.call.failure(tool, fileId=file, **given) == "not_found"


def test_the_end_of_a_file_that_is_too_large_is_not_lost(world: World) -> None:
    place = world.put("drive/log.txt", b"old " + b"x" * LARGEST)
    file = world.id_of("log.txt")
    given = {"documentId": file, "findText": "old", "replaceText": "new"}
    assert world.call.failure("docs_replace", **given) == "file_too_large"
    assert place.stat().st_size == LARGEST + 4


def test_a_document_does_not_grow_past_what_can_be_read(world: World) -> None:
    text = "q" * 14_000_000
    document = world.call("docs_create", title="D", text=text)["documentId"]
    assert world.call.failure("docs_append", documentId=document, text=text) == "file_too_large"
    assert world.call("drive_read", fileId=document)["text"].strip() == text


def test_a_replacement_does_not_fill_the_memory(world: World) -> None:
    document = world.call("docs_create", title="D", text="a" * 100_000)["documentId"]
    given = {"documentId": document, "findText": "a", "replaceText": "b" * 1_000_000}
    assert "file_too_large" in world.preview("docs_replace", **given)
    assert world.call.failure("docs_replace", **given) == "file_too_large"


def test_a_file_of_line_breaks_is_no_document_to_be_read(world: World) -> None:
    world.put("drive/breaks.txt", b"\n" * 2_000_000)
    assert world.call.failure("docs_read", documentId=world.id_of("breaks.txt")) == "file_too_large"


def test_the_preview_of_a_replacement_is_what_happens(world: World) -> None:
    document = world.call("docs_create", title="D", text="x\n\ny")["documentId"]
    given = {"documentId": document, "findText": "\n", "replaceText": "|"}
    assert "+x||y\n" in world.preview("docs_replace", **given)
    world.call("docs_replace", **given)
    assert world.call("docs_read", documentId=document)["text"] == "x||y"


def test_the_preview_of_a_huge_file_says_that_all_of_it_goes(world: World) -> None:
    with world.put("drive/huge.bin", b"").open("wb") as file:
        file.truncate(1 << 40)
    preview = world.preview("drive_update", fileId=world.id_of("huge.bin"), content="x")
    assert f"{1 << 40} bytes, is replaced" in preview


@pytest.mark.parametrize("name", ["..", "a/../../b", ".git/hooks", "~", "\\\\host\\x", "a\0b"])
def test_no_name_leaves_the_drive(world: World, name: str) -> None:
    file = world.call("drive_create", name=name, content="x")["id"]
    assert world.call("drive_read", fileId=file)["text"] == "x"
    assert len(list((world.office / "drive").iterdir())) == 1
    assert sorted(one.name for one in world.workspace.iterdir()) == ["office"]


# Calendars.


def ics(*lines: str, uid: str = "hostile1") -> bytes:
    return "\r\n".join(
        ("BEGIN:VCALENDAR", "BEGIN:VEVENT", f"UID:{uid}", *lines, "END:VEVENT", "END:VCALENDAR", "")
    ).encode()


def numbers(end: int) -> str:
    return ",".join(map(str, range(end)))


TIMES = f"BYHOUR={numbers(24)};BYMINUTE={numbers(60)};BYSECOND={numbers(60)}"
START = "DTSTART:20260101T100000Z"


@pytest.mark.parametrize(
    "content",
    [
        b"BEGIN:VCALENDAR\r\n" + b"BEGIN:VTIMEZONE\n" * 12_000,
        b"BEGIN:VCALENDAR\r\nBEGIN:VTIMEZONE\n" + b"TZID:x\n" * 8_000,
        b"BEGIN:VCALENDAR\r\n" * 5_000,
        ics("DTSTART;TZID=/" + "a/" * 3000 + ":20260101T100000"),
        ics("DTSTART;TZID=../../../../etc/passwd:20260101T100000"),
        ics(START, f"RRULE:FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;{TIMES}"),
        ics(START, "RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"),
        ics(START, "RRULE:FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30"),
        ics("DTSTART:00010101T000000Z", "DTEND:99991231T235959Z", "RRULE:FREQ=DAILY"),
        ics("DTSTART:99991231T235959Z", "DURATION:P9999999D"),
        ics("DTSTART;TZID=Asia/Tokyo:00010101T000000", "RRULE:FREQ=YEARLY;BYWEEKNO=1"),
        ics(START, "RECURRENCE-ID:99991231T235959Z"),
        b"\xff\xfe\0",
    ],
    ids=range(13),
)
def test_a_hostile_calendar_file_hides_no_other(world: World, content: bytes) -> None:
    world.put("calendar/primary/hostile.ics", content)
    world.put("calendar/primary/plain.ics", ics(START, "SUMMARY:plain", uid="plain1"))
    given = {"timeMin": "2026-01-01", "timeMax": "2026-01-03", "maxResults": 100}
    for single in (True, False):
        items = world.call("calendar_events", singleEvents=single, **given)["items"]
        assert "plain" in [one.get("summary") for one in items]


def test_names_that_are_no_text_hide_no_event(world: World) -> None:
    world.put("calendar/primary/plain.ics", ics(START, "SUMMARY:plain"))
    folder = os.fsencode(world.office / "calendar")
    os.mkdir(folder + b"/\xff")
    os.link(folder + b"/primary/plain.ics", folder + b"/primary/\xff.ics")
    (one,) = world.call("calendar_events", timeMin="2026-01-01")["items"]
    assert one["summary"] == "plain"
    assert [one["id"] for one in world.call("calendar_list")["items"]] == ["primary"]


@pytest.mark.parametrize("field", ["summary", "description", "location"])
def test_no_text_ends_the_event_that_it_stands_in(world: World, field: str) -> None:
    text = "a\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nUID:x\r\nDTSTART:20260101\r\nSUMMARY:x"
    world.call("calendar_create", **DAY | {field: text})
    (one,) = world.call("calendar_events", timeMin="2026-01-01")["items"]
    assert one[field] == text.replace("\r\n", "\n")


@pytest.mark.parametrize(
    "name", ['x"\r\nATTENDEE:mailto:eve@example.org', 'x";CN=y:mailto:e@e.org']
)
def test_no_name_invites_another(world: World, name: str) -> None:
    people = [{"email": "ada@example.org", "displayName": name}]
    made = world.call("calendar_create", **DAY, attendees=people)
    assert [one["email"] for one in made["attendees"]] == ["ada@example.org"]


@pytest.mark.parametrize(
    "recurrence",
    [
        f"RRULE:FREQ=YEARLY;{TIMES}",
        "RRULE:FREQ=DAILY;COUNT=999999999999",
        "RRULE:FREQ=DAILY\r\nATTENDEE:mailto:eve@example.org",
        "EXDATE;TZID=../../etc/passwd:20260101T000000",
        "RDATE:" + ",".join(["20260101"] * 50_000),
    ],
)
def test_an_absurd_rule_is_refused(world: World, recurrence: str) -> None:
    assert world.call.failure("calendar_create", **DAY, recurrence=recurrence) == "invalid_input"


# Spreadsheets and tasks.

SHEETS = (
    "create table sheets (id integer primary key, title, position, rows, columns);"
    "insert into sheets values (1, 'S', 0, 1000, 26);"
)
CELLS = "create table cells (sheet, row, col, value, kind, pattern);"
MANY = "with recursive n (i) as (values (1) union all select i + 1 from n where i < {}) "


@pytest.mark.parametrize(
    ("sql", "codes"),
    [
        (
            "create table cells (sheet, row, col, value as (zeroblob(900000000)), kind, pattern);"
            "insert into cells (sheet, row, col) values (1, 1, 1)",
            ("workspace_damaged",),
        ),
        (
            CELLS + "insert into cells values (1, 1, 1, zeroblob(2000000), 'text', '')",
            ("workspace_damaged",),
        ),
        (
            CELLS
            + MANY.format(40)
            + "insert into cells select 1, i, 1, zeroblob(900000), 'text', '' from n",
            ("invalid_input",),
        ),
        (
            "create virtual table cells using fts5 (sheet, row, col, value, kind, pattern)",
            ("workspace_damaged",),
        ),
        ("create view cells as select 1", ("workspace_damaged",)),
        (
            CELLS + "create trigger t after insert on cells begin select 1; end",
            ("workspace_damaged",),
        ),
        (
            CELLS + "insert into cells values (1, 1, 1, cast(x'ff41' as text), 'text', '')",
            ("workspace_damaged",),
        ),
        ("select 1", ("workspace_damaged",)),
        (
            CELLS
            + MANY.format(30_000)
            + "insert into cells select 1, 1, 1, 1, 'number', '' from n",
            ("",),
        ),
        (
            CELLS
            + "insert into cells values (1, 1, 1, 9e999, null, x'ff'), (1, 'a', 1.5, 1, 2, 3)",
            ("",),
        ),
    ],
    ids=range(10),
)
def test_a_hostile_spreadsheet_is_said_to_be_one(
    world: World, sql: str, codes: tuple[str, ...]
) -> None:
    base = sqlite3.connect(world.put("drive/h.sheet", b""))
    base.executescript(SHEETS + sql)
    base.close()
    sheet = world.id_of("h")
    for tool, given in (
        ("sheets_read", {"spreadsheetId": sheet, "range": "A1:Z"}),
        ("drive_read", {"fileId": sheet}),
    ):
        assert code_of(lambda: world.call(tool, **given)) in codes  # noqa: B023 called at once
    world.preview("sheets_clear", spreadsheetId=sheet, range="A1:Z")
    world.preview("sheets_write", spreadsheetId=sheet, range="A1", values=[["x"]])


@pytest.mark.parametrize("whole", [False, True], ids=["file", "folder"])
def test_a_spreadsheet_that_becomes_a_link_while_it_is_opened_is_not_used(
    world: World, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    base = sqlite3.connect(world.put("drive/open/h.sheet", b""))
    base.executescript(SHEETS + CELLS)
    base.close()
    folder = world.id_of("open")
    (file,) = world.call("drive_list", folderId=folder)["files"]
    sheet = file["id"]
    world.put("drive/secret/h.sheet", (world.office / "drive/open/h.sheet").read_bytes())
    drive, connect = world.office / "drive", database._connect
    kept = (drive / "secret/h.sheet").read_bytes()

    def turn_and_connect(path: Path) -> sqlite3.Connection:
        place = drive / ("open" if whole else "open/h.sheet")
        if path.suffix == ".sheet" and not place.is_symlink():
            place.rename(drive / "gone")
            place.symlink_to(drive / ("secret" if whole else "secret/h.sheet"))
        return connect(path)

    monkeypatch.setattr(database, "_connect", turn_and_connect)
    given = {"spreadsheetId": sheet, "range": "A1"}
    assert code_of(lambda: world.call("sheets_write", **given, values=[["x"]])) == "path_changed"
    assert (drive / "secret/h.sheet").read_bytes() == kept


def code_of(run: Callable[[], object]) -> str:
    try:
        run()
    except ToolError as error:
        return error.code
    return ""


@pytest.mark.parametrize(
    "place", ["A0", "A1:A1:A1", "A" + "9" * 150, "x'; drop table cells; --!A1"]
)
def test_a_range_that_is_none_is_refused(world: World, place: str) -> None:
    sheet = world.call("sheets_create", title="S", values=[["cell"]])["spreadsheetId"]
    assert world.call.failure("sheets_read", spreadsheetId=sheet, range=place) == "invalid_input"
    assert world.call("sheets_read", spreadsheetId=sheet, range="A1")["values"] == [["cell"]]


def test_tasks_are_not_put_deeper_than_they_are_listed(world: World) -> None:
    parent = ""
    for _ in range(100):
        given = {"taskListId": "@default", "title": "t", "parent": parent}
        parent = world.call("tasks_create", **given)["id"]
    assert len(world.call("tasks_list", maxResults=100)["items"]) == 100
    given = {"taskListId": "@default", "title": "t", "parent": parent}
    assert world.call.failure("tasks_create", **given) == "invalid_input"


def test_tasks_in_a_circle_can_be_asked_for_and_deleted(world: World) -> None:
    first = world.call("tasks_create", taskListId="@default", title="a")["id"]
    given = {"taskListId": "@default", "title": "b", "parent": first}
    second = world.call("tasks_create", **given)["id"]
    with sqlite3.connect(world.office / "tasks.sqlite") as base:
        base.execute("update tasks set parent = ? where id = ?", (second, first))
    base.close()
    world.call("tasks_list")
    given["parent"] = second
    assert world.call.failure("tasks_create", **given) == "invalid_input"
    assert world.call("tasks_delete", taskListId="@default", taskId=first)["deleted"]


# Ids and tokens that nobody gave.

FORGED = ["../x", "/etc/passwd", "\0", "%", "*", "root/..", "é", "trash", "9" * 190]
BY_ID = [
    ("gmail_read", "messageId", {}),
    ("drive_read", "fileId", {}),
    ("drive_list", "folderId", {}),
    ("drive_update", "fileId", {"content": "x"}),
    ("drive_delete", "fileId", {"permanent": True}),
    ("docs_replace", "documentId", {"findText": "a", "replaceText": "b"}),
    ("sheets_clear", "spreadsheetId", {"range": "A1"}),
    ("tasks_delete", "taskId", {"taskListId": "@default"}),
    ("tasks_list", "taskListId", {}),
    ("calendar_events", "calendarId", {}),
    ("calendar_delete", "eventId", {}),
    ("calendar_create", "calendarId", DAY),
    ("gmail_send", "replyTo", {"to": "ada@example.org", "subject": "s", "body": "b"}),
]


@pytest.mark.usefixtures("sheet")
@pytest.mark.parametrize(("tool", "field", "given"), BY_ID, ids=[one[0] for one in BY_ID])
def test_a_forged_id_finds_nothing(
    world: World, tool: str, field: str, given: dict[str, Any]
) -> None:
    before = snapshot(world.office / "drive")
    for forged in FORGED:
        code = world.call.failure(tool, **given, **{field: forged})
        assert code in ("not_found", "invalid_input"), forged
        if world.call.tool(tool).preview is not None:
            world.preview(tool, **given, **{field: forged})
    assert snapshot(world.office / "drive") == before


@pytest.mark.usefixtures("sheet")
@pytest.mark.parametrize(
    "tool", ["gmail_list", "drive_list", "calendar_list", "calendar_events", "tasks_list"]
)
def test_a_forged_page_token_is_refused_or_the_end(world: World, tool: str) -> None:
    tokens = ("x", "AAAA", "-1", "\0", "é", "9" * 5000)
    tokens += tuple(
        base64.urlsafe_b64encode(f"{moment} x".encode()).decode().rstrip("=")
        for moment in ("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59")
    )
    for token in tokens:
        assert code_of(lambda: world.call(tool, pageToken=token)) in ("", "invalid_input")  # noqa: B023 called at once


# Two processes, and a sudden end.

WRITER = """
    import sys
    from pathlib import Path
    from callblocks.toolkits.office.local.local_office import LocalOffice

    office, tag = LocalOffice(Path(sys.argv[1])), sys.argv[2]
    sheet, document = sys.argv[3:]
    for number in range(1_000_000):
        name = f"{tag}{number}"
        at = {"dateTime": "2026-01-01T10:00:00+00:00", "timeZone": "UTC"}
        office.mail.send(f"To: a@example.org\\r\\nSubject: {name}\\r\\n\\r\\nx".encode(), "")
        office.drive.create({"name": name}, name.encode())
        office.documents.append(document, f"\\n{name}")
        event = {"summary": name, "start": at, "end": at}
        office.calendars.create("primary", event, notify="none")
        office.sheets.append(sheet, "A1", [[name]], entered="RAW")
        office.tasks.create("@default", {"title": name}, parent="", previous="")
        print(name, flush=True)
"""


def test_what_was_acknowledged_outlives_kills_of_two_writers(world: World, sheet: str) -> None:
    document = world.call("docs_create", title="D", text="start")["documentId"]
    said: set[str] = set()
    for turn in range(2):
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", textwrap.dedent(WRITER), world.office, tag, sheet, document],
                stdout=subprocess.PIPE,
                text=True,
            )
            for tag in (f"{turn}a", f"{turn}b")
        ]
        for writer in writers:
            assert writer.stdout is not None
            with writer, writer.stdout as lines:
                said.update(lines.readline().strip() for _ in range(4 + turn))
                writer.send_signal(signal.SIGKILL)
                said.update(line.strip() for line in lines if line.endswith("\n"))
    call = world.again()
    assert said <= set(call("docs_read", documentId=document)["text"].split("\n"))
    rows = call("sheets_read", spreadsheetId=sheet, range="A1:A")["values"]
    assert said <= {row[0] for row in rows if row}
    for tool, key, name_of, given in LISTS:
        assert said <= {name_of(one) for one in all_of(call, tool, key, given)}, tool
    others = [place for place in world.office.rglob("*") if place.stat().st_mode & 0o077]
    assert others == []


LISTS: list[tuple[str, str, Callable[[Any], str], dict[str, Any]]] = [
    ("gmail_list", "messages", lambda one: one["headers"]["Subject"], {}),
    ("drive_list", "files", lambda one: one["name"], {}),
    ("calendar_events", "items", lambda one: one["summary"], {"timeMin": "2025-12-31"}),
    ("tasks_list", "items", lambda one: one["title"], {}),
]


def all_of(call: Calling, tool: str, key: str, given: dict[str, Any]) -> Iterator[Any]:
    token = ""
    while True:
        page = call(tool, **given, maxResults=100, pageToken=token)
        yield from page[key]
        token = page.get("nextPageToken", "")
        if not token:
            return
