from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import ToolError
from callblocks.guard.files.real_path import FileLimits, read_file
from callblocks.guard.files.root import (
    Root,
    decode_base64,
    encode_text,
    is_text,
    read_text,
    split_lines,
)


@pytest.mark.parametrize("content", [b"", b"a", "é🛠".encode(), b"\xef\xbb\xbfa", b"\r\x1b"])
def test_utf8_is_text(content: bytes) -> None:
    assert is_text(content)


@pytest.mark.parametrize("content", [b"\xff", b"a\0", b"\xed\xa0\x80", b"\xc3"])
def test_what_is_not_utf8_or_has_a_nul_is_no_text(content: bytes) -> None:
    assert not is_text(content)


@given(st.text())
def test_lines_are_the_text_and_end_at_line_feeds_alone(text: str) -> None:
    lines = split_lines(text)
    assert "".join(lines) == text
    *whole, last = text.split("\n")
    assert len(lines) == len(whole) + bool(last)


def test_text_is_read_as_it_is(tmp_path: Path) -> None:
    with Root(tmp_path) as root:
        (tmp_path / "a").write_bytes(b"\xef\xbb\xbf1\r\n2")
        assert read_text(root, "a") == "\ufeff1\r\n2"


@pytest.mark.parametrize(
    ("name", "content", "mime"),
    [
        ("a.png", b"\x89PNG\0", "image/png"),
        ("b.pdf", b"\xff\xfe", "application/pdf"),
        ("c", b"\0", "application/octet-stream"),
    ],
)
def test_what_is_no_text_is_said_by_type_and_size(
    tmp_path: Path, name: str, content: bytes, mime: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with Root(tmp_path) as root, pytest.raises(ToolError) as raised:
        read_text(root, name)
    assert raised.value.code == "not_text"
    assert raised.value.message == (
        f"{name!r} is not UTF-8 text but {mime} of {len(content)} bytes"
    )
    assert raised.value.details == {"mime": mime, "size": len(content)}


def test_a_large_file_that_starts_with_a_nul_is_not_read_whole(tmp_path: Path) -> None:
    with Root(tmp_path, limits=FileLimits(read=10)) as root:
        (tmp_path / "a").write_bytes(b"x" * 4095 + b"\0")
        with pytest.raises(ToolError, match="octet-stream of 4096 bytes"):
            read_text(root, "a")
        (tmp_path / "a").write_bytes(b"x" * 4096 + b"\0")
        with pytest.raises(ToolError, match="more than 10 bytes"):
            read_text(root, "a")


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_text_is_written_as_it_is(text: str) -> None:
    assert encode_text(text).decode() == text


def test_a_lone_surrogate_cannot_be_written() -> None:
    with pytest.raises(ToolError, match="lone surrogate at 2, which") as raised:
        encode_text("ab\ud800")
    assert raised.value.code == "not_text"
    assert raised.value.message.endswith("; nothing was written")


def test_base64_may_have_blanks_and_line_breaks() -> None:
    assert decode_base64(" aGVs\n bG8=\r\n") == b"hello"
    assert decode_base64("") == b""


@pytest.mark.parametrize("content", ["a", "aGVsbG8", "aGV*bG8=", "aGVsbG8é", "-_-_", "=aGk="])
def test_what_is_no_base64_is_invalid_input(content: str) -> None:
    with pytest.raises(ToolError, match=r"^the content is not base64 \(") as raised:
        decode_base64(content)
    assert raised.value.code == "invalid_input"
    assert raised.value.message.endswith("; nothing was written")


def test_the_start_of_a_file_is_read_without_a_pin(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"abcdef")
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        assert read_file("a.txt", folder, "a.txt", 3) == b"abc"
    finally:
        os.close(folder)
