"""The text of a Google document, and replacement in texts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.drive_types import LARGEST

__all__ = ("replaced", "text_of")


def text_of(document: Json) -> str:
    """Return the text without the line end that every document has."""
    return "".join(_texts(document.get("body", {}))).removesuffix("\n")


def replaced(text: str, find: str, new: str, *, match_case: bool) -> tuple[str, int]:
    """Replace `find` by `new`; return the text and the number of matches.

    A result that would be too large for a file is refused before it is built.
    """
    pattern = re.compile(re.escape(find), 0 if match_case else re.IGNORECASE)
    count = sum(1 for _ in pattern.finditer(text))
    size = len(text.encode()) + count * (len(new.encode()) - len(find.encode()))
    if size > LARGEST:
        why = f"the document would have about {size} bytes; at most {LARGEST} are kept"
        raise ToolError("file_too_large", f"{why}; nothing was replaced")
    return pattern.sub(lambda _: new, text), count


def _texts(holder: Json) -> Iterator[str]:
    for element in holder.get("content", ()):
        if "paragraph" in element:
            yield from _runs(element["paragraph"])
        elif "tableOfContents" in element:
            yield from _texts(element["tableOfContents"])
        elif "table" in element:
            yield from _rows(element["table"])


def _runs(paragraph: Json) -> Iterator[str]:
    for element in paragraph.get("elements", ()):
        if "textRun" in element:
            yield element["textRun"].get("content", "")
        elif "richLink" in element:
            yield element["richLink"].get("richLinkProperties", {}).get("title", "")
        elif "person" in element:
            yield element["person"].get("personProperties", {}).get("name", "")


def _rows(table: Json) -> Iterator[str]:
    """Yield table rows as lines, with a bar between cells."""
    for row in table.get("tableRows", ()):
        cells = ("".join(_texts(cell)) for cell in row.get("tableCells", ()))
        yield " | ".join(" ".join(cell.split()) for cell in cells) + "\n"
