"""Where the drive's files lie: the folders of the office, opened so that no link is ever passed.

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

from callblocks.runtime.files.names import HERE
from callblocks.runtime.files.one_file import look, read_file
from callblocks.runtime.files.openat import FOLDER, best_opener, flush_folder, open_folder
from callblocks.runtime.files.replace import replace
from callblocks.toolkits.workspace.local.drive_scan import REMOVING

__all__ = (
    "Place",
    "Tops",
    "Unfinished",
    "aside",
    "opened_place",
    "opened_tops",
    "remove_aside",
    "unfinished",
)

# A new file is its owner's alone.
_PRIVATE = os.stat_result((0o100600, 0, 0, 1, os.geteuid(), os.getegid(), 0, 0, 0, 0))


class Tops(msgspec.Struct, frozen=True):
    """The open folders of files and of trash; `None` is one that is not there."""

    drive: int | None
    trash: int | None


class Place(msgspec.Struct, frozen=True):
    """A name in an open folder."""

    folder: int
    name: str

    def read(self, length: int) -> bytes:
        """The first bytes of the file."""
        return read_file(self.name, self.folder, self.name, length)

    def look(self) -> os.stat_result:
        """What is there; a link is a link."""
        return look(self.folder, self.name)

    def write(self, content: bytes) -> os.stat_result:
        """Put other content in place of a file."""
        replace(self.folder, self.name, content, old=self.look(), executable=False, overwrite=True)
        return self.look()

    def make(self, content: bytes | None) -> os.stat_result:
        """Make a file, or without content a folder; `FileExistsError` if the name is taken."""
        if content is None:
            os.mkdir(self.name, 0o700, dir_fd=self.folder)
            flush_folder(self.folder)
        else:
            replace(
                self.folder, self.name, content, old=_PRIVATE, executable=False, overwrite=False
            )
        return self.look()

    def move(self, to: Place) -> os.stat_result:
        """Take a new place, on nothing that is there."""
        with suppress(FileNotFoundError):
            to.look()
            raise FileExistsError
        os.rename(self.name, to.name, src_dir_fd=self.folder, dst_dir_fd=to.folder)
        flush_folder(to.folder)
        flush_folder(self.folder)
        return to.look()

    def touch(self) -> os.stat_result:
        """Set the time of its last change to now."""
        os.utime(self.name, dir_fd=self.folder, follow_symlinks=False)
        return self.look()


class Unfinished(msgspec.Struct, frozen=True):
    """A folder of one's own, open."""

    path: Path
    opened: int


@contextmanager
def opened_tops(office: Path, *, make: bool = False) -> Generator[Tops, None, None]:
    """Open the folders of files and of trash; with `make`, they are made first."""
    with ExitStack() as stack:

        def opened(name: str | Path, above: int | None) -> int | None:
            found = _open(name, above, make)
            if found is not None:
                stack.callback(os.close, found)
            return found

        top = opened(office, None)
        yield Tops(None, None) if top is None else Tops(opened("drive", top), opened("trash", top))


@contextmanager
def opened_place(top: int, path: str) -> Generator[Place, None, None]:
    """The place at a path below an open folder."""
    above, _, name = path.rpartition("/")
    folder = open_folder(top, above or HERE, opener=best_opener())
    try:
        yield Place(folder, name)
    finally:
        os.close(folder)


@contextmanager
def unfinished(office: Path) -> Generator[Unfinished, None, None]:
    """A folder for a file that is still being made, gone afterwards."""
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
    """Delete for ever what was put aside for that, also what an earlier run has left."""
    for name in os.listdir(trash):
        if name.startswith(REMOVING):
            with suppress(NotADirectoryError):
                shutil.rmtree(name, ignore_errors=True, dir_fd=trash)
            with suppress(FileNotFoundError, IsADirectoryError):
                os.unlink(name, dir_fd=trash)


def aside(trash: int) -> Place:
    """A place in the trash from which nothing comes back."""
    return Place(trash, f"{REMOVING}{secrets.token_hex(8)}")


def _open(name: str | Path, above: int | None, make: bool) -> int | None:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=above)
    try:
        return os.open(name, FOLDER | os.O_NOFOLLOW, dir_fd=above)
    except FileNotFoundError:
        return None
