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

from typing import Annotated, Literal

from pydantic import Field

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.files.root import change_text, encode_text
from callblocks.toolkits.office.backend import (
    EXPORTS,
    FOLDER,
    LARGEST,
    SPREADSHEET,
    Json,
    Office,
    is_native,
)
from callblocks.toolkits.office.drive_query import And, Query, Term, read_order, write_query
from callblocks.toolkits.office.tools.drive_view import (
    bytes_of,
    change_line,
    inside_text,
    kind_of,
    moving_text,
    require_name,
    restoring_text,
    search_query,
    shown_content,
    shown_file,
    shown_page,
    tell_absent,
    trashing_text,
    type_of,
)
from callblocks.toolkits.office.tools.id_suggestions import (
    meant_file,
    must_be_there,
    new_path,
    paths_of,
    reaching,
    readable_page,
    require_readable,
)
from callblocks.tools.declare import tool
from callblocks.tools.tool import Context, Tool

__all__ = (
    "create_tool",
    "delete_tool",
    "drive_tools",
    "update_tool",
)

# --- The tools that create and delete files of the drive ---

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


# --- The tool that changes a file of the drive: its content, its name, its folder ---

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


# --- The tools for files: list, read, create, update, delete and search ---

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
