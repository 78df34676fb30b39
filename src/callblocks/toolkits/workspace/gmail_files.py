"""The attachments of an outgoing mail: files of the workspace and of the drive.

    reports/may.pdf      a path of the workspace
    drive:1AbC…          a file of the drive by its id; without `drive:` if no path is called so

A document of the drive is sent as Markdown, a spreadsheet as an Excel file.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.runtime.files.root import Root
from callblocks.toolkits.workspace.backend import Json, Office
from callblocks.toolkits.workspace.drive_shown import ENDINGS
from callblocks.toolkits.workspace.drive_types import EXPORTS, FOLDER, SPREADSHEET, is_native
from callblocks.toolkits.workspace.meant import meant_file
from callblocks.toolkits.workspace.real_paths import paths_of

if TYPE_CHECKING:
    from callblocks.toolkits.workspace.mime import Attachment

__all__ = ("attached", "carried_paths", "real_paths")

_DRIVE = "drive:"
_EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def attached(office: Office, root: Root, given: Sequence[str]) -> Iterator[Attachment]:
    """Yield the files one by one, and stop at the size limit."""
    from callblocks.toolkits.workspace.mime import require_size

    total = 0
    for one in given:
        file = _drive_file(office, root, one)
        found = _of_path(root, one) if file is None else _of_drive(office, file)
        # Base64 turns three bytes into four.
        total += len(found.content) * 4 // 3
        # Checked after each file, so that a list of large files is not read into memory as a whole.
        require_size(total)
        yield found


def real_paths(office: Office, root: Root, given: str) -> list[str]:
    """Return the workspace paths that are read, for a policy to judge."""
    file = _drive_file(office, root, given)
    paths = [given] if file is None else paths_of(office, file["id"])
    return [real for real in map(root.resolve, paths) if real is not None]


def carried_paths(root: Root, given: dict[str, Any]) -> list[str]:
    """Return the paths of everything that leaves with a mail.

    An attachment that is no file of the workspace is one of the office. A reply carries the subject
    of the answered mail.
    """
    # Called for the policy, before approval, so it must not ask the office: an id is judged as the
    # whole drive, which is the safe side.
    answers = given.get("replyTo") or given.get("threadId")
    paths = [_carried(root, one) for one in given.get("attachments", ())]
    return [*paths, "office/mail"] if answers else paths


def _carried(root: Root, given: str) -> str:
    try:
        return root.stat(given).path
    except ToolError:
        return "office/drive"


def _drive_file(office: Office, root: Root, given: str) -> Json | None:
    """Return the file of the drive that is meant; `None` for a path of the workspace."""
    if given.startswith(_DRIVE):
        wanted = given.removeprefix(_DRIVE).strip()
        with meant_file(office, wanted):
            return office.drive.file(wanted)
    try:
        root.stat(given)
    except ToolError as error:
        return _known_file(office, given) if error.code == "path_not_found" else None
    return None


def _known_file(office: Office, given: str) -> Json | None:
    try:
        return None if "/" in given else office.drive.file(given)
    except ToolError:  # then it is a path, and nothing is there
        return None


def _of_drive(office: Office, file: Json) -> Attachment:
    from callblocks.toolkits.workspace.mime import LIMIT, Attachment, require_size

    kind, name = str(file["mimeType"]), str(file["name"])
    if kind == FOLDER:
        why = f"{brief(name)} is a folder; attach the files in it one by one"
        raise ToolError("invalid_input", f"attachments: {why}", attachments=why)
    if not is_native(kind):
        require_size(min(int(file.get("size", 0)), LIMIT + 1))
        content, mime = office.drive.content(file["id"], "")
        return Attachment(_named(name), content, _plain_type(mime))
    content, mime = _exported(office, file)
    ending = ENDINGS.get(mime, "")
    return Attachment(_named(name.removesuffix(ending) + ending), content, _plain_type(mime))


def _exported(office: Office, file: Json) -> tuple[bytes, str]:
    kind = str(file["mimeType"])
    wanted = EXPORTS.get(kind, "application/pdf")
    if kind != SPREADSHEET:
        return office.drive.content(file["id"], wanted)
    try:
        return office.drive.content(file["id"], _EXCEL)
    except ToolError as error:
        if error.code != "invalid_input":
            raise
        # The Excel writer is not installed.
        return office.drive.content(file["id"], wanted)


def _of_path(root: Root, path: str) -> Attachment:
    from callblocks.toolkits.workspace.mime import LIMIT, Attachment

    content = root.read(path, LIMIT)
    mime, encoding = mimetypes.guess_type(path)
    # A compressed file has the type of its compression, not of its content.
    plain = mime if mime is not None and encoding is None else ""
    return Attachment(path.rstrip("/").rpartition("/")[2], content, _plain_type(plain))


def _named(name: str) -> str:
    """Return a file name for a header: one line, no folders."""
    return " ".join(name.replace("/", "_").replace("\\", "_").split()) or "file"


def _plain_type(mime: str) -> str:
    """Return a valid type for a MIME part; a mail within a mail is sent as a plain file."""
    plain = mime.partition(";")[0].strip().lower()
    fit = "/" in plain and plain.isascii() and not plain.startswith(("message/", "multipart"))
    return plain if fit else "application/octet-stream"
