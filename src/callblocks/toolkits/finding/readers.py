"""The title and the parts of a file, by its kind.

A reader takes the bytes of a file and raises `ToolError` with `not_text` or `file_invalid` if they
are something else than the name says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from callblocks.model.errors import ToolError
from callblocks.runtime.files.text import is_text
from callblocks.toolkits.finding.chunks import Part, Passage, cut_all
from callblocks.toolkits.finding.csv_rows import read_csv
from callblocks.toolkits.finding.kinds import APART, Kind
from callblocks.toolkits.finding.markdown import read_markdown
from callblocks.toolkits.finding.plain_text import read_plain
from callblocks.tools.context import Context

__all__ = ("MAX_BYTES", "Content", "read_content")

# The size limit of a file in bytes.
MAX_BYTES = 25 * 1024 * 1024


class Content(msgspec.Struct, frozen=True):
    """The title of a file ("" for none) and its passages."""

    title: str
    passages: list[Passage]


def read_content(kind: Kind, content: bytes, context: Context) -> Content:
    """Read a file; `context` receives the progress and can cancel it."""
    if kind in APART:
        from callblocks.toolkits.finding.apart import read_apart

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
