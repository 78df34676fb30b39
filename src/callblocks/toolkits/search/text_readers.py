"""The title and the parts of a file, by its kind.

A reader takes the bytes of a file and raises `ToolError` with `not_text` or `file_invalid` if they
are something else than the name says.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import msgspec

from callblocks.core.errors import ToolError
from callblocks.guard.files.root import is_text
from callblocks.toolkits.search.chunks import APART, LENGTH, MOST, Kind, Part, Passage, cut_all
from callblocks.tools.tool import Context

__all__ = (
    "MAX_BYTES",
    "Content",
    "read_content",
    "read_csv",
    "read_markdown",
    "read_plain",
)

# --- CSV tables: groups of rows, each under the names of the columns ---
#
#     date,tide,height          heading   date | tide | height
#     2024-05-01,high,3.2       text      2024-05-01 | high | 3.2

_CSV_HEADING = 200
_SAMPLE = 4_096


def read_csv(text: str) -> tuple[str, list[Part]]:
    """Return no title and the rows in groups of about one passage."""
    try:
        return "", list(islice(_parts(text), MOST))
    except csv.Error as error:
        raise ToolError("file_invalid", f"it is no CSV: {error}") from error


def _parts(text: str) -> Iterator[Part]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text))
    heading, rows, size, line = "", list[str](), 0, 1
    for number, cells in enumerate(reader):
        row = " | ".join(cell.strip() for cell in cells)
        heading = heading or row[:_CSV_HEADING]
        if number > 0 and size + len(row) > LENGTH:
            yield Part(text="\n".join(rows), heading=heading, line=line)
            # `line_num` counts physical lines: a quoted cell may contain line breaks.
            rows, size, line = [], 0, reader.line_num
        rows.append(row)
        size += len(row) + 1
    yield Part(text="\n".join(rows), heading=heading, line=line)


def _delimiter(text: str) -> str:
    """Guess the delimiter: the candidate that occurs most often in the first line."""
    first = text[:_SAMPLE].partition("\n")[0]
    return max(",;\t|", key=first.count)


# --- Markdown: a part for each section, with the headings that lead to it ---
#
#     # Plan            Plan
#     ## Tides          Plan › Tides
#
# A `#` inside a fence of code is no heading.

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LONGEST = 120


def read_markdown(text: str) -> tuple[str, list[Part]]:
    """Return the first heading and the sections."""
    lines = text.split("\n")
    starts = list(islice(_headings(lines), MOST))
    title = starts[0][2] if starts else ""
    return title, list(_sections(lines, starts))


def _sections(lines: list[str], starts: list[tuple[int, int, str]]) -> Iterator[Part]:
    """Yield the text before the first heading, then each section."""
    first = starts[0][0] if starts else len(lines)
    yield Part(text="\n".join(lines[:first]), line=1)
    trail: dict[int, str] = {}
    ends = [*(start for start, _, _ in starts[1:]), len(lines)]
    for (start, level, heading), end in zip(starts, ends, strict=False):
        # A heading ends all headings of its own level and below. Skipped levels are fine: the trail
        # is a map, not a list.
        trail = {above: words for above, words in trail.items() if above < level}
        trail[level] = heading
        where = " › ".join(words for words in trail.values() if words)
        yield Part(text="\n".join(lines[start:end]), heading=where, line=start + 1)


def _headings(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the line, the level and the text of each heading."""
    fence = ""
    for at, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence:
            # A closing fence is at least as long as the opening one and has no info string
            # (CommonMark 4.5).
            if mark and mark[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
        elif mark:
            fence = mark[1]
        elif found := _HEADING.match(line):
            yield at, len(found[1]), (found[2] or "").strip(" \t#")[:_LONGEST]


# --- Plain text and source code: one part, which is cut at paragraphs ---


def read_plain(text: str) -> tuple[str, list[Part]]:
    """Return no title and the whole text."""
    return "", [Part(text=text, line=1)]


# --- The title and the parts of a file, by its kind ---

# The size limit of a file in bytes.
MAX_BYTES = 25 * 1024 * 1024


class Content(msgspec.Struct, frozen=True):
    """The title of a file ("" for none) and its passages."""

    title: str
    passages: list[Passage]


def read_content(kind: Kind, content: bytes, context: Context) -> Content:
    """Read a file; `context` receives the progress and can cancel it."""
    if kind in APART:
        from callblocks.toolkits.search.reader_process import read_apart

        title, parts = read_apart(kind, content, context)
        return Content(title, cut_all(parts))
    title, parts = _READERS[kind](_decoded(content))
    return Content(title, cut_all(parts))


_READERS: dict[Kind, Callable[[str], tuple[str, Iterable[Part]]]] = {
    "text": read_plain,
    "markdown": read_markdown,
    "csv": read_csv,
}


def _decoded(content: bytes) -> str:
    if not is_text(content):
        raise ToolError(
            "not_text", "it is not UTF-8 text, nor PDF, DOCX or HTML by its name; it has no words"
        )
    return content.decode("utf-8-sig").replace("\r\n", "\n")
