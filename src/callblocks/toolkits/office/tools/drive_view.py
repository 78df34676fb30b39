"""A file of the drive as shown to a model: fewer fields, and its content as text.

    {"id": "1AbC…", "name": "plan.md", "mimeType": "text/markdown", "size": "120",
     "modifiedTime": "2024-05-01T08:30:00.000Z", "parents": ["0A…"], "text": "…",
     "localPath": "office/drive/plan.md"}

`localPath` is the path of a local office's file in the workspace, for other tools.
"""

from __future__ import annotations

import re

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.files.root import decode_base64, encode_text, is_text
from callblocks.timeline.artifacts.media_types import named_type
from callblocks.toolkits.office.backend import (
    DOCUMENT,
    FOLDER,
    LARGEST,
    SPREADSHEET,
    Json,
    Office,
    Page,
    is_native,
)
from callblocks.toolkits.office.drive_query import (
    And,
    Or,
    Query,
    Term,
    is_words,
    read_query,
    terms,
    write_query,
)
from callblocks.toolkits.office.tools.id_suggestions import Placed
from callblocks.tools.tool import Context

__all__ = (
    "ENDINGS",
    "bytes_of",
    "change_line",
    "cut",
    "inside_text",
    "kind_of",
    "moving_text",
    "require_name",
    "restoring_text",
    "search_query",
    "shown_content",
    "shown_file",
    "shown_page",
    "tell_absent",
    "trashing_text",
    "type_of",
    "whole",
)

# --- A field before and after, for the person who approves; cuts are always visible ---
#
#     description: 'as it was' becomes 'as it will be'

_LONGEST = 20_000


def change_line(field: str, old: object, new: object) -> str:
    """Describe a field with its old and its new value."""
    return f"{field}: {whole(old)} becomes {whole(new)}"


def whole(value: object) -> str:
    """Return a value in quotes, on one line."""
    return cut(repr(value), _LONGEST)


def cut(text: str, longest: int) -> str:
    """Return a text, or its start and the length of the rest."""
    if len(text) <= longest:
        return text
    return f"{text[:longest]}… ({len(text) - longest} more characters)"


# --- A file of the drive as shown to a model: fewer fields, and its content as text ---

_LISTED = (
    *("id", "name", "mimeType", "size", "modifiedTime", "parents", "description"),
    "localPath",
)
_ALONE = (*_LISTED, "createdTime", "webViewLink")
_UNFIT = re.compile(r"[^\w.() -]")
_OFFICE = "application/vnd.openxmlformats-officedocument."
# File suffixes of exported types.
ENDINGS = {
    "application/pdf": ".pdf",
    "application/epub+zip": ".epub",
    "application/rtf": ".rtf",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/zip": ".zip",
    f"{_OFFICE}presentationml.presentation": ".pptx",
    f"{_OFFICE}spreadsheetml.sheet": ".xlsx",
    f"{_OFFICE}wordprocessingml.document": ".docx",
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "image/svg+xml": ".svg",
    "text/csv": ".csv",
    "text/html": ".html",
    "text/markdown": ".md",
    "text/plain": ".txt",
}


def shown_page(page: Page, context: Context, *, full: bool) -> Json:
    """Return the files of a page; problems become notices."""
    for fault in page.faults:
        context.notice("workspace_damaged", fault)
    files = page.items if full else [_trimmed(file, _LISTED) for file in page.items]
    return {"files": files, "nextPageToken": page.next} if page.next else {"files": files}


def shown_file(file: Json, *, full: bool) -> Json:
    """Return one file without its content."""
    return file if full else _trimmed(file, _ALONE)


def shown_content(file: Json, content: bytes, mime: str, context: Context, *, full: bool) -> Json:
    """Return one file with its text; binary content is kept as an artifact."""
    shown = dict(file) if full else _trimmed(file, _LISTED)
    # An export may start with a byte order mark and have Windows line ends.
    if is_native(file["mimeType"]) and is_text(content):
        return {**shown, "text": content.decode("utf-8-sig").replace("\r\n", "\n")}
    if is_text(content):
        return {**shown, "text": content.decode()}
    name = _UNFIT.sub("_", file["name"])[-100:].lstrip(". ") or "file"
    ending = ENDINGS.get(mime, "") if is_native(file["mimeType"]) else ""
    try:
        kept = context.keep(f"{name}{ending}", content, mime)
    except RuntimeError:  # nothing keeps files in this run
        return {**shown, "content": f"[{len(content)} bytes of {mime}, not kept]"}
    return {**shown, "content": f"[{len(content)} bytes of {mime}, kept as {kept.path}]"}


def kind_of(file: Json) -> str:
    """Describe a file for a person: its name in quotes, its type and its size."""
    name = whole(file["name"])
    if file["mimeType"] == FOLDER:
        return f"the folder {name}"
    size = f", {file['size']} bytes" if "size" in file else ""
    return f"the file {name} ({file['mimeType']}{size})"


def _trimmed(file: Json, fields: tuple[str, ...]) -> Json:
    shown = {name: file[name] for name in fields if name in file}
    return {**shown, "trashed": True} if file.get("trashed") else shown


# --- Previews of trashing, restoring and moving a file, for the person who approves ---

_COUNTED = 100
_NAMED = 20


def trashing_text(office: Office, file: Json) -> str:
    """Describe the effect of trashing a file."""
    if file.get("explicitlyTrashed"):
        return f"{kind_of(file)} is in the trash already"
    if file.get("trashed"):
        return f"take {kind_of(file)} out of its folder in the trash; it stays in the trash"
    return f"move to the trash {kind_of(file)}{inside_text(office, file)}"


def restoring_text(office: Office, file: Json, folder: str) -> str:
    """Describe the effect of restoring a file; `folder` is where it is moved to as well, or ""."""
    if not file.get("trashed"):
        return f"{kind_of(file)} is not in the trash"
    told = f"bring back from the trash {kind_of(file)}"
    if folder or not isinstance(office.drive, Placed) or _has_folder(office, file):
        return told
    return f"{told}, to the topmost folder: the one that it was in is gone"


def moving_text(office: Office, file: Json, folder: str) -> str:
    """Describe the effect of moving a file."""
    told = f"it moves to {kind_of(office.drive.file(folder))}"
    # At Google an explicitly trashed file stays in the trash wherever it is moved.
    stays = file.get("explicitlyTrashed") and not isinstance(office.drive, Placed)
    return f"{told}, out of the trash" if file.get("trashed") and not stays else told


def inside_text(office: Office, file: Json) -> str:
    """Describe the content of a folder, as far as there is room; "" for a file."""
    if file["mimeType"] != FOLDER:
        return ""
    inside = Term("parents", "in", file["id"])
    query = And((inside, Term("trashed", "=", bool(file.get("trashed")))))
    page = office.drive.files(query=write_query(query), order="name", limit=_COUNTED, page="")
    # In a local office, items that were trashed before lie in the trash by themselves.
    is_apart = isinstance(office.drive, Placed)
    found = [one for one in page.items if not (is_apart and one.get("explicitlyTrashed"))]
    more = "more than " if page.next else ""
    names = ", ".join(whole(one["name"]) for one in found[:_NAMED])
    told = f" ({names}{' …' if len(found) > _NAMED else ''})" if names else ""
    return f" with {more}{len(found)} files and folders right in it{told}, and all below"


def _has_folder(office: Office, file: Json) -> bool:
    """Tell if the former folder of a file still exists."""
    try:
        return not any(office.drive.file(one).get("trashed") for one in file.get("parents", ()))
    except ToolError:
        return False


# --- Notices about an office as a whole ---


def tell_absent(office: Office, context: Context) -> None:
    """Add a notice if a list is empty because there is no office."""
    if getattr(office, "is_absent", False):
        context.notice(
            "no_office",
            "there is no office in this workspace yet, so there is nothing to find; what is "
            "made first makes it, and the person may lay a sample: callblocks workspace init",
        )


# --- Validation of drive tool inputs: names, types, content and searches ---

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
