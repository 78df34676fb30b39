"""The tables that become sheets: from Markdown, CSV or rows."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from callblocks.toolkits.rendering.faults import Unrenderable
from callblocks.toolkits.rendering.grids import grid_of
from callblocks.toolkits.rendering.outside import Outside
from callblocks.toolkits.rendering.reading import Document, plain_text, read_markdown
from callblocks.toolkits.rendering.wire import Job

__all__ = ("SheetTable", "tables_of")

_SIGNS = ",;\t|"
_LONGEST = 32_000


class SheetTable(msgspec.Struct, frozen=True):
    """A named table; its first `heads` rows are the head."""

    name: str
    rows: list[list[Any]]
    heads: int = 1


def tables_of(job: Job, outside: Outside) -> tuple[list[SheetTable], Document | None]:
    """Return every table of a job, and the document that contains them, if any."""
    if job.rows is not None:
        return [SheetTable(job.title, [*_lists(job.rows)])], None
    if not job.content.strip():
        raise Unrenderable("document_empty", "there is no table; give some content, or rows")
    if job.format == "csv":
        return [SheetTable(job.title, _csv(job.content))], None
    document = read_markdown(job, outside)
    found = [*_markdown(document)]
    if not found:
        words = "the Markdown has no table; write one with |, or give csv or rows"
        raise Unrenderable("no_table", words)
    return found, document


def _markdown(document: Document) -> Iterator[SheetTable]:
    heading = ""
    for block in document.blocks:
        if block.type == "heading":
            heading = plain_text(block).strip()
        for table in block.walk() if block.type != "heading" else ():
            if table.type == "table" and (grid := grid_of(table)).rows:
                rows = [[cell.text.strip() for cell in row] for row in grid.rows]
                yield SheetTable(heading, rows, grid.heads)


def _csv(text: str) -> list[list[Any]]:
    """Parse CSV with the delimiter that is most frequent in the first line."""
    first = text.lstrip("\ufeff").partition("\n")[0]
    sign = max(_SIGNS, key=first.count)
    # The default limit of 128 KiB per field is a global of the module; the process has one
    # document.
    csv.field_size_limit(_LONGEST * 4)
    try:
        return [*csv.reader(text.lstrip("\ufeff").splitlines(keepends=True), delimiter=sign)]
    except csv.Error as error:
        raise Unrenderable("document_invalid", f"this is no CSV: {error}") from error


def _lists(rows: list[Any]) -> Iterator[list[Any]]:
    """Yield rows as lists; objects contribute their keys as the head."""
    named = [cast("Mapping[str, Any]", row) for row in rows if isinstance(row, Mapping)]
    keys = list(dict.fromkeys(key for row in named for key in row))
    if keys:
        yield list(keys)
    for row in rows:
        if isinstance(row, Mapping):
            yield [cast("Mapping[str, Any]", row).get(key) for key in keys]
        else:
            yield list(cast("list[Any]", row)) if isinstance(row, list) else [row]
