"""The tools for files: read, list, write and upload below one workspace.

    file_read    path, start_line, lines           text, or the type and size of what is none
    file_list    path, depth                       path, kind and size of each entry
    file_write   path, content                     a diff is shown before it is approved
    file_upload  filename, content, path, encoding

The workspace itself knows which files hold text of others, and taints the turn that reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import Field

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.files.real_path import FolderEntry, unsafe
from callblocks.guard.files.root import (
    Root,
    change_text,
    decode_base64,
    encode_text,
    is_hidden,
    read_text,
    split_lines,
)
from callblocks.tools.declare import tool
from callblocks.tools.tool import Context, Tool

__all__ = ("PathText", "file_tools")

# A path below the workspace.
# The JSON Schema format marks the parameters whose values a policy compares with its path rules.
PathText = Annotated[str, Field(json_schema_extra={"format": "path"})]

Count = Annotated[int, Field(ge=1)]


def file_tools(root: Root) -> tuple[Tool, ...]:
    """Return the file tools of a workspace."""
    return (_read(root), _list(root), _write(root), _upload(root))


def _read(root: Root) -> Tool:
    def precheck(path: str, **_: object) -> None:
        # Reading zero bytes runs all checks of a read without the content.
        root.read_start(path, 0)

    @tool(read_only=True, precheck=precheck, origin="builtin")
    def file_read(
        path: PathText, context: Context, start_line: Count = 1, lines: Count | None = None
    ) -> str:
        """Read a text file of the workspace.

        Args:
            path: the file, from the workspace down, such as notes/plan.md
            start_line: the first line to read
            lines: how many lines to read; all if not given
        """
        # Only a line feed ends a line here. `str.splitlines` would also split at form feeds and
        # U+2028, and line numbers would then differ from those that an editor shows.
        whole = split_lines(read_text(root, path))
        start = start_line - 1
        part = whole[start:] if lines is None else whole[start : start + lines]
        if len(part) < len(whole):
            context.notice(
                "lines_left_out",
                f"{brief(path)} has {len(whole)} lines; here are {len(part)}, from {start_line} on",
                lines=len(whole),
            )
        return "".join(part)

    return file_read


def _list(root: Root) -> Tool:
    def precheck(path: str, **_: object) -> None:
        root.list(path, limit=0)

    @tool(read_only=True, precheck=precheck, origin="builtin")
    def file_list(
        context: Context, path: PathText = ".", depth: Count = 1
    ) -> list[dict[str, object]]:
        """List what is in a folder of the workspace: path, kind and size of each entry.

        Args:
            path: the folder, from the workspace down
            depth: how many levels to go down
        """
        listing = root.list(path, depth, hides=is_hidden)
        if not listing.complete:
            context.notice(
                "entries_left_out",
                "not all is listed: there is too much, or it cannot be read; list a folder in it",
            )
        return [_plain(entry) for entry in listing.entries]

    return file_list


def _write(root: Root) -> Tool:
    def preview(path: str, content: str) -> str:
        return _preview(root, path, lambda: encode_text(content))

    @tool(
        destructive=True,
        idempotent=True,
        kind="writer",
        body="content",
        preview=preview,
        origin="builtin",
    )
    def file_write(path: PathText, content: str) -> str:
        """Write a text file of the workspace; what was in it is replaced, its folders are made.

        Args:
            path: the file, from the workspace down, such as notes/plan.md
            content: all that the file shall hold
        """
        return _said(root.write(path, encode_text(content)))

    return file_write


def _upload(root: Root) -> Tool:
    def preview(filename: str, content: str, path: str = ".", encoding: str = "utf-8") -> str:
        # The name is checked by what follows it: a refusal is part of what is shown.
        return _preview(root, _join(path, filename), lambda: _decode(filename, content, encoding))

    @tool(
        destructive=True,
        idempotent=True,
        kind="writer",
        body="content",
        preview=preview,
        paths=lambda given: [_join(given["path"], given["filename"])],
        origin="builtin",
    )
    def file_upload(
        filename: str,
        content: str,
        path: PathText = ".",
        encoding: Literal["utf-8", "base64"] = "utf-8",
    ) -> str:
        """Save a file in the workspace, also a binary one; what had its name is replaced.

        Args:
            filename: the name of the file alone, without a folder, such as chart.png
            content: what the file shall hold, as text or in base64
            path: the folder to save it in, from the workspace down, such as pictures
            encoding: how the content is written: utf-8 for text, base64 for all else
        """
        saved = _decode(filename, content, encoding)
        return _said(root.write(_join(path, filename), saved))

    return file_upload


def _decode(filename: str, content: str, encoding: str) -> bytes:
    if "/" in filename or filename in ("", ".", ".."):
        raise unsafe(filename, "a filename names no folder; give the folder as `path`")
    return encode_text(content) if encoding == "utf-8" else decode_base64(content)


def _preview(root: Root, path: str, read: Callable[[], bytes]) -> str:
    new = read()
    return _change(root, root.writable(path), new)


def _change(root: Root, path: str, new: bytes) -> str:
    try:
        return change_text(path, root.read(path), new)
    except ToolError as error:
        if error.code == "path_not_found":
            return change_text(path, None, new)
        # A preview must not fail where the write itself would work: a file that is too large to
        # compare is still replaceable, so show the two sizes instead of a diff.
        if error.code == "file_too_large":
            return f"{path}: {root.stat(path).size} bytes, too many to compare, become {len(new)}"
        raise


def _join(folder: str, filename: str) -> str:
    return f"{folder or '.'}/{filename}"


def _plain(entry: FolderEntry) -> dict[str, object]:
    named: dict[str, object] = {"path": entry.path, "kind": entry.kind}
    return named | {"size": entry.size} if entry.kind == "file" else named


def _said(entry: FolderEntry) -> str:
    return f"wrote {entry.size} bytes to {entry.path}"
