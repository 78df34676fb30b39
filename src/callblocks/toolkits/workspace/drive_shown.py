"""A file of the drive as shown to a model: fewer fields, and its content as text.

    {"id": "1AbC…", "name": "plan.md", "mimeType": "text/markdown", "size": "120",
     "modifiedTime": "2024-05-01T08:30:00.000Z", "parents": ["0A…"], "text": "…",
     "localPath": "office/drive/plan.md"}

`localPath` is the path of a local office's file in the workspace, for other tools.
"""

from __future__ import annotations

import re

from callblocks.runtime.files.text import is_text
from callblocks.toolkits.workspace.backend import Json, Page
from callblocks.toolkits.workspace.drive_types import FOLDER, is_native
from callblocks.toolkits.workspace.told_change import whole
from callblocks.tools.context import Context

__all__ = ("ENDINGS", "kind_of", "shown_content", "shown_file", "shown_page")

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
