"""The folders of the drive, opened without following links.

office/drive/…      the files
office/trash/…      what was thrown away
office/.index/…     what is not finished, and caches
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec

from callblocks.guard.files.real_path import FOLDER, HERE, best_opener, look, open_folder, read_file
from callblocks.guard.files.replace_file import flush_folder, replace
from callblocks.toolkits.office.local.drive.drive_scan import REMOVING

__all__ = (
    "FolderSlot",
    "Tops",
    "Unfinished",
    "aside",
    "opened_place",
    "opened_tops",
    "remove_aside",
    "unfinished",
)

# A stat result whose mode and owner a new file gets: readable by its owner only.
_PRIVATE = os.stat_result((0o100600, 0, 0, 1, os.geteuid(), os.getegid(), 0, 0, 0, 0))


class Tops(msgspec.Struct, frozen=True):
    """The open folders of files and trash; `None` for a missing one."""

    drive: int | None
    trash: int | None


class FolderSlot(msgspec.Struct, frozen=True):
    """A name in an open folder."""

    folder: int
    name: str

    def read(self, length: int) -> bytes:
        """Return the first bytes of the file."""
        return read_file(self.name, self.folder, self.name, length)

    def look(self) -> os.stat_result:
        """Return the status without following links."""
        return look(self.folder, self.name)

    def write(self, content: bytes) -> os.stat_result:
        """Replace the content of the file."""
        replace(self.folder, self.name, content, old=self.look(), executable=False, overwrite=True)
        return self.look()

    def make(self, content: bytes | None) -> os.stat_result:
        """Create a file, or a folder if `content` is `None`; `FileExistsError` if the name is
        taken.
        """
        if content is None:
            os.mkdir(self.name, 0o700, dir_fd=self.folder)
            flush_folder(self.folder)
        else:
            replace(
                self.folder, self.name, content, old=_PRIVATE, executable=False, overwrite=False
            )
        return self.look()

    def move(self, to: FolderSlot) -> os.stat_result:
        """Move to a free place."""
        # `rename` replaces an existing file silently. All writers hold the database's lock, so the
        # check cannot race with another writer of ours.
        with suppress(FileNotFoundError):
            to.look()
            raise FileExistsError
        os.rename(self.name, to.name, src_dir_fd=self.folder, dst_dir_fd=to.folder)
        flush_folder(to.folder)
        flush_folder(self.folder)
        return to.look()

    def touch(self) -> os.stat_result:
        """Set the modification time to now."""
        os.utime(self.name, dir_fd=self.folder, follow_symlinks=False)
        return self.look()


class Unfinished(msgspec.Struct, frozen=True):
    """A private temporary folder, open."""

    path: Path
    opened: int


@contextmanager
def opened_tops(office: Path, *, make: bool = False) -> Generator[Tops, None, None]:
    """Open the folders of files and trash; with `make`, create them."""
    with ExitStack() as stack:

        def opened(name: str | Path, above: int | None) -> int | None:
            found = _open(name, above, make)
            if found is not None:
                stack.callback(os.close, found)
            return found

        top = opened(office, None)
        yield Tops(None, None) if top is None else Tops(opened("drive", top), opened("trash", top))


@contextmanager
def opened_place(top: int, path: str) -> Generator[FolderSlot, None, None]:
    """Open the folder of a path below an open folder."""
    above, _, name = path.rpartition("/")
    folder = open_folder(top, above or HERE, opener=best_opener())
    try:
        yield FolderSlot(folder, name)
    finally:
        os.close(folder)


@contextmanager
def unfinished(office: Path) -> Generator[Unfinished, None, None]:
    """Create a temporary folder for a file in the making; remove it afterwards."""
    with ExitStack() as stack:

        def made(place: Path) -> int:
            opened = _open(place, None, make=True)
            if opened is None:
                raise FileNotFoundError
            stack.callback(os.close, opened)
            return opened

        made(office)
        made(office / ".index")
        path = office / ".index" / f"new-{secrets.token_hex(8)}"
        folder = Unfinished(path, made(path))
        stack.callback(shutil.rmtree, path, ignore_errors=True)
        yield folder


def remove_aside(trash: int) -> None:
    """Delete what was set aside for deletion, also by earlier runs."""
    for name in os.listdir(trash):
        if name.startswith(REMOVING):
            with suppress(NotADirectoryError):
                shutil.rmtree(name, ignore_errors=True, dir_fd=trash)
            with suppress(FileNotFoundError, IsADirectoryError):
                os.unlink(name, dir_fd=trash)


def aside(trash: int) -> FolderSlot:
    """Return a place in the trash for files that are to be deleted."""
    return FolderSlot(trash, f"{REMOVING}{secrets.token_hex(8)}")


def _open(name: str | Path, above: int | None, make: bool) -> int | None:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=above)
    try:
        return os.open(name, FOLDER | os.O_NOFOLLOW, dir_fd=above)
    except FileNotFoundError:
        return None
