"""Mail in a folder: what programs beside us see, and what is broken there."""

from __future__ import annotations

import mailbox
import os
import sqlite3
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callblocks.core.errors import ToolError
from callblocks.guard.files.root import Root
from callblocks.toolkits.office.local.local_office import LocalOffice
from callblocks.toolkits.office.local.mail.mail import LocalMail
from callblocks.toolkits.office.tools.mail_tools import gmail_tools
from callblocks.tools.tool import Context
from support.google.calling import drop_mail
from support.mails import mail

RAW = b"To: bob@example.com\r\nSubject: Hi\r\n\r\nhello\r\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "office"


@pytest.fixture
def box(folder: Path) -> LocalMail:
    return LocalMail(folder)


@pytest.fixture
def receive(folder: Path) -> Callable[[bytes], None]:
    return lambda raw: drop_mail(folder / "mail", raw)


Receive = Callable[[bytes], None]


def code_of(run: Callable[[], object]) -> str:
    with pytest.raises(ToolError) as raised:
        run()
    return raised.value.code


def subjects(box: LocalMail, query: str = "", *labels: str, **given: Any) -> list[str]:
    wanted = {"spam_trash": False, "limit": 50, "page": "", **given}
    items = box.messages(query=query, labels=labels, **wanted).items
    headers = ({one["name"]: one["value"] for one in item["payload"]["headers"]} for item in items)
    return [one.get("Subject", "") for one in headers]


def file_of(folder: Path, start: str = "") -> Path:
    found = [path for path in (folder / "mail").rglob("*") if path.is_file()]
    return next(path for path in found if path.name.startswith(start))


def test_reading_makes_no_office(folder: Path, box: LocalMail) -> None:
    assert subjects(box) == []
    assert box.address() == "me@localhost"
    assert "INBOX" in {one["id"] for one in box.labels()}
    with pytest.raises(ToolError, match="no message has the id"):
        box.message("f" * 16)
    with pytest.raises(ToolError, match="no thread has the id"):
        box.thread("f" * 16)
    assert not folder.exists()


def test_a_mail_program_reads_what_was_sent(folder: Path, box: LocalMail) -> None:
    sent = box.send(RAW, "")
    box.send(RAW.replace(b"bob@example.com", b"me@localhost"), "")
    maildir = mailbox.Maildir(folder / "mail", create=False)
    found = {str(one["To"]): one for one in maildir}
    seen, new = found["bob@example.com"], found["me@localhost"]
    assert (seen.get_subdir(), seen.get_flags()) == ("cur", "S")
    assert (new.get_subdir(), new.get_flags()) == ("new", "")
    assert seen["From"] == "me@localhost"
    assert seen["Subject"] == "Hi"
    assert seen["Message-ID"].endswith("@localhost>")
    assert seen["X-Gmail-Labels"] == "Sent"
    assert new["X-Gmail-Labels"] == "Sent,Inbox,Unread"
    assert seen.get_payload() == "hello\n"
    assert box.message(sent["id"])["labelIds"] == ["SENT"]
    maildir.close()


def test_files_are_the_persons_alone(folder: Path, box: LocalMail) -> None:
    box.send(RAW, "")
    for path in (folder, *folder.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path
    assert os.listdir(folder / "mail" / "tmp") == []


def test_a_mail_program_marks_moves_and_deletes(
    folder: Path, box: LocalMail, receive: Receive
) -> None:
    receive(mail("One"))
    receive(mail("Two", date="Tue, 06 Jan 2026 12:00:00 +0000"))
    before = {one["id"]: one for one in _items(box)}
    assert subjects(box, "is:unread") == ["Two", "One"]
    maildir = mailbox.Maildir(folder / "mail", create=False)
    for key in list(maildir.keys()):
        message = maildir[key]
        message.set_subdir("cur")
        message.set_flags("FS" if message["Subject"] == "One" else "T")
        maildir[key] = message
    assert subjects(box, "is:starred is:read") == ["One"]
    assert subjects(box) == ["One"]
    assert subjects(box, "in:trash") == ["Two"]
    assert {one["id"] for one in _items(box)} < set(before)
    for key in list(maildir.keys()):
        maildir.remove(key)
    assert subjects(box, "in:anywhere") == []
    maildir.close()


def _items(box: LocalMail) -> list[dict[str, Any]]:
    return box.messages(query="", labels=(), spam_trash=False, limit=9, page="").items


@pytest.mark.parametrize(
    ("name", "header", "labels"),
    [
        ("new/1.a", None, ["INBOX", "UNREAD"]),
        ("cur/1.a:2,", None, ["INBOX", "UNREAD"]),
        ("cur/1.a:2,S", None, ["INBOX"]),
        ("cur/1.a:2,FS", None, ["INBOX", "STARRED"]),
        ("cur/1.a:2,DS", None, ["DRAFT"]),
        ("cur/1.a:2,ST", "Inbox,Trips", ["TRASH", "Trips"]),
        ("cur/1.a:2,S", "Inbox,Unread,Important", ["IMPORTANT", "INBOX"]),
        ("new/1.a", "Archived,Opened,Category Updates", ["CATEGORY_UPDATES"]),
        ("new/1.a", '"Drafts", Junk', ["DRAFT", "SPAM", "UNREAD"]),
        ("new/1.a", "", ["UNREAD"]),
        ("new/1.a", "=?utf-8?q?Caf=C3=A9?=", ["Café", "UNREAD"]),
    ],
)
def test_labels_come_from_the_header_and_the_flags(
    folder: Path, box: LocalMail, name: str, header: str | None, labels: list[str]
) -> None:
    path = folder / "mail" / name
    path.parent.mkdir(parents=True)
    said = "" if header is None else f"X-Gmail-Labels: {header}\n"
    path.write_text(f"From: a@b.c\n{said}\nhi")
    (found,) = box.messages(query="", labels=(), spam_trash=True, limit=9, page="").items
    assert sorted(found["labelIds"]) == labels
    assert set(labels) <= {one["id"] for one in box.labels()}


def test_what_is_no_mail_is_skipped_and_told(
    tmp_path: Path, folder: Path, receive: Receive
) -> None:
    receive(mail("Good"))
    bad = folder / "mail" / "cur"
    (bad / "2.picture").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (bad / "3.empty").write_bytes(b"")
    (bad / "4.folder").mkdir()
    (bad / "5.link").symlink_to("/etc/hostname")
    os.mkfifo(bad / "6.pipe")
    with (bad / "7.large").open("wb") as file:
        file.truncate(60 * 1024 * 1024)
    office = LocalOffice(folder)
    with Root(tmp_path) as root:
        listing, *_ = gmail_tools(office, root)
        context = Context()
        output = listing(context=context)
    assert [one["headers"]["Subject"] for one in output["messages"]] == ["Good"]
    (notice,) = context.notices
    assert notice.code == "workspace_damaged"
    assert notice.details == {"count": 6}
    assert "office/mail/cur/2.picture: it is no mail" in notice.message
    told = {fault.partition(": ")[0][16:]: fault.partition(": ")[2] for fault in office.mail.faults}
    assert told["5.link"] == "it is a link, and links are not followed"
    assert told["7.large"].startswith("it has more than")
    assert set(told) == {"2.picture", "3.empty", "4.folder", "5.link", "6.pipe", "7.large"}


def test_a_damaged_file_says_so_by_its_id_and_can_be_mended(
    folder: Path, box: LocalMail, receive: Receive
) -> None:
    receive(b"\0\0\0")
    assert subjects(box) == []
    with sqlite3.connect(folder / ".index" / "mail.sqlite") as index:
        ((damaged,),) = index.execute("SELECT id FROM fault").fetchall()
    index.close()
    assert code_of(lambda: box.message(damaged)) == "workspace_damaged"
    file_of(folder).write_bytes(mail("Mended"))
    assert subjects(box) == ["Mended"]
    assert box.faults == []
    assert box.message(damaged)["id"] == damaged
    file_of(folder).write_bytes(b"\0")
    assert code_of(lambda: box.message(damaged)) == "workspace_damaged"


@pytest.mark.parametrize("harm", ["text", "cut", "gone", "tables", "version", "link", "folder"])
def test_a_damaged_index_is_built_anew(
    tmp_path: Path, folder: Path, box: LocalMail, receive: Receive, harm: str
) -> None:
    for at in range(5):
        receive(mail(f"No {at}"))
    assert len(subjects(box)) == 5
    path = folder / ".index" / "mail.sqlite"
    outside = tmp_path / "outside"
    outside.write_bytes(b"mine")
    match harm:
        case "text":
            path.write_text("nothing of that kind " * 500)
        case "cut":
            path.write_bytes(path.read_bytes()[: 4096 * 3])
        case "gone":
            path.unlink()
        case "tables" | "version":
            index = sqlite3.connect(path)
            wrong = "DROP TABLE label" if harm == "tables" else "PRAGMA user_version = 99"
            index.execute(wrong)
            index.close()
        case "link":
            path.unlink()
            path.symlink_to(outside)
        case _:
            path.unlink()
            path.mkdir()
    assert len(subjects(box, "no")) == 5
    assert subjects(box, '"no 3"') == ["No 3"]
    assert outside.read_bytes() == b"mine"


def test_a_locked_index_is_busy(
    folder: Path, box: LocalMail, receive: Receive, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive(mail("One"))
    assert subjects(box) == ["One"]
    monkeypatch.setattr("callblocks.toolkits.office.local.mail.mail_index._WAIT", 0.01)
    other = sqlite3.connect(folder / ".index" / "mail.sqlite", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert code_of(lambda: subjects(box)) == "busy"
    other.close()
    assert subjects(box) == ["One"]


def test_links_in_the_place_of_folders_are_not_followed(
    tmp_path: Path, folder: Path, box: LocalMail
) -> None:
    outside = tmp_path / "outside"
    drop_mail(outside, mail("Secret"))
    (outside / "address").write_text("spy@example.com")
    folder.mkdir()
    (folder / "mail").symlink_to(outside)
    assert code_of(lambda: subjects(box)) == "workspace_damaged"
    assert code_of(lambda: box.send(RAW, "")) == "workspace_damaged"
    assert box.address() == "me@localhost"
    (folder / "mail").unlink()
    (folder / "mail").mkdir()
    (folder / "mail" / "cur").symlink_to(outside / "new")
    assert code_of(lambda: subjects(box)) == "workspace_damaged"
    (folder / "mail" / "cur").unlink()
    (folder / "mail" / "new").symlink_to(outside / "new")
    assert code_of(lambda: box.send(RAW.replace(b"bob@example.com", b"me@localhost"), "")) == (
        "workspace_damaged"
    )
    assert len(list((outside / "new").iterdir())) == 1


def test_names_of_any_bytes_are_taken(folder: Path, box: LocalMail) -> None:
    new = folder / "mail" / "new"
    new.mkdir(parents=True)
    with open(os.fsencode(new) + b"/1.\xff\xfe", "wb") as file:
        file.write(mail("Odd"))
    (new / ".hidden").write_bytes(mail("Hidden"))
    assert subjects(box) == ["Odd"]
    (item,) = _items(box)
    assert box.message(item["id"])["id"] == item["id"]


def test_many_writers_lose_nothing(folder: Path) -> None:
    failed: list[BaseException] = []

    def send() -> None:
        try:
            box = LocalMail(folder)
            for _ in range(5):
                box.send(RAW, "")
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(subjects(LocalMail(folder), "in:sent")) == 20


def test_a_full_disk_leaves_nothing_behind(
    folder: Path, box: LocalMail, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    box.send(RAW, "")
    monkeypatch.setattr(os, "fsync", full)
    assert code_of(lambda: box.send(RAW, "")) == "disk_full"
    monkeypatch.undo()
    assert os.listdir(folder / "mail" / "tmp") == []
    assert subjects(box) == ["Hi"]


def test_threads_are_the_same_in_any_order(tmp_path: Path) -> None:
    mails = [
        mail("A", Message_ID="<a@x>"),
        mail("B", Message_ID="<b@x>", In_Reply_To="<a@x>"),
        mail("C", Message_ID="<c@x>", In_Reply_To="<b@x>"),
        mail("D", Message_ID="<d@x>", References="<a@x> <c@x>"),
        mail("E", Message_ID="<e@x>", References="<lost@x>"),
        mail("F", Message_ID="<f@x>", In_Reply_To="<e@x>"),
        mail("G", Message_ID="<g@x>", In_Reply_To="<g@x>"),
        mail("H"),
    ]
    expected = ["ABCD", "EF", "G", "H"]
    for turn, order in enumerate(([0, 1, 2, 3, 4, 5, 6, 7], [7, 6, 5, 3, 2, 1, 0, 4])):
        folder = tmp_path / str(turn)
        box = LocalMail(folder)
        for at in order:
            drop_mail(folder / "mail", mails[at])
            assert _items(box)
        assert _threads(box) == expected
        (folder / ".index" / "mail.sqlite").unlink()
        assert _threads(box) == expected


def _threads(box: LocalMail) -> list[str]:
    found: dict[str, str] = {}
    items = _items(box)
    for item in items:
        name = next(one["value"] for one in item["payload"]["headers"] if one["name"] == "Subject")
        found[item["threadId"]] = found.get(item["threadId"], "") + name
        whole = box.thread(item["threadId"])
        assert item["id"] in {one["id"] for one in whole["messages"]}
        assert whole["id"] == item["threadId"]
    return sorted("".join(sorted(names)) for names in found.values())


def test_messages_that_answer_each_other_are_one_thread(folder: Path, box: LocalMail) -> None:
    drop_mail(folder / "mail", mail("A", Message_ID="<a@x>", In_Reply_To="<b@x>"))
    drop_mail(folder / "mail", mail("B", Message_ID="<b@x>", In_Reply_To="<a@x>"))
    assert _threads(box) == ["AB"]


def test_a_quiet_mailbox_is_not_listed_again(
    folder: Path, box: LocalMail, receive: Receive, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive(mail("One"))
    for name in ("cur", "new"):
        os.utime(folder / "mail" / name, (1, 1))
    assert subjects(box) == ["One"]
    listed = os.listdir
    with monkeypatch.context() as patched:
        patched.setattr(os, "listdir", lambda *_: pytest.fail("it was listed"))
        assert subjects(box) == ["One"]
    assert os.listdir is listed
    receive(mail("Two"))
    assert sorted(subjects(box)) == ["One", "Two"]


@pytest.mark.parametrize("date", ["", "yesterday", "Mon, 99 Foo 2026 99:99", "1 Jan 99999 00:00"])
def test_a_wrong_date_is_that_of_the_file(folder: Path, box: LocalMail, date: str) -> None:
    drop_mail(folder / "mail", f"From: a@b.c\nDate: {date}\nSubject: x\n\nhi".encode())
    os.utime(file_of(folder), (1_700_000_000, 1_700_000_000))
    (item,) = _items(box)
    assert item["internalDate"] in ("1700000000000", "0")
    assert subjects(box, "after:2001/01/01 OR before:1970/01/03") == ["x"]


def test_the_address_is_that_of_the_file(folder: Path, box: LocalMail) -> None:
    (folder / "mail").mkdir(parents=True)
    path = folder / "mail" / "address"
    path.write_text("Ada <ada@example.org>\n")
    assert box.address() == "ada@example.org"
    path.write_text("a\r\nBcc: b@c")
    assert box.address() == "me@localhost"
