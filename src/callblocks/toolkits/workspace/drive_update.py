"""The tool that changes a file of the drive: its content, its name, its folder."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.runtime.files.diff import change_text
from callblocks.runtime.files.text import encode_text
from callblocks.toolkits.workspace.backend import Json, Office
from callblocks.toolkits.workspace.drive_input import bytes_of, require_name, type_of
from callblocks.toolkits.workspace.drive_shown import kind_of, shown_file
from callblocks.toolkits.workspace.drive_told import (
    moving_text,
    restoring_text,
    trashing_text,
)
from callblocks.toolkits.workspace.drive_types import EXPORTS, FOLDER, LARGEST, SPREADSHEET
from callblocks.toolkits.workspace.meant import meant_file
from callblocks.toolkits.workspace.real_paths import new_path, paths_of, require_readable
from callblocks.toolkits.workspace.told_change import change_line
from callblocks.tools.context import Context
from callblocks.tools.declare import tool
from callblocks.tools.tool import Tool

__all__ = ("update_tool",)

_Id = Annotated[str, Field(min_length=1, max_length=200)]
_Text = Annotated[str, Field(max_length=10_000)]
_MOST_LINES = 500_000


def update_tool(office: Office) -> Tool:
    """Return `drive_update`."""

    def preview(
        fileId: str,
        content: str | None = None,
        name: str = "",
        mimeType: str = "",
        folderId: str = "",
        description: str | None = None,
        encoding: str = "utf-8",
        trashed: bool | None = None,
        full: bool = False,
    ) -> str:
        changes = _changes(name, mimeType, description, trashed, folderId)
        held = _held(content, encoding, changes, folderId)
        with meant_file(office, fileId, folderId):
            file = office.drive.file(fileId)
            lines = [f"change {kind_of(file)}", *_said(office, file, changes, folderId)]
        if held is not None:
            lines.append(_diff(office, file, held))
        return "\n".join(lines if len(lines) > 1 else (*lines, "no change"))

    def reaches(given: Json) -> list[str]:
        moved = _new_place(office, given["fileId"], given["folderId"], given["name"])
        return [*paths_of(office, given["fileId"], below=True), *moved]

    @tool(
        destructive=True,
        idempotent=True,
        body="content",
        preview=preview,
        reaches=None if getattr(office, "is_shared", False) else reaches,
        origin="builtin",
    )
    def drive_update(  # noqa: PLR0913, PLR0917 each is one thing that may be changed
        fileId: _Id,
        context: Context,
        content: str | None = None,
        name: Annotated[str, Field(max_length=1000)] = "",
        mimeType: str = "",
        folderId: Annotated[str, Field(max_length=200)] = "",
        description: _Text | None = None,
        encoding: Literal["utf-8", "base64"] = "utf-8",
        trashed: bool | None = None,
        full: bool = False,
    ) -> Json:
        """Change a file of the drive: what it holds, its name, its folder, or bring it back.

        Args:
            fileId: the id of the file
            content: all that it shall hold from now on; what it holds stays if not given
            name: its new name
            mimeType: its new type, such as text/csv
            folderId: the id of the folder to move it to
            description: a few words about it
            encoding: how the content is written
            trashed: false brings it back from the trash, true puts it there
            full: all that is known of the file, as the Drive API gives it
        """
        changes = _changes(name, mimeType, description, trashed, folderId)
        held = _held(content, encoding, changes, folderId)
        if name or folderId or trashed:
            # A move changes the path. A file that a rule hides must not become readable elsewhere.
            require_readable(office, context, fileId, below=True)
        with meant_file(office, fileId, folderId):
            add, remove = "", ""
            if held is not None or folderId:
                file = office.drive.file(fileId)
                if held is not None:
                    _refuse_content(file)
                add, remove = _move(office, file, folderId)
            changed = office.drive.update(fileId, changes, held, add=add, remove=remove)
        # The answer says more about the file than the call did.
        context.taint("files of others")
        return shown_file(changed, full=full)

    return drive_update


def _changes(
    name: str, mime: str, description: str | None, trashed: bool | None, folder: str
) -> Json:
    if trashed and folder:
        raise _invalid("trashed", "what is in the trash lies in no folder; give one of the two")
    changes: Json = {}
    if name:
        changes["name"] = require_name(name)
    if mime:
        changes["mimeType"] = type_of("", mime, "utf-8")
    if description is not None:
        encode_text(description)
        changes["description"] = description
    if trashed is not None:
        changes["trashed"] = trashed
    return changes


def _held(content: str | None, encoding: str, changes: Json, folder: str) -> bytes | None:
    """Return the new content; refuse a call that changes nothing."""
    if content is None and not changes and not folder:
        raise ToolError("invalid_input", "nothing to change was given: content, name, folderId …")
    return None if content is None else bytes_of(content, encoding)


def _refuse_content(file: Json) -> None:
    name, mime = brief(file["name"]), file["mimeType"]
    if mime == FOLDER:
        raise _invalid("content", f"{name} is a folder and holds no text")
    if mime == SPREADSHEET:
        raise _invalid("content", f"{name} is a spreadsheet; change its cells with sheets_write")


def _new_place(office: Office, file_id: str, folder: str, name: str) -> list[str]:
    """Return the paths of a file after a move or rename; none if it stays."""
    if not folder and not name:
        return []
    try:
        file = office.drive.file(file_id)
    except ToolError:  # as the call itself will say
        return []
    above = folder or next(iter(file.get("parents", ())), "root")
    return new_path(office, above, name or file["name"], file["mimeType"])


def _move(office: Office, file: Json, folder: str) -> tuple[str, str]:
    """Return the folder that a file enters, and those that it leaves."""
    parents: list[str] = file.get("parents", [])
    if folder == "root":
        folder = office.drive.file(folder)["id"]
    if not folder or folder in parents:
        return "", ""
    return folder, ",".join(parents)


def _said(office: Office, file: Json, changes: Json, folder: str) -> list[str]:
    said = [
        change_line(field, file.get(field, ""), new)
        for field, new in changes.items()
        if field != "trashed" and file.get(field, "") != new
    ]
    added, _ = _move(office, file, folder)
    if "trashed" in changes:
        is_thrown = changes["trashed"]
        said.append(
            trashing_text(office, file) if is_thrown else restoring_text(office, file, added)
        )
    if added:
        said.append(moving_text(office, file, added))
    return said


def _diff(office: Office, file: Json, new: bytes) -> str:
    _refuse_content(file)
    size = int(file.get("size", 0))
    if size > LARGEST:
        return f"all that it holds, {size} bytes, is replaced by {len(new)} bytes"
    old, _ = office.drive.content(file["id"], EXPORTS.get(file["mimeType"], ""))
    if old.count(b"\n") + new.count(b"\n") > _MOST_LINES:
        return f"its {len(old)} bytes, in too many lines to compare, become {len(new)} bytes"
    return change_text(file["name"], old, new)


def _invalid(field: str, why: str) -> ToolError:
    return ToolError("invalid_input", why, **{field: why})
