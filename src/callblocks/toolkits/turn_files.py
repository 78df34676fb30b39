"""The files of turns in a folder: `<folder>/turn_1/files/report.md`.

No link is followed, not even one that stays inside: what is read and written is the file of that
very path, and a device or a folder is no file. A write puts the whole file in place at once.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress

from callblocks.model.brief import brief
from callblocks.model.errors import CallerError, TimelineError, ToolError
from callblocks.model.paths import FilePath
from callblocks.runtime.files.faults import naming
from callblocks.runtime.files.names import relative
from callblocks.runtime.files.one_file import look_if_there, read_file, refuse_to_replace
from callblocks.runtime.files.openat import best_opener, open_folder
from callblocks.runtime.files.protected import refuse_protected
from callblocks.runtime.files.replace import replace
from callblocks.runtime.files.root import Root

__all__ = ("MAX_FILE", "FolderFiles")

# Bytes of the largest file that is read or written.
MAX_FILE = 256 * 1024 * 1024


class FolderFiles:
    """The files of turns below one folder, which is made if it is not there.

    A folder that cannot be made or read is a `TimelineError`.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        with _kept(os.fspath(folder)):
            os.makedirs(folder, mode=0o700, exist_ok=True)
            self._root = Root(folder)

    def close(self) -> None:
        """Let go of the folder."""
        self._root.close()

    def __enter__(self) -> FolderFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def turns(self) -> list[str]:
        """The turns that have a folder already."""
        with _kept(str(self._root.folder)):
            folder = self._root.fileno()
            # Of a folder that was let go of, listing would be that of where the program runs.
            os.fstat(folder)
            return os.listdir(folder)

    def claim(self, turn: str) -> bool:
        """Make the folder of a turn; False where it is there already."""
        with _kept(str(self._root.folder)):
            try:
                os.mkdir(turn, mode=0o700, dir_fd=self._root.fileno())
            except FileExistsError:
                return False
        return True

    def give_back(self, turn: str) -> None:
        """Remove the attachments of a turn that was claimed and not taken, and its empty folder."""
        folder = self._root.fileno()
        shutil.rmtree(f"{turn}/attachments", ignore_errors=True, dir_fd=folder)
        # Whoever has the turn may have files in it.
        with suppress(OSError):
            os.rmdir(turn, dir_fd=folder)

    def make_room(self, turn: str) -> str:
        """The folder of all turns, in which that of a turn is made; `ToolError` if it cannot be."""
        path = f"{turn}/files"
        with naming(path):
            os.close(open_folder(self._root.fileno(), path, opener=best_opener(), make=True))
        return str(self._root.folder)

    def read(self, path: FilePath) -> bytes | None:
        """The content of a file; `None` where there is none that can be read."""
        try:
            with self._at(path) as (folder, name):
                content = read_file(path.physical, folder, name, MAX_FILE + 1)
        except ToolError:
            return None
        return content if len(content) <= MAX_FILE else None

    def write(self, path: FilePath, content: bytes) -> None:
        """Write a file whole or not at all, making its folders; `ToolError` if it cannot be."""
        physical = path.physical
        if len(content) > MAX_FILE:
            words = f"{brief(physical)}: {len(content)} bytes are more than {MAX_FILE}"
            raise ToolError("file_too_large", f"{words}; nothing was written")
        # What a person attached may steer other programs; it is not the model's doing.
        table = self._root.protected if path.place == "files" else ()
        refuse_protected(relative(physical), table)
        with self._at(path, make=True) as (folder, name):
            old = look_if_there(folder, name)
            if old is not None:
                refuse_to_replace(physical, old, overwrite=True)
            replace(folder, name, content, old=old, executable=False, overwrite=True)

    @contextmanager
    def _at(self, path: FilePath, *, make: bool = False) -> Generator[tuple[int, str], None, None]:
        """The open folder of a file, and its name there."""
        above, _, name = relative(path.physical).rpartition("/")
        with naming(path.physical):
            folder = open_folder(self._root.fileno(), above, opener=best_opener(), make=make)
            try:
                yield folder, name
            finally:
                os.close(folder)


@contextmanager
def _kept(folder: str) -> Generator[None, None, None]:
    """Without the folder of its turns a timeline cannot go on."""
    try:
        yield
    except (OSError, CallerError) as error:
        words = f"{folder}: the files of turns cannot be kept there ({error})"
        raise TimelineError("store_unavailable", words) from error
