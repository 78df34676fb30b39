"""A file of the drive as a database row, and as Google's resource."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.drive_types import FOLDER, is_native

__all__ = ("ROOT", "TRASH", "Row", "new_id", "resource", "rfc3339")

# The id of the topmost folder, the same in every office.
ROOT = "0AOfficeDriveRootUk9PVA"

# The pseudo id of the trash; it is never shown.
TRASH = "trash"

_SECOND = 1_000_000_000
_LAST = 253_402_300_799 * _SECOND  # the year 9999


class Row(msgspec.Struct, frozen=True, gc=False):
    """A file or folder: its metadata, its place, and its identity on disk.

    `folder` is the id of its folder, or `TRASH`; then `origin` is its former folder. `device`,
    `inode`, `size` and `modified` tell if a file that appears elsewhere is this one.
    """

    id: str
    folder: str
    stored: str
    name: str
    mime: str
    device: int
    inode: int
    size: int
    modified: int
    created: int
    origin: str = ""
    md5: str = ""
    description: str = ""
    starred: bool = False

    @property
    def is_folder(self) -> bool:
        """True for a folder."""
        return self.mime == FOLDER

    @property
    def parent(self) -> str:
        """The id of its folder, also while in the trash."""
        return self.origin if self.folder == TRASH else self.folder


def new_id() -> str:
    """Return a unique id in Google's alphabet."""
    import secrets

    return "1" + secrets.token_urlsafe(21)[:27]


def rfc3339(nanoseconds: int) -> str:
    """Format a time as Google does: `2024-05-01T08:30:00.000Z`."""
    # Clamped, because mtimes can be set to any value.
    seconds, rest = divmod(min(max(nanoseconds, 0), _LAST), _SECOND)
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest // 1_000_000:03d}Z"


def resource(row: Row, *, link: str, trashed: bool) -> Json:
    """Return a `File` of Drive v3; `link` is its `webViewLink`."""
    shown: Json = {
        "kind": "drive#file",
        "id": row.id,
        "name": row.name,
        "mimeType": row.mime,
        "parents": [row.parent],
        "createdTime": rfc3339(row.created),
        "modifiedTime": rfc3339(row.modified),
        "trashed": trashed,
        "explicitlyTrashed": row.folder == TRASH,
        "starred": bool(row.starred),
        "ownedByMe": True,
        "webViewLink": link,
    }
    if row.description:
        shown["description"] = row.description
    if not is_native(row.mime):
        shown["size"] = str(row.size)
        shown["originalFilename"] = row.name
        shown["fileExtension"] = row.name.rpartition(".")[2] if "." in row.name else ""
    if row.md5:
        shown["md5Checksum"] = row.md5
    return shown
