"""CSV tables: groups of rows, each under the names of the columns.

date,tide,height          heading   date | tide | height
2024-05-01,high,3.2       text      2024-05-01 | high | 3.2
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import islice

from callblocks.model.errors import ToolError
from callblocks.toolkits.finding.chunks import LENGTH, MOST, Part

__all__ = ("read_csv",)

_HEADING = 200
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
        heading = heading or row[:_HEADING]
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
