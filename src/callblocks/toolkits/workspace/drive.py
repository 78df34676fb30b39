"""The tools for files: list, read, create, update, delete and search.

    drive_list     folderId, maxResults           what is in a folder; folders first
    drive_read     fileId                         text; documents as Markdown, sheets as CSV
    drive_create   name, content, mimeType        a file, a folder or a document
    drive_update   fileId, content, name …        what it holds, its name, its folder
    drive_delete   fileId, permanent              to the trash, or for ever
    drive_search   query, maxResults              in the syntax of Drive's own search

What files hold is text of others, and so are their names: reading them taints the turn.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json, Office
from callblocks.toolkits.workspace.drive_changes import create_tool, delete_tool
from callblocks.toolkits.workspace.drive_input import search_query
from callblocks.toolkits.workspace.drive_order import read_order
from callblocks.toolkits.workspace.drive_query import And, Query, Term, write_query
from callblocks.toolkits.workspace.drive_shown import shown_content, shown_page
from callblocks.toolkits.workspace.drive_types import EXPORTS, FOLDER, LARGEST, is_native
from callblocks.toolkits.workspace.drive_update import update_tool
from callblocks.toolkits.workspace.meant import meant_file, must_be_there
from callblocks.toolkits.workspace.office_notices import tell_absent
from callblocks.toolkits.workspace.real_paths import reaching, readable_page, require_readable
from callblocks.tools.context import Context
from callblocks.tools.declare import tool
from callblocks.tools.tool import Tool

__all__ = ("drive_tools",)

_Count = Annotated[int, Field(ge=1, le=100)]
_Id = Annotated[str, Field(min_length=1, max_length=200)]
_TAINT = "files of others"


def drive_tools(office: Office) -> tuple[Tool, ...]:
    """Return the tools for the files of an office."""
    return (
        _list(office),
        _read(office),
        create_tool(office),
        update_tool(office),
        delete_tool(office),
        _search(office),
    )


def _list(office: Office) -> Tool:
    @tool(
        read_only=True,
        kind="source",
        reaches=reaching(office, "folderId"),
        precheck=must_be_there(office, "folderId"),
        origin="builtin",
    )
    def drive_list(
        context: Context,
        folderId: _Id = "root",
        maxResults: _Count = 10,
        pageToken: str = "",
        orderBy: str = "folder,name",
        trashed: bool = False,
        full: bool = False,
    ) -> Json:
        """List what is in a folder of the drive: id, name, type, size and time of each file.

        Args:
            folderId: the id of a folder; root is the topmost
            maxResults: how many files, at most 100
            pageToken: the nextPageToken of the page before
            orderBy: such as modifiedTime desc, or folder,name
            trashed: list what was thrown away instead; with root, all of it
            full: whole resources, as the Drive API gives them
        """
        read_order(orderBy)
        with meant_file(office, folderId):
            page = office.drive.files(
                query=write_query(_in_folder(folderId, trashed)),
                order=orderBy,
                limit=maxResults,
                page=pageToken,
            )
            if not page.items and not pageToken and folderId != "root":
                _require_folder(office.drive.file(folderId))
        tell_absent(office, context)
        context.taint(_TAINT)
        return shown_page(readable_page(page, context), context, full=full)

    return drive_list


def _require_folder(file: Json) -> None:
    """Refuse to list a file: the result would look like an empty folder."""
    if file["mimeType"] != FOLDER:
        why = f"{brief(file['name'])} is a file, not a folder; read it with drive_read"
        raise _invalid("folderId", why)


def _in_folder(folder: str, trashed: bool) -> Query:
    thrown = Term("trashed", "=", trashed)
    if trashed and folder == "root":
        return thrown
    return And((Term("parents", "in", folder), thrown))


def _read(office: Office) -> Tool:
    @tool(
        read_only=True,
        kind="source",
        reaches=reaching(office, "fileId"),
        precheck=must_be_there(office, "fileId"),
        origin="builtin",
    )
    def drive_read(fileId: _Id, context: Context, mimeType: str = "", full: bool = False) -> Json:
        """Read a file of the drive: its text, or for a picture and the like a kept copy.

        Args:
            fileId: the id of the file, as drive_list and drive_search show it
            mimeType: what to export a document or spreadsheet as; text/markdown and text/csv if
                not given
            full: all that is known of the file, as the Drive API gives it
        """
        with meant_file(office, fileId):
            file = office.drive.file(fileId)
        require_readable(office, context, fileId)
        kind: str = file["mimeType"]
        if kind == FOLDER:
            raise _invalid("fileId", f"{brief(file['name'])} is a folder; see it with drive_list")
        wanted = (mimeType or EXPORTS.get(kind, "")) if is_native(kind) else ""
        if is_native(kind) and not wanted:
            raise _invalid("mimeType", f"a file of {kind} is exported; say as what")
        if int(file.get("size", 0)) > LARGEST and not is_native(kind):
            raise ToolError(
                "file_too_large",
                f"{brief(file['name'])} has {file['size']} bytes; at most {LARGEST} are read",
            )
        content, mime = office.drive.content(fileId, wanted)
        context.taint(_TAINT)
        return shown_content(file, content, mime, context, full=full)

    return drive_read


def _search(office: Office) -> Tool:
    @tool(read_only=True, kind="source", origin="builtin")
    def drive_search(
        query: str,
        context: Context,
        maxResults: _Count = 10,
        pageToken: str = "",
        orderBy: str = "",
        full: bool = False,
    ) -> Json:
        """Search the files of the drive; what is in the trash only if the query names trashed.

        Args:
            query: in Drive's syntax, such as name contains 'report' and modifiedTime >
                '2024-05-01', mimeType = 'text/csv', fullText contains 'budget', 'ID' in parents;
                or plain words
            maxResults: how many files, at most 100
            pageToken: the nextPageToken of the page before
            orderBy: such as name, or modifiedTime desc; not with fullText
            full: whole resources, as the Drive API gives them
        """
        read_order(orderBy)
        asked, order = search_query(query, orderBy, context)
        page = office.drive.files(query=asked, order=order, limit=maxResults, page=pageToken)
        tell_absent(office, context)
        context.taint(_TAINT)
        return shown_page(readable_page(page, context), context, full=full)

    return drive_search


def _invalid(field: str, why: str) -> ToolError:
    return ToolError("invalid_input", why, **{field: why})
