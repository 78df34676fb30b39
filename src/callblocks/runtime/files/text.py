"""Text files: UTF-8 without NUL; for any other file, an error that names its type and size."""

from __future__ import annotations

import io

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.runtime.files.root import Root

__all__ = ("decode_base64", "encode_text", "is_text", "read_text", "split_lines")

_START = 4096


def is_text(content: bytes) -> bool:
    """Return whether content is UTF-8 text without NUL."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in content


def split_lines(text: str) -> list[str]:
    """Return the lines of a text with their ends; only a line feed ends a line."""
    return list(io.StringIO(text, newline="\n"))


def read_text(root: Root, path: str) -> str:
    """Return the text of a file; raise `not_text` with its type otherwise."""
    # The first block often proves that a large file is binary, without reading all of it.
    if b"\0" in root.read_start(path, _START):
        raise _not_text(root, path)
    content = root.read(path)
    if not is_text(content):
        raise _not_text(root, path)
    return content.decode()


def encode_text(content: str) -> bytes:
    """Encode text for a file; raise `not_text` if it has a lone surrogate."""
    try:
        return content.encode()
    except UnicodeEncodeError as error:
        raise ToolError(
            "not_text",
            f"the content has a lone surrogate at {error.start}, which no text file can hold; "
            "nothing was written",
        ) from error


def decode_base64(content: str) -> bytes:
    """Decode base64, ignoring white space; raise `invalid_input` if it is not base64."""
    from base64 import b64decode

    try:
        return b64decode("".join(content.split()), validate=True)
    except ValueError as error:
        raise ToolError(
            "invalid_input", f"the content is not base64 ({error}); nothing was written"
        ) from error


def _not_text(root: Root, path: str) -> ToolError:
    from mimetypes import MimeTypes

    entry = root.stat(path)
    mime = MimeTypes().guess_type(entry.path)[0] or "application/octet-stream"
    words = f"{brief(path)} is not UTF-8 text but {mime} of {entry.size} bytes"
    return ToolError("not_text", words, mime=mime, size=entry.size)
