"""What is sent along with a mail, whom an answer goes to, and who it is from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from callblocks.guard.files.root import Root
from callblocks.toolkits.office.local.local_office import LocalOffice
from callblocks.toolkits.office.local.sheet_file import XLSX
from callblocks.tools.tool import Context
from support.google.calling import Calling
from support.sample_offices import copy_office

TO = {"to": "ada@example.org", "subject": "Hello", "body": "Text"}


@pytest.fixture
def ferry(tmp_path: Path) -> Calling:
    """The tools on the sample office."""
    return Calling(LocalOffice(copy_office(tmp_path)), Root(tmp_path))


def _attached(call: Calling, *given: str) -> list[tuple[str, str]]:
    sent = call("gmail_send", attachments=list(given), **TO)
    found = call("gmail_read", messageId=sent["id"])["attachments"]
    return [(one["filename"], one["mimeType"]) for one in found]


def test_files_of_the_drive_are_attached_by_their_ids(ferry: Calling) -> None:
    assert _attached(ferry, "drive:berth-plan") == [("berth-plan.png", "image/png")]
    assert _attached(ferry, "berth-plan") == [("berth-plan.png", "image/png")]
    assert _attached(ferry, "drive:winter-notice") == [("Winter notice.md", "text/markdown")]
    assert _attached(ferry, "bookings") == [("Bookings.xlsx", XLSX)]


def test_a_path_goes_before_an_id(ferry: Calling, tmp_path: Path) -> None:
    (tmp_path / "berth-plan").write_bytes(b"\0mine")
    assert _attached(ferry, "berth-plan") == [("berth-plan", "application/octet-stream")]
    assert _attached(ferry, "drive:berth-plan") == [("berth-plan.png", "image/png")]


def test_what_cannot_be_attached_is_named(ferry: Calling) -> None:
    assert ferry.failure("gmail_send", attachments=["drive:boat"], **TO) == "invalid_input"
    assert (
        "did you mean boat" in ferry.error("gmail_send", attachments=["drive:Boat"], **TO).message
    )
    assert ferry.failure("gmail_send", attachments=["drive:nothing"], **TO) == "not_found"
    assert ferry.failure("gmail_send", attachments=["nothing"], **TO) == "path_not_found"


def test_what_must_not_be_read_is_not_attached_by_its_id(ferry: Calling) -> None:
    def judge(path: str) -> str | None:
        return "not that one" if path == "office/drive/Boat/berth-plan.png" else None

    send = ferry.tool("gmail_send")
    values = dict(send.check({**TO, "attachments": ["drive:berth-plan"]}).values)
    with pytest.raises(Exception, match="not that one"):
        send(**values, context=Context(judge_path=judge))


def test_a_file_of_a_local_drive_says_where_it_lies(ferry: Calling, tmp_path: Path) -> None:
    told = ferry("drive_read", fileId="berth-plan")["localPath"]
    assert told == "office/drive/Boat/berth-plan.png"
    assert (tmp_path / told).is_file()
    listed = {one["id"]: one.get("localPath") for one in ferry("drive_list")["files"]}
    assert listed["winter-notice"] == "office/drive/Winter notice.md"
    assert (listed["boat"], listed["bookings"]) == (None, None)
    assert _attached(ferry, told) == [("berth-plan.png", "image/png")]


def test_a_spreadsheet_is_kept_as_a_file_for_excel(ferry: Calling) -> None:
    ferry("drive_read", fileId="bookings", mimeType=XLSX)
    assert list(ferry.kept) == ["Bookings.xlsx"]


def _mail(*lines: str) -> bytes:
    more = ("Subject: Rolls", "Date: Mon, 16 Nov 2026 09:00:00 +0100", "Message-ID: <1@x>")
    return "\r\n".join((*lines, *more, "", "Hello")).encode()


@pytest.mark.parametrize(
    ("headers", "answered"),
    [
        (["From: Grace <grace@example.org>"], "Grace <grace@example.org>"),
        (["From: Grace <grace@example.org>", "Reply-To: list@example.org"], "list@example.org"),
        (['From: "Hopper, Grace" <grace@example.org>'], '"Hopper, Grace" <grace@example.org>'),
    ],
)
def test_an_answer_goes_to_the_sender(
    call: Calling, receive: Callable[[bytes], None], headers: list[str], answered: str
) -> None:
    receive(_mail(*headers, "To: me@example.org"))
    id = call("gmail_list")["messages"][0]["id"]
    given = {"to": "", "subject": "", "body": "Yes", "replyTo": id}
    name = answered.replace('"', "")
    assert call.preview("gmail_send", **given).splitlines()[0] == f"To: {name}"
    sent = call("gmail_send", **given)
    assert call("gmail_read", messageId=sent["id"])["headers"]["To"] == answered


def test_without_a_sender_an_answer_needs_someone(
    call: Calling, receive: Callable[[bytes], None]
) -> None:
    receive(_mail("From: nobody", "To: them@example.org"))
    id = call("gmail_list")["messages"][0]["id"]
    given = {"to": "", "subject": "", "body": "Yes"}
    assert "to" in call.error("gmail_send", replyTo=id, **given).details
    assert "to" in call.error("gmail_send", **given).details


def test_an_answer_to_an_own_mail_goes_to_those_who_got_it(ferry: Calling) -> None:
    sent = ferry("gmail_send", **TO)["id"]
    again = ferry("gmail_send", to="", subject="", body="And this", replyTo=sent)
    assert ferry("gmail_read", messageId=again["id"])["headers"]["To"] == "ada@example.org"


def test_a_mail_is_from_the_person_by_name(ferry: Calling, tmp_path: Path) -> None:
    def sender() -> str:
        sent = ferry("gmail_send", **TO)
        return ferry("gmail_read", messageId=sent["id"])["headers"]["From"]

    assert sender() == "Mara Lind <mara@holmferry.example>"
    address = tmp_path / "office" / "mail" / "address"
    address.write_text("Márta Ölund <marta@holmferry.example>\n")
    assert sender() == "Márta Ölund <marta@holmferry.example>"
    address.write_text("mara@holmferry.example\n")
    assert sender() == "mara@holmferry.example"


def test_a_name_before_the_address_is_no_part_of_it(ferry: Calling) -> None:
    event = {"summary": "A", "start": "2026-11-16 14:00", "end": "2026-11-16 15:00"}
    made = ferry("calendar_create", attendees=["ada@example.org"], **event)
    assert made["organizer"]["email"] == "mara@holmferry.example"
    assert ferry("gmail_search", query="from:me")["messages"]
