"""What Gmail is asked, request by request."""

from __future__ import annotations

import base64

import pytest

from callblocks.guard.files.root import Root
from callblocks.toolkits.office.backend import Office
from support.google.calling import Calling
from support.google.gmail import add_label, receive
from support.google.server import Server
from support.google.state import State
from support.mails import mail


@pytest.fixture
def call(google_office: Office, root: Root, google_server: Server) -> Calling:
    return Calling(google_office, root, google_server)


def test_a_list_asks_for_headers_only(
    call: Calling, google_server: Server, google_state: State
) -> None:
    receive(google_state, mail("One"))
    call("gmail_list", maxResults=5, labelIds=["inbox", "UNREAD"])
    listed, got = google_server.asked
    assert listed.id == "gmail.users.messages.list"
    assert listed.query["labelIds"] == ["INBOX", "UNREAD"]
    assert listed.query["maxResults"] == 5
    assert listed.query["includeSpamTrash"] is False
    assert "q" not in listed.query
    assert got.query["format"] == "metadata"
    assert "Subject" in got.query["metadataHeaders"]


def test_a_search_is_handed_on_as_it_was_written(call: Calling, google_server: Server) -> None:
    call("gmail_search", query='from:bob  {a "b c"} -in:sent')
    assert google_server.asked[0].query["q"] == 'from:bob  {a "b c"} -in:sent'
    call.failure("gmail_search", query="form:bob")
    assert len(google_server.asked) == 1


def test_labels_are_asked_for_only_where_one_is_not_known(
    call: Calling, google_server: Server, google_state: State
) -> None:
    label = add_label(google_state, "Trips")
    receive(google_state, mail("One", X_Gmail_Labels="Inbox,Trips"))
    assert call("gmail_list", labelIds=["trips"])["messages"][0]["labelIds"][1] == "Trips"
    assert google_server.seen[0] == "gmail.users.labels.list"
    assert google_server.asked[1].query["labelIds"] == [label]
    assert call("gmail_list", full=True)["messages"][0]["labelIds"][1] == label


def test_a_short_mail_is_sent_as_json_and_a_long_one_uploaded(
    call: Calling, google_server: Server, root: Root
) -> None:
    given = {"to": "bob@example.com", "subject": "x", "body": "hello"}
    call("gmail_send", **given)
    (short,) = google_server.asked
    assert set(short.body) == {"raw"}
    raw = base64.urlsafe_b64decode(short.body["raw"])
    assert b"\r\n\r\nhello\r\n" in raw
    assert not any(name in raw for name in (b"From:", b"Date:", b"Message-ID:"))
    root.write("large.bin", b"x" * 2_000_000)
    call("gmail_send", **given, attachments=["large.bin"])
    long = google_server.asked[1]
    assert long.body == {}
    assert long.media_type == "message/rfc822"
    assert long.media is not None
    assert long.media.count(b"eHh4") > 600_000


def test_an_answer_names_its_thread(
    call: Calling, google_server: Server, google_state: State
) -> None:
    answered = receive(google_state, mail("One", Message_ID="<one@x>"))
    call("gmail_send", to="b@example.com", subject="", body="y", replyTo=answered)
    got, sent = google_server.asked
    assert got.path["id"] == answered
    assert sent.body["threadId"] == answered
    assert b"In-Reply-To: <one@x>\r\n" in base64.urlsafe_b64decode(sent.body["raw"])


def test_a_mail_is_not_sent_twice(call: Calling, google_server: Server) -> None:
    google_server.plan(500, "backendError", after=True)
    given = {"to": "bob@example.com", "subject": "x", "body": "hello"}
    assert call.failure("gmail_send", **given) == "service_unavailable"
    assert google_server.seen == ["gmail.users.messages.send"]
    google_server.plan(429, "rateLimitExceeded")
    assert call("gmail_send", **given)["labelIds"] == ["SENT"]


def test_a_message_that_is_gone_meanwhile_is_left_out(
    call: Calling, google_server: Server, google_state: State
) -> None:
    for at in range(3):
        receive(google_state, mail(f"No {at}", date=f"0{at + 1} Jan 2026 12:00:00 +0000"))
    gone = next(iter(google_state.messages))
    real = google_server.methods["gmail.users.messages.list"]

    def list_then_delete(asked: object) -> object:
        answer = real(asked)  # pyright: ignore[reportArgumentType] it is what the server gives
        google_state.messages.pop(gone, None)
        return answer

    google_server.methods["gmail.users.messages.list"] = list_then_delete  # pyright: ignore[reportArgumentType] as above
    found = call("gmail_list")["messages"]
    assert [one["headers"]["Subject"] for one in found] == ["No 2", "No 1"]


def test_the_address_is_that_of_the_account(google_office: Office) -> None:
    assert google_office.mail.address() == "ada@example.org"
