"""Validation of drive tool inputs: names, types, content and searches."""

from __future__ import annotations

import re

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.runtime.files.text import decode_base64, encode_text
from callblocks.timeline.keeping.mime_names import named_type
from callblocks.toolkits.workspace.drive_query import And, Or, Query, Term, terms, write_query
from callblocks.toolkits.workspace.drive_query_text import is_words, read_query
from callblocks.toolkits.workspace.drive_types import (
    DOCUMENT,
    FOLDER,
    LARGEST,
    SPREADSHEET,
    is_native,
)
from callblocks.tools.context import Context

__all__ = ("bytes_of", "require_name", "search_query", "type_of")

_MIME = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,80}/[A-Za-z0-9!#$&^_.+-]{1,80}(?:;[ -~]{0,80})?")
_SHORT = {"folder": FOLDER, "document": DOCUMENT, "spreadsheet": SPREADSHEET}
_NOT_TRASHED = Term("trashed", "=", False)


def require_name(name: str, field: str = "name") -> str:
    """Return a valid name: not empty, and Unicode text."""
    if not name.strip():
        raise _invalid(field, "the name is empty")
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise _invalid(field, f"{brief(name)} has a lone surrogate, which is no text") from error
    return name


def type_of(name: str, mime: str, encoding: str) -> str:
    """Return the type of a new file: as given, guessed from its name, or plain text."""
    if not mime:
        plain = "text/plain" if encoding == "utf-8" else "application/octet-stream"
        return named_type(name) or plain
    mime = _SHORT.get(mime.strip().lower(), mime)
    if not _MIME.fullmatch(mime):
        raise _invalid("mimeType", f"{brief(mime)} is no MIME type, such as text/plain")
    if is_native(mime) and mime not in (FOLDER, DOCUMENT):
        way_out = "give a folder's, a document's or a plain type; sheets_create makes spreadsheets"
        raise _invalid("mimeType", f"files of {brief(mime)} cannot be made here; {way_out}")
    return mime


def bytes_of(content: str, encoding: str) -> bytes:
    """Return the bytes of a new content."""
    given = encode_text(content) if encoding == "utf-8" else decode_base64(content)
    if len(given) > LARGEST:
        raise ToolError(
            "file_too_large",
            f"the content has {len(given)} bytes; a file may have {LARGEST}; nothing was written",
        )
    return given


def search_query(text: str, order: str, context: Context) -> tuple[str, str]:
    """Return a search in Drive's syntax and its order; trash is excluded unless requested."""
    tree = _tree(text, context)
    fields = {term.field for term in terms(tree)}
    if "fullText" in fields and order:
        why = "files that are searched by their text come best first; leave orderBy out"
        raise _invalid("orderBy", why)
    if "trashed" not in fields:
        more = tree.items if isinstance(tree, And) else (tree,)
        tree = And((*more, _NOT_TRASHED))
    default = "" if "fullText" in fields else "modifiedTime desc"
    return write_query(tree), order or default


def _tree(text: str, context: Context) -> Query:
    try:
        return read_query(text)
    except ToolError:
        if not text.strip() or not is_words(text):
            raise
    context.notice(
        "read_as_words",
        f"{brief(text)} is not in Drive's syntax; files whose text or name has these words were "
        "searched. For more, write for example: name contains 'report' and mimeType = 'text/csv'",
    )
    words = text.strip()
    return Or((Term("fullText", "contains", words), Term("name", "contains", words)))


def _invalid(field: str, why: str) -> ToolError:
    return ToolError("invalid_input", why, **{field: why})
