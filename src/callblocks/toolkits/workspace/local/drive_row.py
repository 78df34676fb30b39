"""One file of the drive, as the database has it, and how Google would show it."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.drive_types import FOLDER, is_native

__all__ = ("ROOT", "TRASH", "Row", "new_id", "resource", "rfc3339")

# The id of the topmost folder, the same in every office.
ROOT = "0AOfficeDriveRootUk9PVA"

# Stands for the folder of what was thrown away; nobody sees it as an id.
TRASH = "trash"

_SECOND = 1_000_000_000
_LAST = 253_402_300_799 * _SECOND  # the year 9999


class Row(msgspec.Struct, frozen=True, gc=False):
    """A file or folder: what it is, where it lies, and by what it is known again.

    `folder` is the id of the folder it lies in, or `TRASH`; then `origin` is where it came from.
    `device`, `inode`, `size` and `modified` tell whether a file seen elsewhere is this one.
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
        """Whether it holds files."""
        return self.mime == FOLDER

    @property
    def parent(self) -> str:
        """The folder it belongs to, in the trash too."""
        return self.origin if self.folder == TRASH else self.folder


def new_id() -> str:
    """An id that nothing else has, in the letters that Google uses."""
    import secrets

    return "1" + secrets.token_urlsafe(21)[:27]


def rfc3339(nanoseconds: int) -> str:
    """A moment as Google writes it: `2024-05-01T08:30:00.000Z`."""
    # A file's time may be set to anything by hand.
    seconds, rest = divmod(min(max(nanoseconds, 0), _LAST), _SECOND)
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest // 1_000_000:03d}Z"


def resource(row: Row, *, link: str, trashed: bool) -> Json:
    """A `File` of Drive v3; `link` is where a person opens it."""
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
