from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.timeline.artifacts.media_types import is_shown_binary, is_text, mime_of
from support.documents import OPEN_TEXT, WHOLE, WORD, zipped

OCTETS = "application/octet-stream"
PIECES = (
    b"%PDF-",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"GIF89a",
    b"<!--",
    b"<svg ",
    b"RIFF",
    b"\0",
    b"{",
)


def in_short(value: object) -> str:
    return repr(value[:30]) if isinstance(value, bytes) else str(value)


@pytest.mark.parametrize("name", WHOLE)
def test_content_says_what_it_is_whatever_its_name(name: str) -> None:
    mime, content = WHOLE[name]
    assert mime_of(name, content) == mime
    assert mime_of("", content) == mime
    assert mime_of("other.bin", content) == mime


@pytest.mark.parametrize(
    ("content", "mime"),
    [
        (b"II*\0....", "image/tiff"),
        (b"RIFF....WAVEfmt ", "audio/wav"),
        (b"RIFF....AVI LIST", "video/x-msvideo"),
        (b"\0\0\0\x18ftypisom....", "video/mp4"),
        (b"\0\0\0\x18ftypM4A ....", "audio/mp4"),
        (b"\0\0\0\x18ftypavif....", "image/avif"),
        (b"OggS\0\x02........vorbis", "audio/ogg"),
        (b"OggS\0\x02........\x80theora", "video/ogg"),
        (b"\x1a\x45\xdf\xa3\x9fB\x82\x84webm", "video/webm"),
        (b"\x1a\x45\xdf\xa3\x9fB\x82\x88matroska", "video/x-matroska"),
        (b"fLaC\0\0\0\x22", "audio/flac"),
        (b"ID3\x04\0\0", "audio/mpeg"),
        (b"BM\x0a\0\0\0\0\0\0\0", "image/bmp"),
        (b"BZh91AY&SY\x01\x02", "application/x-bzip2"),
        (b"PAR1\0\0PAR1", "application/vnd.apache.parquet"),
        (b"a".ljust(257, b"\0") + b"ustar\0", "application/x-tar"),
        (b"\xef\xbb\xbf\n%PDF-1.4\n\xff", "application/pdf"),
        (b"RIFF....????\0", OCTETS),
        (b"PK\x03\x04 but no zip \xff", OCTETS),
    ],
    ids=in_short,
)
def test_first_bytes_leave_no_doubt(content: bytes, mime: str) -> None:
    assert mime_of("", content) == mime


@pytest.mark.parametrize(
    ("name", "content", "mime"),
    [
        ("evil.png", b"<!doctype html><script>", "text/html"),
        ("evil.jpg", b"<!-- x -->\n<HTML>", "text/html"),
        ("evil.png", b'<?xml version="1.0"?><svg/>', "image/svg+xml"),
        ("evil.svg", b"<html><body>", "text/html"),
        ("evil.svg", b"hello", "text/plain"),
        ("evil.pdf", b"hello", "text/plain"),
        ("evil.docx", zipped({"a": "b"}), "application/zip"),
        ("evil.docx", zipped({"word/document.xml": "x"}), "application/zip"),
        ("evil.docx", zipped({"[Content_Types].xml": "x"}), "application/zip"),
        ("evil.docx", zipped({"mimetype": "text/html"}), "application/zip"),
        ("evil.odt", zipped({"mimetype": OPEN_TEXT + "x" * 200}), "application/zip"),
        ("evil.png", b"\0\1\2\xff", OCTETS),
        ("evil.txt", b"\0\1\2\xff", OCTETS),
        ("evil.mp3", b'{"a": 1}', "application/json"),
    ],
    ids=in_short,
)
def test_a_name_may_lie(name: str, content: bytes, mime: str) -> None:
    assert mime_of(name, content) == mime


@pytest.mark.parametrize(
    ("name", "content", "mime"),
    [
        ("a.md", b"<html> is a tag", "text/markdown"),
        ("A.CSV", b"a,b", "text/csv"),
        ("a.html", b"<p>a fragment", "text/html"),
        ("a.json", b"{broken", "application/json"),
        ("latin.txt", "schön".encode("latin-1"), "text/plain"),
        ("wide.csv", "a,b".encode("utf-16"), "text/csv"),
        ("old.doc", b"\xd0\xcf\x11\xe0\0", "application/msword"),
        ("late.pdf", b"junk\n%PDF-1.4\n", "application/pdf"),
        ("folder.md/notes", b"hello", "text/plain"),
        ("C:\\temp\\a.py", b"x = 1", "text/x-python"),
        (".md", b"hello", "text/plain"),
        ("empty.docx", b"", WORD),
        ("empty", b"", "text/plain"),
    ],
    ids=in_short,
)
def test_a_name_counts_where_content_leaves_it_open(name: str, content: bytes, mime: str) -> None:
    assert mime_of(name, content) == mime


@pytest.mark.parametrize(
    ("content", "mime"),
    [
        ("schön".encode(), "text/plain"),
        ("ö".encode() * (1 << 20), "text/plain"),
        ("ö".encode() * (1 << 20) + b"\xc3", OCTETS),
        (b"\x1b[31mred\x1b[0m\n", "text/plain"),
        (b" [1, 2]\n", "application/json"),
        (b"[1, 2", "text/plain"),
        (b"[" * 100_000, "text/plain"),
        (b'<?xml version="1.0"?><a/>', "application/xml"),
        (b"<!DOCTYPE svg [<!ENTITY a 'b'>]>\n<svg:svg>", "image/svg+xml"),
        (b"<!-- never closed <html>", "text/plain"),
        (b"see %PDF- and GIF89a", "text/plain"),
    ],
    ids=in_short,
)
def test_a_text_without_a_name_is_told_by_its_start(content: bytes, mime: str) -> None:
    assert mime_of("", content) == mime


@given(st.text(), st.binary() | st.lists(st.sampled_from(PIECES) | st.binary()).map(b"".join))
def test_every_file_has_a_type_and_what_is_text_can_be_decoded(name: str, content: bytes) -> None:
    mime = mime_of(name, content)
    assert mime.count("/") == 1
    if is_text(mime, content):
        content.decode()
        assert not is_shown_binary(mime)


@given(
    st.text(st.characters(exclude_categories=["C"])), st.sampled_from(["", "a", "a.txt", "a.md"])
)
def test_plain_text_is_text(text: str, name: str) -> None:
    content = text.encode()
    assert is_text(mime_of(name, content), content) or content.startswith((b"GIF8", b"%PDF-"))


def test_text_is_what_can_be_read_and_is_no_picture() -> None:
    assert is_text("text/html; charset=utf-8", b"<p>")
    assert is_text("image/svg+xml", b"<svg/>")
    assert is_text("application/x-own", b"words")
    assert is_text("", b"words")
    assert not is_text("application/pdf", b"%PDF-1.4")
    assert not is_text("image/gif", b"GIF89a")
    assert not is_text("audio/x-own", b"words")
    assert not is_text("text/plain", b"\xff\xfe")


def test_a_model_is_shown_pdfs_and_pictures_of_pixels() -> None:
    shown = ("application/pdf", "image/png", "image/jpeg", "image/webp")
    assert all(map(is_shown_binary, shown))
    assert not any(map(is_shown_binary, ("image/svg+xml", "text/html", "video/mp4", WORD)))
