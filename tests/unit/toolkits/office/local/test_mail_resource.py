"""Any bytes are read as mail, or refused as none; nothing else happens."""

from __future__ import annotations

import os
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.toolkits.office.local.mail.mail_resource import (
    Damaged,
    MailFile,
    attachment_bytes,
    read_entry,
    read_mail,
    whole_resource,
)
from callblocks.toolkits.office.mail_text import (
    attachments_of,
    decode_bytes,
    header_of,
    text_of_mail,
)

FILE = MailFile("new/1.a")
STATUS = os.stat(Path(__file__))
HEAD = b"From: a@b.c\nSubject: x\nMIME-Version: 1.0\n"


def text_of(raw: bytes) -> str:
    return text_of_mail(whole_resource(FILE, raw, STATUS)).text


_PIECES = (
    *(b"From: a@b.c\n", b"\n", b"\r\n", b"Subject: =?utf-8?b?!!?=\n", b"Date: x\n", b"\xff\xfe"),
    *(b'Content-Type: multipart/mixed; boundary="b"\n', b"--b\n", b"--b--\n", b"text"),
    *(b"Content-Type: text/html; charset=utf-7\n", b"Content-Transfer-Encoding: base64\n"),
    *(b"Content-Type: message/rfc822\n", b"Content-Transfer-Encoding: uuencode\n", b"====\n"),
    *(b"Content-Disposition: attachment; filename*=x'%ff\n", b"filename*0*=a''b; filename*2=c\n"),
    *(b"References: <a <b>\n", b"X-Gmail-Labels: ,,=?x?q?y?=\n", b"begin 644 x\n", b": \n", b"\0"),
)


@given(st.lists(st.one_of(st.sampled_from(_PIECES), st.binary(max_size=20)), max_size=30))
def test_any_bytes_are_mail_or_none(pieces: list[bytes]) -> None:
    raw = b"".join(pieces)
    try:
        entry = read_entry(FILE, raw, STATUS)
    except Damaged as damaged:
        # Not because the reader failed, but because it is none.
        assert str(damaged) == "it is no mail"  # noqa: PT017 either is fine
        return
    "".join(entry.words).encode()
    for one in attachments_of(whole_resource(FILE, raw, STATUS)):
        content = attachment_bytes(read_mail(raw), one["attachmentId"])
        assert content is not None
        assert len(content) == one["size"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"Content-Type: text/plain; charset=iso-8859-1\n\ncaf\xe9", "café"),
        (b"Content-Type: text/plain; charset=iso-8859-1\n\ncaf\xc3\xa9", "café"),
        (b"Content-Type: text/plain; charset=nonsense\n\ncaf\xc3\xa9", "café"),
        (b"Content-Type: text/plain; charset=hex\n\ncaf\xe9", "café"),
        (b"Content-Type: text/plain; charset=shift_jis\n\n\x93\xfa\x96{", "日本"),
        (b"Content-Type: text/plain; charset=iso-2022-jp\n\n\x1b$BF|K\\\x1b(B", "日本"),
        (b"Content-Type: text/plain; charset=utf-7\n\nA+2AA-B", "A\ufffdB"),
        (b"Content-Transfer-Encoding: base64\n\naGVsb", "aGVsb"),
        (b"Content-Transfer-Encoding: base64\n\naGVsbG8=", "hello"),
        (b"Content-Transfer-Encoding: quoted-printable\n\na=C3=A9=\n=zz", "aé=zz"),
        (b"Content-Transfer-Encoding: odd\n\nx", "x"),
        (b"Content-Type: nonsense\n\nx", "x"),
        (b"Content-Type: multipart/mixed\n\nno boundary", "no boundary"),
        (b"Content-Type: multipart/mixed; boundary=b\n\npre\n--b\n\nnever closed", "never closed"),
        (b"Content-Type: image/png\n\nx", ""),
        (b"\n", ""),
        (b"", ""),
    ],
)
def test_a_body_is_read_whatever_it_claims(content: bytes, text: str) -> None:
    assert text_of(HEAD + content) in (text, "")
    if b"no boundary" not in content:
        assert text_of(HEAD + content) == text


def test_nested_parts_are_read_to_a_depth() -> None:
    inner = b"\n\ndeep"
    for at in range(5):
        boundary = f"b{at}".encode()
        inner = (
            b"\nContent-Type: multipart/mixed; boundary=" + boundary
            + b"\n\n--" + boundary + inner + b"\n--" + boundary + b"--\n"
        )  # fmt: skip
    assert text_of(HEAD.rstrip() + inner) == "deep"


def test_a_mail_nested_without_end_is_still_a_mail() -> None:
    opening = b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (at, at) for at in range(1_500)
    )
    entry = read_entry(FILE, HEAD + opening, STATUS)
    assert header_of(entry.resource, "Subject") == "x"


def test_a_mail_that_would_take_for_ever_is_read_in_part() -> None:
    opening = b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (at, at) for at in range(200)
    )
    entry = read_entry(FILE, HEAD + opening + b"\n" * 1_000_000, STATUS)
    assert header_of(entry.resource, "Subject") == "x"
    assert entry.resource["sizeEstimate"] > 1_000_000


@pytest.mark.parametrize("filler", [b";" * 500_000, b";\n " * 200_000, b";\r\n\t" * 200_000])
def test_a_header_without_end_is_no_mail(filler: bytes) -> None:
    with pytest.raises(Damaged, match="too long"):
        read_entry(FILE, HEAD + b'Content-Type: text/plain; x="' + filler + b"\n\nx", STATUS)


def test_a_mail_of_many_parts_is_cut() -> None:
    raw = HEAD + b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\npart\n" * 2_000
    assert len(whole_resource(FILE, raw, STATUS)["payload"]["parts"]) == 500


def test_a_huge_text_is_cut_and_said_to_be() -> None:
    found = text_of_mail(whole_resource(FILE, HEAD + b"\n" + b"word " * 500_000, STATUS))
    assert found.cut
    assert len(found.text) < 1_000_001


def test_a_mail_in_a_mail_is_a_file_of_it() -> None:
    inner, outer = EmailMessage(), EmailMessage()
    inner["Subject"], inner["From"] = "Inside", "b@c.d"
    inner.set_content("inner text")
    outer["From"] = "a@b.c"
    outer.set_content("outer text")
    outer.add_attachment(inner)
    raw = outer.as_bytes()
    whole = whole_resource(FILE, raw, STATUS)
    assert text_of_mail(whole).text == "outer text"
    (one,) = attachments_of(whole)
    assert (one["filename"], one["mimeType"]) == ("message.eml", "message/rfc822")
    content = attachment_bytes(read_mail(raw), one["attachmentId"])
    assert content is not None
    assert b"Subject: Inside" in content


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ('filename="../../etc/passwd"', "passwd"),
        ('filename="C:\\\\x\\\\y.txt"', "y.txt"),
        ("filename*=utf-8''%C3%BC.txt", "ü.txt"),
        ('filename="=?utf-8?q?=C3=BC.txt?="', "ü.txt"),
        ("filename*=nonsense''%ff.txt", "%ff.txt"),
        ('filename="a\0b"', "ab"),
    ],
)
def test_a_file_name_names_no_folder(header: str, name: str) -> None:
    raw = HEAD + f"Content-Disposition: attachment; {header}\n\nx".encode()
    found = whole_resource(FILE, raw, STATUS)["payload"]["filename"]
    assert found == name or (name.startswith("%ff") and "/" not in found)


@given(st.binary(max_size=50), st.one_of(st.text(max_size=10), st.sampled_from(("utf-7", "hz"))))
def test_bytes_are_text_in_any_charset(content: bytes, charset: str) -> None:
    decode_bytes(content, charset).encode()
