"""Mail, the same on both offices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callblocks.core.calls import Call
from callblocks.guard.files.root import Root
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.toolkits.office.backend import Office
from callblocks.toolkits.office.local.local_office import LocalOffice
from support.google.calling import Calling
from support.mails import mail
from support.tool_runtime import run_one

OWN = "ada@example.org"


@pytest.fixture(autouse=True)
def own_address(office: Office) -> None:
    """The same address on both."""
    if isinstance(office, LocalOffice):
        (office.folder / "mail").mkdir(parents=True)
        (office.folder / "mail" / "address").write_text(OWN)


@pytest.fixture
def subjects(call: Calling) -> Callable[..., list[str]]:
    """The subjects that a search, or a list, gives."""

    def found(query: str = "", **given: Any) -> list[str]:
        name = "gmail_search" if query else "gmail_list"
        more = {"query": query} if query else {}
        messages = call(name, **more, **given)["messages"]
        return [one["headers"]["Subject"] for one in messages]

    return found


@pytest.fixture
def only(call: Calling) -> Callable[[], str]:
    """The id of the newest message."""
    return lambda: call("gmail_list", maxResults=1)["messages"][0]["id"]


Receive = Callable[[bytes], None]
Subjects = Callable[..., list[str]]


def day(number: int) -> str:
    return f"Mon, {number:02} Jan 2026 12:00:00 +0000"


def test_the_tools_say_what_they_are(call: Calling) -> None:
    names = ("gmail_list", "gmail_read", "gmail_search")
    for name in names:
        assert call.tool(name).traits.names() == ("read_only", "idempotent", "source")
    send = call.tool("gmail_send")
    assert send.traits.names() == ("destructive", "open_world")
    assert send.parameters_of_format("path") == ("attachments",)
    assert list(send.spec.properties)[:3] == ["to", "subject", "body"]
    for name in (*names, "gmail_send"):
        assert call.tool(name).origin == "builtin"
        properties = call.tool(name).spec.properties
        assert all(schema["description"] for schema in properties.values())


def test_an_empty_mailbox_lists_nothing(call: Calling) -> None:
    assert call("gmail_list") == {"messages": []}
    assert call("gmail_search", query="from:bob is:unread") == {"messages": []}
    assert call.context.taints == ["mail of others"]


def test_a_list_has_headers_labels_and_the_start_of_the_text(
    call: Calling, receive: Receive
) -> None:
    receive(mail("Grüße", body="It's <nice>\nhere", Cc="cid@example.com"))
    (message,) = call("gmail_list")["messages"]
    assert message["headers"] == {
        "From": "Bob <bob@example.com>",
        "To": OWN,
        "Cc": "cid@example.com",
        "Subject": "Grüße",
        "Date": "Mon, 05 Jan 2026 12:00:00 +0000",
    }
    assert sorted(message["labelIds"]) == ["INBOX", "UNREAD"]
    assert message["snippet"] == "It's <nice> here"
    assert message["threadId"] == message["id"]


def test_the_newest_come_first_and_pages_go_on(
    call: Calling, receive: Receive, subjects: Subjects
) -> None:
    for number in (3, 1, 2, 5, 4):
        receive(mail(str(number), date=day(number)))
    assert subjects() == ["5", "4", "3", "2", "1"]
    first = call("gmail_list", maxResults=2)
    receive(mail("6", date=day(6)))
    token = first["nextPageToken"]
    assert subjects(maxResults=2, pageToken=token) == ["3", "2"]
    last = call("gmail_list", maxResults=3, pageToken=token)
    assert "nextPageToken" not in last
    assert len(last["messages"]) == 3


def test_a_message_is_read_with_its_text_and_files(
    call: Calling, receive: Receive, only: Callable[[], str]
) -> None:
    receive(
        mail(
            "Report",
            body="See the file.\n\nBob",
            html="<p>See the <b>file</b>.</p>",
            files={"may.pdf": b"%PDF-1.4 \x00\xff", "notes.txt": b"caf\xc3\xa9"},
        )
    )
    read = call("gmail_read", messageId=only())
    assert read["text"] == "See the file.\n\nBob"
    assert read["headers"]["Subject"] == "Report"
    names = [(one["filename"], one["mimeType"], one["size"]) for one in read["attachments"]]
    assert names == [("may.pdf", "application/pdf", 11), ("notes.txt", "text/plain", 5)]
    assert call.context.taints == ["mail of others"]
    pdf, text = read["attachments"]
    kept = call("gmail_read", messageId=read["id"], attachmentId=pdf["attachmentId"])
    assert kept == {
        "filename": "may.pdf",
        "mimeType": "application/pdf",
        "size": 11,
        "path": "kept/may.pdf",
    }
    assert call.kept["may.pdf"] == b"%PDF-1.4 \x00\xff"
    by_name = call("gmail_read", messageId=read["id"], attachmentId="notes.txt")
    assert by_name["text"] == "café"
    assert by_name == call("gmail_read", messageId=read["id"], attachmentId=text["attachmentId"])


def test_html_alone_is_read_as_text(
    call: Calling, receive: Receive, only: Callable[[], str]
) -> None:
    receive(
        b"From: b@example.com\nTo: ada@example.org\nSubject: x\nMIME-Version: 1.0\n"
        b"Date: Mon, 05 Jan 2026 12:00:00 +0000\nContent-Type: text/html; charset=iso-8859-1\n\n"
        b'<style>p {}</style><p>Caf\xe9 &amp; <a href="https://example.com/x">more</a></p><li>one'
    )
    assert call("gmail_read", messageId=only())["text"] == (
        "Café & more <https://example.com/x>\n\n- one"
    )


def test_full_gives_the_resource_of_the_api(
    call: Calling, receive: Receive, only: Callable[[], str]
) -> None:
    receive(mail("Whole"))
    whole = call("gmail_read", messageId=only(), full=True)
    assert {"id", "threadId", "labelIds", "snippet", "internalDate", "payload"} <= set(whole)
    assert whole["internalDate"] == "1767614400000"
    assert whole["payload"]["mimeType"] == "text/plain"
    assert whole["payload"]["body"]["data"]
    for name, more in (("gmail_list", {}), ("gmail_search", {"query": "whole"})):
        (listed,) = call(name, full=True, **more)["messages"]
        assert {"name": "Subject", "value": "Whole"} in listed["payload"]["headers"]
        assert "body" not in listed["payload"]


def test_what_is_sent_is_found_and_read(call: Calling, subjects: Subjects, root: Root) -> None:
    root.write("reports/mäi.txt", b"Zahlen")
    sent = call(
        "gmail_send",
        to="Bób Builder <bob@example.com>, cid@example.com",
        subject="Pläne für Mai",
        body="Hallo,\n\n.\nFrom here on: 1 < 2\n",
        cc=["Dan, the man <dan@example.com>".replace(", the man", "")],
        bcc="eve@example.com",
        html="<p>Hallo</p>",
        attachments=["reports/mäi.txt"],
    )
    assert sent["labelIds"] == ["SENT"]
    read = call("gmail_read", messageId=sent["id"])
    assert read["headers"]["From"] == OWN
    assert read["headers"]["To"] == "Bób Builder <bob@example.com>, cid@example.com"
    assert read["headers"]["Cc"] == "Dan <dan@example.com>"
    assert read["headers"]["Subject"] == "Pläne für Mai"
    assert read["text"] == "Hallo,\n\n.\nFrom here on: 1 < 2"
    assert [one["filename"] for one in read["attachments"]] == ["mäi.txt"]
    file = call("gmail_read", messageId=sent["id"], attachmentId="mäi.txt")
    assert file["text"] == "Zahlen"
    assert subjects("in:sent bcc:eve has:attachment") == ["Pläne für Mai"]
    assert subjects(labelIds=["INBOX"]) == []


def test_a_mail_to_oneself_arrives(call: Calling, subjects: Subjects) -> None:
    sent = call("gmail_send", to=f"Me <{OWN}>", subject="Note", body="remember")
    assert sorted(sent["labelIds"]) == ["INBOX", "SENT", "UNREAD"]
    assert subjects(labelIds=["INBOX", "UNREAD"]) == ["Note"]
    assert subjects("from:me to:me") == ["Note"]


def test_an_answer_joins_the_thread(
    call: Calling, receive: Receive, only: Callable[[], str]
) -> None:
    receive(mail("Lunch?", Message_ID="<first@example.com>"))
    first = only()
    sent = call("gmail_send", to="bob@example.com", subject="", body="Yes", replyTo=first)
    whole = call("gmail_read", messageId=sent["id"], full=True)
    headers = {one["name"]: one["value"] for one in whole["payload"]["headers"]}
    assert headers["Subject"] == "Re: Lunch?"
    assert headers["In-Reply-To"] == "<first@example.com>"
    assert headers["References"] == "<first@example.com>"
    assert sent["threadId"] == whole["threadId"]
    again = call(
        "gmail_send", to="bob@example.com", subject="", body="When?", threadId=sent["threadId"]
    )
    assert again["threadId"] == sent["threadId"]
    thread = call("gmail_read", messageId=first, thread=True)
    assert thread["id"] == sent["threadId"]
    texts = [one["text"] for one in thread["messages"]]
    assert texts == ["How are you?", "Yes", "When?"]
    assert thread["messages"][2]["headers"]["Subject"] == "Re: Lunch?"
    last = call("gmail_read", messageId=again["id"], full=True)
    references = [one["value"] for one in last["payload"]["headers"] if one["name"] == "References"]
    assert references[0].split()[0] == "<first@example.com>"
    assert len(references[0].split()) == 2
    assert call("gmail_read", messageId=first, thread=True, full=True)["messages"][0]["payload"]


def test_a_subject_of_others_starts_no_header(
    call: Calling, receive: Receive, only: Callable[[], str]
) -> None:
    receive(
        b"From: b@example.com\nTo: ada@example.org\nDate: Mon, 05 Jan 2026 12:00:00 +0000\n"
        b"Subject: =?utf-8?b?aGkNCkJjYzogZXZpbEBleGFtcGxlLmNvbQ==?=\n"
        b"Message-ID: <x@example.com>\n\nhi"
    )
    sent = call("gmail_send", to="b@example.com", subject="", body="x", replyTo=only())
    read = call("gmail_read", messageId=sent["id"])
    assert "Bcc" not in read["headers"]
    assert read["headers"]["Subject"] == "Re: hi Bcc: evil@example.com"


def test_the_preview_shows_all_that_is_sent(
    call: Calling, receive: Receive, only: Callable[[], str], root: Root
) -> None:
    receive(mail("Lunch?"))
    root.write("a.pdf", b"12345")
    shown = call.preview(
        "gmail_send",
        to=["Bob <bob@example.com>", "cid@example.com"],
        subject="",
        body="First\nSecond",
        cc="dan@example.com",
        bcc="eve@example.com",
        attachments=["a.pdf"],
        replyTo=only(),
    )
    assert shown.splitlines() == [
        "To: Bob <bob@example.com>",
        "To: cid@example.com",
        "Cc: dan@example.com",
        "Bcc: eve@example.com",
        "Subject: Re: Lunch?",
        "In answer to: Lunch?",
        "Attachment: a.pdf (5 bytes)",
        "",
        "First",
        "Second",
    ]
    refused = call.refused("gmail_send", to="nobody", subject="x", body="y")
    assert refused.startswith("invalid_input: to: 'nobody' is no mail address")
    unknown = call.refused("gmail_send", to="a@b.c", subject="x", body="y", replyTo="f" * 16)
    assert unknown.startswith("not_found:")
    assert call("gmail_search", query="in:sent") == {"messages": []}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"to": "nobody"}, "to"),
        ({"to": ""}, "to"),
        ({"to": []}, "to"),
        ({"to": "bob@example.com\nBcc: eve@example.com"}, "to"),
        ({"to": "Bob\r\nBcc: eve@example.com <bob@example.com>"}, "to"),
        ({"to": ["bob@example.com", "x\u2028@example.com"]}, "to"),
        ({"to": "bob@exa mple.com"}, "to"),
        ({"to": "<bob@example.com"}, "to"),
        ({"to": [f"a{at}@example.com" for at in range(501)]}, "to"),
        ({"cc": "bob"}, "cc"),
        ({"bcc": "bob@"}, "bcc"),
        ({"subject": "Hi\r\nBcc: eve@example.com"}, "subject"),
        ({"subject": "Hi\x00"}, "subject"),
        ({"subject": "x" * 2_001}, "subject"),
        ({"body": "\ud800"}, "body"),
    ],
)
def test_what_is_no_mail_is_refused(call: Calling, given: dict[str, Any], field: str) -> None:
    whole = {"to": "bob@example.com", "subject": "x", "body": "y", **given}
    error = call.error("gmail_send", **whole)
    assert error.code == "invalid_input"
    assert field in error.details
    assert call("gmail_list") == {"messages": []}


def test_a_file_that_is_too_large_is_not_sent(call: Calling, tmp_path: Path) -> None:
    with (tmp_path / "big.bin").open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    given = {"to": "bob@example.com", "subject": "x", "body": "y"}
    assert call.failure("gmail_send", **given, attachments=["big.bin"]) == "file_too_large"
    assert call.failure("gmail_send", **given, attachments=["none.bin"]) == "path_not_found"
    assert call.failure("gmail_send", **given, attachments=["../x"]) == "unsafe_path"
    assert call("gmail_list") == {"messages": []}


@pytest.mark.parametrize("path", ["keys/k.txt", "./keys//k.txt", "link.txt"])
def test_a_file_that_may_not_be_read_is_not_sent(call: Calling, root: Root, path: str) -> None:
    root.write("keys/k.txt", b"secret")
    (root.folder / "link.txt").symlink_to("keys/k.txt")
    keeping = Rule(decide="deny", tool=("file_read",), path=("keys/**",))
    policy = Policy((keeping, Rule(decide="allow", tool=("gmail_send",))))
    given = {"to": "bob@example.com", "subject": "x", "body": "y", "attachments": [path]}
    one = Call(id="c1", name="gmail_send", input=given)
    outcome = run_one([call.tool("gmail_send")], one, policy=policy, resolve=root.resolve)
    assert outcome.error is not None
    assert outcome.error.code == "policy_denied"
    assert outcome.error.message.startswith("keys/k.txt was not read: rule 1 ")
    assert call("gmail_list") == {"messages": []}


def test_files_that_are_too_large_together_are_not_sent(call: Calling, tmp_path: Path) -> None:
    for name in ("a.bin", "b.bin"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(10 * 1024 * 1024)
    given = {"to": "bob@example.com", "subject": "x", "body": "y"}
    error = call.error("gmail_send", **given, attachments=["a.bin", "b.bin"])
    assert error.code == "file_too_large"
    assert "attach less" in error.message


def test_a_large_file_is_sent_whole(call: Calling, root: Root) -> None:
    content = bytes(range(256)) * 6_500
    root.write("large.bin", content)
    sent = call(
        "gmail_send", to="bob@example.com", subject="x", body="y", attachments=["large.bin"]
    )
    call("gmail_read", messageId=sent["id"], attachmentId="large.bin")
    assert call.kept["large.bin"] == content


def test_unknown_ids_are_not_found(
    call: Calling, receive: Receive, only: Callable[[], str]
) -> None:
    receive(mail())
    assert call.failure("gmail_read", messageId="f" * 16) == "not_found"
    assert call.failure("gmail_read", messageId="f" * 16, thread=True) == "not_found"
    error = call.error("gmail_read", messageId=only(), attachmentId="none.pdf")
    assert error.code == "not_found"
    assert error.message.endswith("it has: none")
    given = {"to": "bob@example.com", "subject": "", "body": "y"}
    assert call.failure("gmail_send", **given, replyTo="f" * 16) == "not_found"
    assert call.failure("gmail_send", **given, threadId="f" * 16) == "not_found"


def test_wrong_input_is_refused(call: Calling) -> None:
    assert call.failure("gmail_list", maxResults=0) == "invalid_input"
    assert call.failure("gmail_list", maxResults=101) == "invalid_input"
    assert call.failure("gmail_list", pageToken="?!") == "invalid_input"
    assert call.failure("gmail_read", messageId="") == "invalid_input"
    error = call.error("gmail_search", query="form:bob")
    assert error.code == "invalid_input"
    assert "there are: from, to, cc" in error.message


def test_labels_are_given_by_name(call: Calling, receive: Receive, subjects: Subjects) -> None:
    receive(mail("Rome", X_Gmail_Labels="Inbox,My Trips"))
    receive(mail("Bill", X_Gmail_Labels="Inbox,Starred"))
    receive(mail("Old", X_Gmail_Labels="Opened,My Trips"))
    assert subjects(labelIds=["my trips", "inbox"]) == ["Rome"]
    assert subjects(labelIds=["STARRED"]) == ["Bill"]
    (rome,) = call("gmail_search", query="label:my-trips in:inbox")["messages"]
    assert sorted(rome["labelIds"]) == ["INBOX", "My Trips", "UNREAD"]
    error = call.error("gmail_list", labelIds=["Your Trips"])
    assert error.code == "invalid_input"
    assert "My Trips" in error.details["labelIds"]


def test_spam_and_trash_are_left_out_unless_asked_for(receive: Receive, subjects: Subjects) -> None:
    receive(mail("Win", X_Gmail_Labels="Spam", date=day(1)))
    receive(mail("Gone", X_Gmail_Labels="Trash", date=day(2)))
    receive(mail("Here", date=day(3)))
    assert subjects() == ["Here"]
    assert subjects(includeSpamTrash=True) == ["Here", "Gone", "Win"]
    assert subjects(labelIds=["TRASH"]) == ["Gone"]
    assert subjects("bob") == ["Here"]
    assert subjects("in:anywhere bob") == ["Here", "Gone", "Win"]
    assert subjects("in:spam") == ["Win"]
    assert subjects("-in:trash") == ["Here"]


FOUND = {
    "from:bob": "Plan,Report",
    "FROM:Bob@Example.com": "Plan,Report",
    "from:example.com": "Party,Plan,Report",
    "to:cid": "Party",
    "cc:dan": "Report",
    "subject:plan": "Plan",
    "budget": "Plan,Report",
    '"next budget"': "Plan",
    '"budget next"': "",
    "budget -subject:report": "Plan",
    "subject:plan OR subject:party": "Party,Plan",
    "{subject:plan subject:party} from:bob": "Plan",
    "from:bob subject:(plan OR report)": "Plan,Report",
    "-(from:bob budget)": "Party",
    "from:bob AND is:unread": "Plan,Report",
    "is:read": "Party",
    "is:starred": "Party",
    "has:attachment": "Report",
    "filename:pdf": "Report",
    "filename:may.pdf": "Report",
    "before:2026/01/11": "Plan,Report",
    "after:2026/01/08 before:2026-01-12": "Plan",
    "newer:1/19/2026": "Party",
    "older_than:1d": "Party,Plan,Report",
    "newer_than:20y": "Party,Plan,Report",
    "newer_than:1d": "",
    "larger:10K": "Report",
    "smaller:10K": "Party,Plan",
    "rfc822msgid:<party@example.com>": "Party",
    "rfc822msgid:party@example.com": "Party",
    "to:me": "Plan,Report",
}


def test_a_search_finds(receive: Receive, subjects: Subjects) -> None:
    receive(
        mail(
            "Report",
            date=day(5),
            Cc="Dan <dan@example.com>",
            body="The budget.",
            files={"may.pdf": b"x" * 20_000},
        )
    )
    receive(mail("Plan", date=day(10), body="Our next BUDGET, and more"))
    receive(
        mail(
            "Party",
            date=day(20),
            sender="eve@example.com",
            to="cid@example.com",
            Message_ID="<party@example.com>",
            X_Gmail_Labels="Inbox,Starred,Opened",
        )
    )
    assert {query: ",".join(subjects(query)) for query in FOUND} == FOUND
