"""A file of the drive as a database row, and as Google's resource."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.files.real_path import MAX_NAME
from callblocks.guard.files.replace_file import PROTECTED, refuse_protected
from callblocks.timeline.artifacts.media_types import named_type
from callblocks.toolkits.office.backend import DOCUMENT, FOLDER, SPREADSHEET, Json, is_native
from callblocks.toolkits.office.local.database import OwnDatabase

__all__ = (
    "ROOT",
    "SUFFIXES",
    "TRASH",
    "Decision",
    "DriveFiles",
    "DriveRow",
    "Known",
    "View",
    "guessed_type",
    "new_id",
    "resource",
    "rfc3339",
    "shown_name",
    "stored_names",
)

# The id of the topmost folder, the same in every office.
ROOT = "0AOfficeDriveRootUk9PVA"

# The pseudo id of the trash; it is never shown.
TRASH = "trash"

_SECOND = 1_000_000_000
_LAST = 253_402_300_799 * _SECOND  # the year 9999


class DriveRow(msgspec.Struct, frozen=True, gc=False):
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


def resource(row: DriveRow, *, link: str, trashed: bool) -> Json:
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


# --- The database of the drive, `office/drive.sqlite`: what the file system does not store ---
#
# It has ids, names, types and the origins of trashed files. A writer holds the database from its
# first look to its last change, so two processes never act on the same view. A damaged file is set
# aside and a new one started: only ids and given names are lost.

T = TypeVar("T")

_COLUMNS = DriveRow.__struct_fields__
_NUMBERS = {"device", "inode", "size", "modified", "created", "starred"}
_TABLE = ", ".join(f"{name} {'INTEGER' if name in _NUMBERS else 'TEXT'}" for name in _COLUMNS)
_SCHEMA = f"CREATE TABLE IF NOT EXISTS files ({_TABLE}, PRIMARY KEY (id)) WITHOUT ROWID"
_LOAD = f"SELECT {', '.join(_COLUMNS)} FROM files"
_PUT = f"INSERT OR REPLACE INTO files VALUES ({', '.join('?' * len(_COLUMNS))})"
_DROP = "DELETE FROM files WHERE id = ?"

# The result of a decision: an answer, the rows to write, and the ids to drop.
Decision: TypeAlias = tuple[T, Iterable[DriveRow], Iterable[str]]


class Known(msgspec.Struct, frozen=True):
    """All files at one moment: by id, and by folder and stored name."""

    rows: dict[str, DriveRow]
    folders: dict[str, dict[str, DriveRow]]

    def changed(self, rows: Iterable[DriveRow], gone: Iterable[str]) -> Known:
        """Return a copy with rows replaced and ids removed."""
        new = self.rows | {row.id: row for row in rows}
        for one in gone:
            new.pop(one, None)
        return _known(new.values())


class DriveFiles:
    """The database of one drive, for use from several threads."""

    def __init__(self, path: Path, faults: list[str]) -> None:
        self._base = OwnDatabase(path, _SCHEMA, faults)
        self._loaded: tuple[tuple[str, int], Known] | None = None

    def known(self) -> Known:
        """Return all files; nothing is created if there is no database."""
        return self._base.read(self._load) if self._base.is_there() else _known(())

    def change(self, decide: Callable[[Known], Decision[T]]) -> T:
        """Lock the database, and apply the rows and ids that `decide` returns."""

        def write(base: sqlite3.Connection) -> tuple[T, tuple[tuple[str, int], Known]]:
            known = self._load(base)
            name, count = self._base.state(base)
            done, rows, gone = decide(known)
            rows, gone = [*rows], [*gone]
            if not rows and not gone:
                return done, ((name, count), known)
            base.executemany(_DROP, [(one,) for one in gone])
            base.executemany(_PUT, map(msgspec.structs.astuple, rows))
            return done, ((name, count + 1), known.changed(rows, gone))

        done, self._loaded = self._base.write(write)
        return done

    def _load(self, base: sqlite3.Connection) -> Known:
        # The parsed rows are cached under the database's identity and change counter: loading ten
        # thousand rows takes longer than everything else in a call.
        state = self._base.state(base)
        loaded = self._loaded
        if loaded is None or loaded[0] != state:
            loaded = self._loaded = (state, _known(map(_row, base.execute(_LOAD))))
        return loaded[1]


def _row(values: tuple[Any, ...]) -> DriveRow:
    return DriveRow(*values)


def _known(rows: Iterable[DriveRow]) -> Known:
    by_id = {row.id: row for row in rows}
    folders: dict[str, dict[str, DriveRow]] = {}
    for row in by_id.values():
        folders.setdefault(row.folder, {})[row.stored] = row
    return Known(by_id, folders)


# --- File system names for files of the drive ---
#
#     Plan            Plan.md              a document, whose name has no ending
#     a/b             a_b                  no folder comes of a name
#     .bashrc         _bashrc              nothing that steers other programs
#     Plan (again)    Plan (2).md          two files of a folder may have one name
#
# The given name is kept in the database; the stored name only says where the file lies. Given names
# may come from a hostile model or mail, so a stored name can never leave its folder, be hidden, or
# be one that other programs execute or obey.

# The suffixes of stored names that given names do not have.
SUFFIXES = {DOCUMENT: ".md", SPREADSHEET: ".sheet"}

# Characters that paths refuse, that lists hide, or that other systems treat specially.
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f/\\\\\u2028\u2029\ud800-\udfff]")
_START = re.compile(r"\A(?:[.~]|(?=[A-Za-z]:))")
_END = re.compile(r"[. ]+\Z")
# Names of SQLite's files beside a spreadsheet. A file named like a journal would be replayed.
_BESIDE = re.compile(r"\.(?=sheet-(?:journal|wal|shm)\Z)")
_ROOM = len(" (99999)")


def guessed_type(stored: str) -> str:
    """Guess the type of a file that was added by hand."""
    is_sheet = stored.endswith(SUFFIXES[SPREADSHEET])
    return SPREADSHEET if is_sheet else named_type(stored) or "application/octet-stream"


def shown_name(stored: str, mime: str) -> str:
    """Return the given name of a stored file."""
    return stored.removesuffix(SUFFIXES.get(mime, "")) or stored


def stored_names(name: str, mime: str, folder: str) -> Iterator[str]:
    """Yield candidate names for a file; `folder` is the path of its folder."""
    suffix = SUFFIXES.get(mime, "")
    stem, ending = _split(_fit(name), suffix)
    stem = _BESIDE.sub("_", _shorten(stem, MAX_NAME - len(ending.encode()) - _ROOM))
    if _is_protected(f"{folder}/{stem}{ending}".lstrip("/")):
        stem = f"_{stem}"
    yield f"{stem}{ending}"
    number = 1
    while True:
        number += 1
        yield f"{stem} ({number}){ending}"


def _fit(name: str) -> str:
    plain = _UNFIT.sub("_", unicodedata.normalize("NFC", name))
    # Format characters are invisible: two names that look alike must not be two files, and a
    # right-to-left override could hide a suffix.
    seen = "".join("_" if unicodedata.category(char) == "Cf" else char for char in plain)
    return _BESIDE.sub("_", _END.sub("", _START.sub("_", seen))) or "_"


def _split(name: str, suffix: str) -> tuple[str, str]:
    if suffix:
        return name.removesuffix(suffix) or "_", suffix
    stem, dot, ending = name.rpartition(".")
    short = dot and stem and len(ending.encode()) <= MAX_NAME // 8
    return (stem, f".{ending}") if short else (name, "")


def _shorten(text: str, length: int) -> str:
    return text.encode()[:length].decode(errors="ignore").rstrip() or "_"


def _is_protected(path: str) -> bool:
    try:
        refuse_protected(path, PROTECTED)
    except ToolError:
        return True
    return False


# --- All files of the drive at one moment: lookup, paths and resources ---

_DEEPEST = 256
_TOPS = {ROOT: "drive", TRASH: "trash"}


class View:
    """Rows by id, including the root folder."""

    def __init__(self, known: Known, office: Path) -> None:
        self.known = known
        self._office = office
        self._in_trash: dict[str, bool] = {ROOT: False, TRASH: True}

    def row(self, file_id: str) -> DriveRow:
        """Return the file of an id; `root` is the topmost folder. `not_found` if there is none."""
        if file_id in ("root", ROOT):
            return DriveRow(ROOT, "", "", "My Drive", FOLDER, 0, 0, 0, 0, 0)
        row = self.known.rows.get(file_id)
        if row is None:
            raise ToolError(
                "not_found",
                f"no file has the id {brief(file_id)}; drive_list and drive_search show ids",
            )
        return row

    def folder(self, file_id: str) -> DriveRow:
        """Return the folder of an id, as a target."""
        row = self.row(file_id)
        if not row.is_folder:
            why = f"{brief(row.name)} is a file, not a folder; give the id of a folder"
            raise ToolError("invalid_input", why, folderId=why)
        if self.is_trashed(row):
            why = f"the folder {brief(row.name)} is in the trash; restore it first"
            raise ToolError("invalid_input", why, folderId=why)
        return row

    def place(self, row: DriveRow) -> tuple[str, str]:
        """Return the top folder of a file, `drive` or `trash`, and its path below that."""
        names: list[str] = []
        at = row
        while at.id != ROOT and len(names) < _DEEPEST:
            names.append(at.stored)
            if at.folder == TRASH:
                return TRASH, "/".join(reversed(names))
            at = self.row(at.folder)
        return "drive", "/".join(reversed(names))

    def path(self, row: DriveRow) -> Path:
        """Return the path of a file."""
        top, below = self.place(row)
        return self._office / top / below

    def local_path(self, row: DriveRow) -> str:
        """Return the path of a file below the workspace."""
        return "/".join(filter(None, (self._office.name, *self.place(row))))

    def judged(self, file_id: str, *, below: bool) -> Iterator[str]:
        """Yield the paths that a file has, and had before it was trashed; none if it is missing."""
        try:
            row = self.row(file_id)
        except ToolError:
            return
        for one in (row, *(self.below(row) if below else ())):
            yield self.local_path(one)
            if self.is_trashed(one):
                yield from self._former(one)

    def _former(self, row: DriveRow) -> Iterator[str]:
        """Yield the former path of a trashed file, if its folder is known."""
        names: list[str] = []
        at = row
        while at.id != ROOT and len(names) < _DEEPEST:
            names.append(at.stored)
            above = at.parent
            if above != ROOT and above not in self.known.rows:
                return
            at = self.row(above)
        yield "/".join((self._office.name, _TOPS[ROOT], *reversed(names)))

    def is_trashed(self, row: DriveRow) -> bool:
        """Tell if a file, or a folder above it, is in the trash."""
        if row.id == ROOT:
            return False
        # Memoized by folder: a list asks this for every file, and most files share their folder.
        held = self._in_trash.get(row.folder)
        if held is None:
            above = self.known.rows.get(row.folder)
            held = self._in_trash[row.folder] = above is None or self.is_trashed(above)
        return held

    def below(self, row: DriveRow) -> Iterator[DriveRow]:
        """Yield everything in a folder at any depth."""
        for inner in self.known.folders.get(row.id, {}).values():
            yield inner
            yield from self.below(inner)

    def shown(self, row: DriveRow) -> Json:
        """Return a file as Google's resource."""
        link = self.path(row).absolute().as_uri()
        shown = resource(row, link=link, trashed=self.is_trashed(row))
        if row.mime not in (FOLDER, SPREADSHEET):
            # `localPath` is for the file tools; a `.sheet` is binary and is read by drive_read.
            shown["localPath"] = self.local_path(row)
        if row.id == ROOT:
            # The root folder has no times of its own.
            for name in ("parents", "createdTime", "modifiedTime"):
                del shown[name]
        return shown
