"""Text files: UTF-8 without NUL; for any other file, an error that names its type and size."""

from __future__ import annotations

import io
from collections.abc import Iterable
from itertools import takewhile

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.files.root import Root

__all__ = (
    "MAX_COMPARED",
    "change_text",
    "decode_base64",
    "encode_text",
    "is_text",
    "read_text",
    "split_lines",
)

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


# --- The text of a file change, for a person to see before approving it ---
#
#     new file notes/a.md: 2 lines, 11 bytes        --- notes/a.md
#     +hello                                        +++ notes/a.md
#     +there                                        @@ -1,2 +1,2 @@
#                                                    hello
#     photo.png: binary, 120 bytes become 300       -there
#     notes/a.md: no change                         +world
#
# Lines end at `\n` alone, so that any other line break inside a line stays visible. The text is
# never truncated, because a person approves all of it; the surface that shows it folds what is
# long.

# The most lines that are compared one by one, because `difflib` is quadratic. In longer files,
# everything between the first and the last difference counts as changed.
MAX_COMPARED = 2_000

_NO_END = "\\ No newline at end of file"


def change_text(path: str, old: bytes | None, new: bytes) -> str:
    """Describe how a file changes from `old`, or `None` where there is no file, to `new`."""
    if old == new:
        return f"{path}: no change"
    if old is None:
        return _new_file(path, new)
    if not is_text(old) or not is_text(new):
        return f"{path}: binary, {len(old)} bytes become {len(new)}"
    before, after = split_lines(old.decode()), split_lines(new.decode())
    hunks = _compare(before, after) if _is_short(before, after) else _replace(before, after)
    return _show([f"--- {path}", f"+++ {path}"], hunks)


def _new_file(path: str, new: bytes) -> str:
    if not is_text(new):
        return f"new file {path}: binary, {len(new)} bytes"
    lines = split_lines(new.decode())
    count = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
    heading = f"new file {path}: {count}, {len(new)} bytes"
    return _show([heading], _marked("+", lines))


def _is_short(before: list[str], after: list[str]) -> bool:
    return max(len(before), len(after)) <= MAX_COMPARED


def _compare(before: list[str], after: list[str]) -> Iterable[str]:
    from difflib import unified_diff

    _, _, *hunks = unified_diff(before, after)
    return (part for line in hunks for part in _marked(line[0], [line[1:]]))


def _replace(before: list[str], after: list[str]) -> Iterable[str]:
    # A common prefix and suffix are found in linear time; everything between them counts as
    # replaced.
    start = _count_same(before, after)
    rest = _count_same(before[start:][::-1], after[start:][::-1])
    gone, come = before[start : len(before) - rest], after[start : len(after) - rest]
    yield f"@@ -{start + 1},{len(gone)} +{start + 1},{len(come)} @@"
    yield from _marked("-", gone)
    yield from _marked("+", come)


def _count_same(before: list[str], after: list[str]) -> int:
    pairs = zip(before, after, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _marked(mark: str, lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        yield mark + line.removesuffix("\n")
        if not line.endswith("\n"):
            yield _NO_END


def _show(heading: list[str], lines: Iterable[str]) -> str:
    return "\n".join([*heading, *lines])
