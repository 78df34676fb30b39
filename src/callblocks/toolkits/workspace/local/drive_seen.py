"""Rows for entries that a scan found: new, moved by hand, or changed."""

from __future__ import annotations

import os
import stat

import msgspec

from callblocks.toolkits.workspace.drive_types import FOLDER, is_native
from callblocks.toolkits.workspace.local.drive_names import SUFFIXES, guessed_type, shown_name
from callblocks.toolkits.workspace.local.drive_row import ROOT, TRASH, Row, new_id

__all__ = ("is_folder", "moved_row", "new_row", "stamped")


def is_folder(status: os.stat_result) -> bool:
    """Tell if a status is that of a folder."""
    return stat.S_ISDIR(status.st_mode)


def stamped(row: Row, status: os.stat_result) -> Row:
    """Return a row with the file system's current data."""
    size = 0 if row.is_folder else status.st_size
    mark = (status.st_dev, status.st_ino, size, status.st_mtime_ns)
    if mark == _mark(row):
        return row
    same = mark[2:] == (row.size, row.modified)
    device, inode, size, modified = mark
    return msgspec.structs.replace(
        row,
        device=device,
        inode=inode,
        size=size,
        modified=modified,
        md5=row.md5 if same else "",
    )


def _mark(row: Row) -> tuple[int, int, int, int]:
    return (row.device, row.inode, row.size, row.modified)


def moved_row(row: Row, folder: str, stored: str, status: os.stat_result) -> Row:
    """Return the row of a file that was moved or renamed by hand."""
    new = msgspec.structs.replace(
        row,
        folder=folder,
        stored=stored,
        origin=(row.folder if row.folder != TRASH else row.origin) if folder == TRASH else "",
    )
    if stored == row.stored:
        return stamped(new, status)
    mime = row.mime
    if not is_native(mime) or not stored.endswith(SUFFIXES.get(mime, "")):
        mime = mime if row.is_folder else guessed_type(stored)
    return stamped(msgspec.structs.replace(new, name=shown_name(stored, mime), mime=mime), status)


def new_row(folder: str, stored: str, status: os.stat_result) -> Row:
    """Return the row of a file that was added by hand."""
    mime = FOLDER if is_folder(status) else guessed_type(stored)
    return stamped(
        Row(
            id=new_id(),
            folder=folder,
            stored=stored,
            name=shown_name(stored, mime),
            mime=mime,
            device=0,
            inode=0,
            size=0,
            modified=0,
            created=status.st_mtime_ns,
            origin=ROOT if folder == TRASH else "",
        ),
        status,
    )
