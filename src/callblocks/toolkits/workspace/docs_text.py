"""The text of a document of Google Docs: its paragraphs and tables, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from callblocks.toolkits.workspace.backend import Json

__all__ = ("text_of",)


def text_of(document: Json) -> str:
    """The text, without the line end that every document ends with."""
    return "".join(_texts(document.get("body", {}))).removesuffix("\n")


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
    """A row on a line, with a bar between its cells."""
    for row in table.get("tableRows", ()):
        cells = ("".join(_texts(cell)) for cell in row.get("tableCells", ()))
        yield " | ".join(" ".join(cell.split()) for cell in cells) + "\n"
