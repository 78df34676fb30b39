"""The tools for documents: read, create, append and replace.

    docs_read      documentId                          {documentId, title, text}
    docs_create    title, text
    docs_append    documentId, text                    on a new line, at the end
    docs_replace   documentId, findText, replaceText   each place; a diff is shown before

A document is a file of the drive, too: drive_list and drive_search show its id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.files.root import change_text, encode_text
from callblocks.toolkits.office.backend import DOCUMENT, LARGEST, Json, Office
from callblocks.toolkits.office.tools.drive_view import require_name
from callblocks.toolkits.office.tools.id_suggestions import (
    meant_file,
    must_be_there,
    new_path,
    reaching,
    require_readable,
)
from callblocks.tools.declare import tool
from callblocks.tools.tool import Context, Tool

__all__ = (
    "docs_tools",
    "replaced",
    "text_of",
)

# --- The text of a Google document, and replacement in texts ---


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


# --- The tools for documents: read, create, append and replace ---

_Id = Annotated[str, Field(min_length=1, max_length=200)]
_Title = Annotated[str, Field(min_length=1, max_length=1000)]


def docs_tools(office: Office) -> tuple[Tool, ...]:
    """Return the tools for the documents of an office."""
    return (_read(office), _create(office), _append(office), _replace(office))


def _read(office: Office) -> Tool:
    @tool(
        read_only=True,
        kind="source",
        reaches=reaching(office, "documentId"),
        precheck=must_be_there(office, "documentId"),
        origin="builtin",
    )
    def docs_read(documentId: _Id, context: Context, full: bool = False) -> Json:
        """Read a document: its title and its text.

        Args:
            documentId: the id of the document, as drive_search shows it
            full: the whole resource, as the Docs API gives it
        """
        with meant_file(office, documentId):
            document = office.documents.document(documentId)
        require_readable(office, context, documentId)
        context.taint("documents of others")
        return document if full else {**_named(document), "text": text_of(document)}

    return docs_read


def _create(office: Office) -> Tool:
    @tool(
        destructive=False,
        body="text",
        reaches=lambda given: new_path(office, "root", given["title"], DOCUMENT),
        origin="builtin",
    )
    def docs_create(title: _Title, text: str = "", full: bool = False) -> Json:
        """Make a document in the topmost folder of the drive.

        Args:
            title: its title, such as Plan for May
            text: what it says
            full: the whole resource, as the Docs API gives it
        """
        document = office.documents.create(require_name(title, "title"), _plain(text))
        return document if full else _named(document)

    return docs_create


def _append(office: Office) -> Tool:
    @tool(
        destructive=False,
        body="text",
        reaches=reaching(office, "documentId"),
        precheck=must_be_there(office, "documentId"),
        origin="builtin",
    )
    def docs_append(
        documentId: _Id, text: Annotated[str, Field(min_length=1)], context: Context
    ) -> Json:
        """Add text at the end of a document, on a new line.

        Args:
            documentId: the id of the document
            text: what to add; start it with a line break to leave a line empty
        """
        with meant_file(office, documentId):
            document = office.documents.document(documentId)
        added = _plain(text)
        if not added:
            why = "the text is nothing but line breaks; give some words"
            raise ToolError("invalid_input", why, text=why)
        held = text_of(document)
        office.documents.append(documentId, f"\n{added}" if held else added)
        # The answer contains its title, which others may have chosen.
        context.taint("documents of others")
        return {**_named(document), "characters": len(held) + bool(held) + len(added)}

    return docs_append


def _replace(office: Office) -> Tool:
    def preview(documentId: str, findText: str, replaceText: str, matchCase: bool = True) -> str:
        for text in (findText, replaceText):
            encode_text(text)
        with meant_file(office, documentId):
            document = office.documents.document(documentId)
        old = text_of(document)
        new, _ = replaced(old, findText, replaceText, match_case=matchCase)
        return change_text(document["title"], encode_text(old), encode_text(new))

    @tool(
        destructive=True, preview=preview, reaches=reaching(office, "documentId"), origin="builtin"
    )
    def docs_replace(
        documentId: _Id,
        findText: Annotated[str, Field(min_length=1)],
        replaceText: str,
        context: Context,
        matchCase: bool = True,
    ) -> Json:
        """Replace a text with another at each place of a document; how many there were.

        Args:
            documentId: the id of the document
            findText: the text to look for, as it stands there
            replaceText: what to put in its place; nothing deletes it
            matchCase: whether small and capital letters differ
        """
        for text in (findText, replaceText):
            encode_text(text)
        with meant_file(office, documentId):
            count = office.documents.replace(
                documentId, findText, replaceText, match_case=matchCase
            )
        if count == 0:
            way_out = _other_case(office, documentId, findText) if matchCase else ""
            context.notice(
                "nothing_replaced",
                f"{brief(findText)} is nowhere in the document, so nothing was changed; "
                f"{way_out or 'read it with docs_read and copy the text'}",
            )
        return {"documentId": documentId, "occurrencesChanged": count}

    return docs_replace


def _other_case(office: Office, document_id: str, find: str) -> str:
    """Return a hint if the text occurs in other case; "" if it does not occur."""
    text = text_of(office.documents.document(document_id))
    _, count = replaced(text, find, find, match_case=False)
    return f"with matchCase false it is there {count} times" if count else ""


def _plain(text: str) -> str:
    """Normalize line breaks and drop those at the end."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    size = len(encode_text(plain))
    if size > LARGEST:
        raise ToolError("file_too_large", f"the text has {size} bytes; at most {LARGEST} are kept")
    return plain


def _named(document: Json) -> Json:
    return {"documentId": document["documentId"], "title": document["title"]}
