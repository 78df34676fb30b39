"""Composing a mail: another program reads from it just what was given."""

from __future__ import annotations

import email
import email.policy
from email.message import EmailMessage

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callblocks.core.errors import ToolError
from callblocks.toolkits.office.mime_message import (
    CONTROL,
    Attachment,
    Draft,
    Parent,
    Recipient,
    compose,
    read_recipients,
    reply_subject,
)

BOB = Recipient("bob@example.com")
_LINE = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Cf", "Zs"], include_characters=" "),
    max_size=120,
)


def read(raw: bytes) -> EmailMessage:
    return email.message_from_bytes(raw, policy=email.policy.default)


@given(_LINE, _LINE)
@example("=?utf-8?q?x?=", "a" * 300)
@example('Doe, "Jöhn" \\', "ü" * 150)
@example("x" * 100, " ".join("ab" * 20 for _ in range(8)))
def test_headers_are_read_as_they_were_given(name: str, subject: str) -> None:
    to = [Recipient("ada@example.org", name), BOB]
    raw = compose(Draft(to=to, subject=subject, body="x"))
    head = raw.partition(b"\r\n\r\n")[0].decode("ascii")
    names = [line.partition(":")[0] for line in head.split("\r\n") if line[0] not in " \t"]
    assert names[:2] == ["To", "Subject"]
    assert not {"Bcc", "Cc", "From"} & set(names)
    assert max(map(len, head.split("\r\n"))) < 998
    message = read(raw)
    assert str(message["Subject"]).split() == subject.split()
    addresses = message["To"].addresses
    assert [one.addr_spec for one in addresses] == ["ada@example.org", "bob@example.com"]
    # Python's reader puts a blank between two encoded words.
    assert addresses[0].display_name.replace(" ", "") == name.replace(" ", "")


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_the_body_is_read_as_it_was_given(body: str) -> None:
    found = read(compose(Draft(to=[BOB], body=body)))
    plain = body.replace("\r\n", "\n").replace("\r", "\n")
    assert found.get_content().replace("\r\n", "\n").rstrip("\n") == plain.rstrip("\n")


def test_html_and_files_stand_beside_the_text() -> None:
    files = [
        Attachment(
            "Zahlen für Mai, ein sehr langer Name von einer Datei.pdf",
            b"\0\r\n.\r\n",
            "application/pdf",
        ),
        Attachment("b.eml", b"From: x\n\n", "application/octet-stream"),
    ]
    message = read(compose(Draft(to=[BOB], html="<p>Hé</p>", attachments=files)))
    plain, html = message.get_body(("plain",)), message.get_body(("html",))
    assert plain is not None
    assert html is not None
    assert plain.get_content().strip() == "Hé"
    assert html.get_content().strip() == "<p>Hé</p>"
    found = [(one.get_filename(), one.get_content()) for one in message.iter_attachments()]
    assert found == [(one.name, one.content) for one in files]


def test_an_answer_names_what_it_answers() -> None:
    parent = Parent("<c@x>", "<a@x> junk <b@x>\r\n Bcc: <e v@x>", "RE: Plan")
    message = read(compose(Draft(to=[BOB], parent=parent)))
    assert message["In-Reply-To"] == "<c@x>"
    assert message["References"].split() == ["<a@x>", "<b@x>", "<c@x>"]
    assert message["Subject"] == "RE: Plan"
    own = read(compose(Draft(to=[BOB], subject="Other", parent=parent)))
    assert own["Subject"] == "Other"
    nothing = read(compose(Draft(to=[BOB], parent=Parent("none", "<a@x>", ""))))
    assert nothing["In-Reply-To"] is None
    assert nothing["Subject"] == "Re:"


def test_references_do_not_grow_for_ever() -> None:
    chain = " ".join(f"<{at}@x>" for at in range(100))
    message = read(compose(Draft(to=[BOB], parent=Parent("<new@x>", chain, "x"))))
    found = message["References"].split()
    assert found[0] == "<0@x>"
    assert found[-2:] == ["<99@x>", "<new@x>"]
    assert len(found) == 22


@given(st.text(max_size=60))
def test_a_subject_of_others_becomes_one_line(subject: str) -> None:
    assert CONTROL.search(reply_subject(Parent("", "", subject))) is None


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("", []),
        (" , ;", []),
        ("a@b.c", ["a@b.c"]),
        ("a@b.c,d@e.f; g@h", ["a@b.c", "d@e.f", "g@h"]),
        (["A <a@b.c>", "d@e.f, g@h"], ["A <a@b.c>", "d@e.f", "g@h"]),
        ('"Doe, J; \\"X\\"" <j@x.y>', ['Doe, J; "X" <j@x.y>']),
        ("<a.b+c@x-y.example>", ["a.b+c@x-y.example"]),
        ("Büro <x@bücher.example>", ["Büro <x@xn--bcher-kva.example>"]),
        ('"b@evil.example" <a@b.c>', ["b@evil.example <a@b.c>"]),
        ('["a@b", "Ada <c@d>"]', ["a@b", "Ada <c@d>"]),
        ("[]", []),
    ],
)
def test_recipients_are_read(given: str | list[str], found: list[str]) -> None:
    assert [str(one) for one in read_recipients("to", given)] == found


@pytest.mark.parametrize(
    "given",
    [
        *("x", "@", "a@", "@b", "a@b@c", "a b@c", "a@b c@d", "a..b@c", ".a@c", "a@b..c", "a@-b"),
        *("<a@b", "a@b>", "<>", "A <a@b> B", "<a@b> <c@d>", '"a@b', '"a" b@c', "Team: a@b;"),
        *("a@b\nBcc: c@d", "a\0@b", "a@b\u2028c", "ä@b.c", "a@[1.2.3.4]", "b@evil.x <a@b.c>"),
        *("a@b\ud800", "\u202ea@b", "x" * 65 + "@b", "(a)@b", "a@" + "b" * 300, 'a"b"@c'),
        *('["a@b"', "[1]", "[a@b]", "[" * 20_000),
        *("A" * 201 + " <a@b>", "a@b," * 501, "<" * 20_000, '"\\' * 20_000, "a" * 60_000),
    ],
)
def test_what_is_no_recipient_is_refused(given: str) -> None:
    with pytest.raises(ToolError) as raised:
        read_recipients("cc", given)
    assert raised.value.code == "invalid_input"
    assert set(raised.value.details) == {"cc"}
    assert raised.value.message.isprintable()


@given(st.text(max_size=40))
def test_any_text_is_recipients_or_refused(text: str) -> None:
    try:
        found = read_recipients("to", text)
    except ToolError:
        return
    message = read(compose(Draft(to=[*found, BOB], subject="s")))
    addresses = [one.addr_spec for one in message["To"].addresses]
    assert addresses == [*(one.address for one in found), BOB.address]
