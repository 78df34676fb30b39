"""The tools that create and delete files of the drive."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from callblocks.model.errors import ToolError
from callblocks.runtime.files.text import encode_text
from callblocks.toolkits.workspace.backend import Json, Office
from callblocks.toolkits.workspace.drive_input import bytes_of, require_name, type_of
from callblocks.toolkits.workspace.drive_shown import kind_of, shown_file
from callblocks.toolkits.workspace.drive_told import inside_text, trashing_text
from callblocks.toolkits.workspace.drive_types import FOLDER
from callblocks.toolkits.workspace.meant import meant_file, must_be_there
from callblocks.toolkits.workspace.real_paths import new_path, reaching, require_readable
from callblocks.tools.context import Context
from callblocks.tools.declare import tool
from callblocks.tools.tool import Tool

__all__ = ("create_tool", "delete_tool")

_Id = Annotated[str, Field(min_length=1, max_length=200)]
_Name = Annotated[str, Field(min_length=1, max_length=1000)]
_Text = Annotated[str, Field(max_length=10_000)]
_Encoding = Literal["utf-8", "base64"]


def create_tool(office: Office) -> Tool:
    """Return `drive_create`."""

    def reaches(given: Json) -> list[str]:
        mime = type_of(given["name"], given["mimeType"], given["encoding"])
        return new_path(office, given["folderId"], given["name"], mime)

    @tool(
        destructive=False,
        body="content",
        reaches=reaches,
        precheck=must_be_there(office, "folderId"),
        origin="builtin",
    )
    def drive_create(
        name: _Name,
        content: str = "",
        mimeType: str = "",
        folderId: _Id = "root",
        encoding: _Encoding = "utf-8",
        description: _Text = "",
        full: bool = False,
    ) -> Json:
        """Make a file of the drive; with the type of a folder a folder, of a document a document.

        Args:
            name: the name, such as report.csv; another file of that name stays as it is
            content: what the file shall hold, as text or in base64; a document's is Markdown
            mimeType: such as text/csv; guessed from the name if not given. Also folder, or document
            folderId: the id of the folder to put it in; root is the topmost
            encoding: how the content is written
            description: a few words about it
            full: all that is known of the new file, as the Drive API gives it
        """
        mime = type_of(name, mimeType, encoding)
        if mime == FOLDER and content:
            raise _invalid("content", "a folder has no content; make a file in it")
        metadata: Json = {"name": require_name(name), "mimeType": mime, "parents": [folderId]}
        if description:
            encode_text(description)
            metadata["description"] = description
        held = None if mime == FOLDER else bytes_of(content, encoding)
        with meant_file(office, folderId):
            return shown_file(office.drive.create(metadata, held), full=full)

    return drive_create


def delete_tool(office: Office) -> Tool:
    """Return `drive_delete`."""

    def preview(fileId: str, permanent: bool = False) -> str:
        _refuse_root(fileId)
        with meant_file(office, fileId):
            file = office.drive.file(fileId)
        if permanent:
            return f"delete for ever {kind_of(file)}{inside_text(office, file)}"
        return trashing_text(office, file)

    @tool(
        destructive=True,
        idempotent=True,
        preview=preview,
        reaches=reaching(office, "fileId", below=True),
        origin="builtin",
    )
    def drive_delete(fileId: _Id, context: Context, permanent: bool = False) -> Json:
        """Throw a file or folder of the drive away; drive_update with trashed=false undoes it.

        Args:
            fileId: the id of the file, or of a folder with all that is in it
            permanent: delete it for ever instead; nothing undoes that
        """
        _refuse_root(fileId)
        # The answer contains its name, which others may have chosen.
        context.taint("files of others")
        if not permanent:
            # A move to the trash changes the path. A file that a rule hides must not become
            # readable there, so it must be readable now.
            require_readable(office, context, fileId, below=True)
            with meant_file(office, fileId):
                file = office.drive.update(fileId, {"trashed": True}, None)
            return {"id": file["id"], "name": file["name"], "trashed": True}
        with meant_file(office, fileId):
            file = office.drive.file(fileId)
        office.drive.delete(fileId)
        return {"id": file["id"], "name": file["name"], "deleted": True}

    return drive_delete


def _refuse_root(file_id: str) -> None:
    if file_id == "root":
        raise _invalid("fileId", "root is the whole drive; give the id of a file in it")


def _invalid(field: str, why: str) -> ToolError:
    return ToolError("invalid_input", why, **{field: why})
