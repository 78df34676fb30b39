from __future__ import annotations

import gzip
import struct
import zipfile
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.outcomes import FAILURES
from callblocks.timeline.artifacts import validate as wholeness
from callblocks.timeline.artifacts.validate import WrittenFile, check_written
from support.documents import WHOLE, WORD, gif, jpeg, office, pdf, png, webp, zipped

NAMES = st.sampled_from(["a.docx", "a.pptx", "a.xlsx", *WHOLE, "a", "a.txt", "a.jpeg", "a.ods"])


def code(written: WrittenFile) -> str:
    return written.error.code if written.error else ""


def words(name: str, content: bytes) -> str:
    """Why a file does not open, without what is the same for all."""
    written = check_written(name, content)
    assert code(written) == "file_invalid"
    assert written.error
    start, end = f"'{name}' does not open: ", "; write it again"
    assert written.error.message.startswith(start)
    return written.error.message.removeprefix(start).removesuffix(end)


def in_short(value: object) -> str:
    return f"{len(value)} bytes" if isinstance(value, bytes) else str(value)


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_that_is_whole_is_well(name: str) -> None:
    mime, content = WHOLE[name]
    assert check_written(name, content) == WrittenFile(len(content), mime)
    assert check_written(f"turn_1/files/{name.upper()}", content).error is None


def test_a_file_that_is_not_there_is_named() -> None:
    found = check_written("report.docx", None)
    assert (found.size, found.mime, found.warning, code(found)) == (0, WORD, "", "file_not_found")
    assert found.error
    assert found.error.message == "'report.docx' was not written; write it again"


def test_a_file_of_no_bytes_is_an_error_and_no_warning() -> None:
    found = check_written("report.pdf", b"")
    assert (found.size, found.mime, found.warning) == (0, "application/pdf", "")
    assert code(found) == "empty_file"


@pytest.mark.parametrize(
    ("name", "least"), [("a.pdf", 500), ("a.docx", 1_000), ("a.pptx", 2_000), ("a.xlsx", 1_000)]
)
def test_an_unusually_small_file_is_warned_of(name: str, least: int) -> None:
    assert check_written(name, b"x" * (least - 1)).warning == "file_unusually_small"
    assert check_written(name, b"x" * least).warning == ""
    assert check_written("a.txt", b"x").warning == ""
    assert check_written("docx", b"x").warning == ""


def test_a_small_pdf_that_opens_is_warned_of_and_no_error() -> None:
    found = check_written("a.pdf", pdf(0))
    assert (found.warning, found.error) == ("file_unusually_small", None)


@pytest.mark.parametrize("name", sorted(set(WHOLE) - {"a.svg"}))
def test_a_file_that_is_cut_off_anywhere_does_not_open(name: str) -> None:
    _, content = WHOLE[name]
    wrong = [at for at in range(1, len(content) - 1) if not check_written(name, content[:at]).error]
    # A line end after the last word, and what only a reader of pixels would miss.
    assert len(wrong) <= 2, wrong


@pytest.mark.parametrize("name", WHOLE)
def test_text_does_not_open_as_any_of_them(name: str) -> None:
    assert code(check_written(name, b"hello " * 500)) == "file_invalid"


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.docx", office("xl/workbook.xml"), "the part word/document.xml is missing"),
        ("a.xlsx", zipped({"xl/workbook.xml": "x"}), "the part [Content_Types].xml is missing"),
        ("a.pptx", pdf(), "it is no zip file, or it is cut off"),
        ("a.odt", zipped({"a": "b"}), "it does not say so in its part mimetype"),
        ("a.epub", png(), "it is no zip file, or it is cut off"),
        ("a.pdf", png(), "it does not begin as a PDF does"),
        ("a.pdf", pdf().replace(b"startxref", b""), "it is cut off"),
        ("a.png", jpeg(), "it does not begin as a PNG does"),
        ("a.png", png()[:8] + png()[33:], "it has no header"),
        ("a.png", png()[:33] + png()[-12:], "it has no pixels"),
        ("a.png", png().replace(b"IDAT", b"IDOT"), "a check sum in it is wrong"),
        ("a.png", png()[:8], "it is cut off"),
        ("a.png", png()[:33] + png()[33:-12] * 100_001, "it is cut off"),
        ("a.jpg", gif(), "it does not begin as a JPEG does"),
        ("a.jpg", jpeg().replace(b"\xff\xc0", b"\xff\xc4"), "it has no size"),
        ("a.jpg", jpeg()[:-2], "it is cut off"),
        ("a.jpg", jpeg()[:5], "it is cut off, or damaged"),
        ("a.jpg", jpeg()[:6] + b"\xff\xe1\0\0" + jpeg()[6:], "it is cut off, or damaged"),
        ("a.jpg", b"\xff\xd8" + b"\xff\xd0" * 110_000, "it has too many parts"),
        ("a.gif", webp(), "it does not begin as a GIF does"),
        ("a.gif", gif()[:12] + b";", "it has no pixels"),
        ("a.gif", gif()[:-1], "it is cut off"),
        ("a.webp", b"RIFF\x10\0\0\0WAVEfmt ", "it does not begin as a WebP does"),
        ("a.webp", webp().replace(b"VP8L", b"ALPH"), "it has no pixels"),
        ("a.webp", webp()[:-1], "it is cut off"),
        ("a.gz", gzip.compress(b"hello", mtime=0)[:-1], "it is cut off"),
        ("a.gz", pdf(), "it is no gzip file, or it is damaged"),
        ("a.svg", b"<html>", "it does not begin as an SVG does"),
        ("a.zip", b"PK\x03\x04", "it is no zip file, or it is cut off"),
    ],
    ids=in_short,
)
def test_what_does_not_open_says_why(name: str, content: bytes, why: str) -> None:
    assert words(name, content) == why


def test_content_claims_its_type_where_the_name_claims_none() -> None:
    assert check_written("report", pdf()[:-20]).mime == "application/pdf"
    assert code(check_written("report", pdf()[:-20])) == "file_invalid"
    assert check_written("report.txt", pdf()[:-20]).error is None


def test_a_flipped_bit_in_a_part_is_found() -> None:
    content = office("word/document.xml")
    at = content.index(b"text text")
    assert "word/document.xml is damaged" in words(
        "a.docx", content[:at] + b"T" + content[at + 1 :]
    )
    packed = bytearray(zipped({"a.txt": "hello " * 500}))
    packed[40] ^= 1
    assert "a.txt is damaged" in words("a.zip", bytes(packed))


def test_a_part_that_unpacks_to_too_much_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wholeness, "UNPACKED", 1 << 20)
    bomb = {"[Content_Types].xml": "<Types/>", "word/document.xml": bytes(5 << 20)}
    assert "larger than 1 MiB" in words("a.docx", zipped(bomb))
    # What is not needed to open the file is not looked at further.
    assert check_written("a.zip", zipped({"a": bytes(5 << 20), "b": bytes(5 << 20)})).error is None
    assert check_written("a.gz", gzip.compress(bytes(5 << 20))).error is None


def test_parts_that_share_their_bytes_are_not_unpacked_again_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[int] = []
    measure = wholeness.Zip.measure

    def counted(self: wholeness.Zip, name: str, limit: int) -> int | None:
        seen.append(1)
        return measure(self, name, limit)

    monkeypatch.setattr(wholeness.Zip, "measure", counted)
    monkeypatch.setattr(wholeness, "UNPACKED", 50_000)
    # Empty blocks of a deflate stream: much to read, and nothing comes of it.
    nothing = b"\0\0\0\xff\xff" * 2_000 + zlib.compressobj(wbits=-15).flush()
    assert check_written("a.zip", shared(nothing, 500)).error is None
    assert len(seen) <= 6


def shared(packed: bytes, count: int) -> bytes:
    """A zip of many parts, all of them the same bytes, which unpack to nothing."""
    local = struct.pack("<4sHHHHHIIIHH", b"PK\x03\x04", 20, 0, 8, 0, 0, 0, len(packed), 0, 0, 0)
    rows = b"".join(
        struct.pack(
            "<4sHHHHHHIIIHHHHHII",
            *(b"PK\x01\x02", 20, 20, 0, 8, 0, 0, 0, len(packed), 0, 6, 0, 0, 0, 0, 0, 0),
        )
        + b"%06d" % number
        for number in range(count)
    )
    start = len(local) + len(packed)
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, count, count, len(rows), start, 0)
    return local + packed + rows + end


def test_a_part_that_nobody_here_can_unpack_is_believed() -> None:
    packed = bytearray(zipped({"a.txt": "hello " * 50}, zipfile.ZIP_LZMA))
    packed[60] ^= 1
    assert check_written("a.zip", bytes(packed)).error is None
    bad = zipped({"[Content_Types].xml": "x", "word/document.xml": "y"}, zipfile.ZIP_BZIP2)
    assert "is damaged" in words("a.docx", bad)


@given(NAMES, st.binary(max_size=400))
def test_whatever_was_written_there_is_an_answer(name: str, content: bytes) -> None:
    found = check_written(name, content)
    assert found.size == len(content)
    assert found.error is None or found.error.code in FAILURES


@given(st.sampled_from(sorted(WHOLE)), NAMES, st.data())
def test_whatever_is_damaged_there_is_an_answer(kind: str, name: str, data: st.DataObject) -> None:
    content = bytearray(WHOLE[kind][1])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = slice(data.draw(st.integers(0, 20)), data.draw(st.integers(1, len(content))))
    check_written(name, bytes(content))
    check_written(name, bytes(content[cut]))
