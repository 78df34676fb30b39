"""The files of turns in a folder: `<folder>/turn_1/files/report.md`.

Symbolic links are never followed, not even those that stay inside the folder, and only regular
files are read. All paths are opened relative to the descriptor of the folder, so renaming the
folder during a run cannot redirect a write. A write replaces the whole file atomically.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from callblocks.core.errors import CallerError, TimelineError, ToolError
from callblocks.core.paths import FilePath
from callblocks.core.text import brief
from callblocks.guard.files.real_path import (
    best_opener,
    look_if_there,
    naming,
    open_folder,
    read_file,
    refuse_to_replace,
    relative,
)
from callblocks.guard.files.replace_file import refuse_protected, replace
from callblocks.guard.files.root import Root
from callblocks.timeline.artifacts.artifacts import Artifacts
from callblocks.timeline.codec.call_blocks import Shape
from callblocks.timeline.recall.skills import Skills
from callblocks.timeline.recorder import Recorder
from callblocks.timeline.timeline import (
    ARTIFACTS,
    TIMELINES,
    CacheSettings,
    Timeline,
    Tokens,
    turns_folder,
)

__all__ = ("MAX_FILE", "FolderFiles", "open_recorder")

# Bytes of the largest file that is read or written.
MAX_FILE = 256 * 1024 * 1024


class FolderFiles:
    """The files of turns below one folder, which is created if it is missing.

    A folder that cannot be created or read raises `TimelineError`.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        with _kept(os.fspath(folder)):
            os.makedirs(folder, mode=0o700, exist_ok=True)
            self._root = Root(folder)

    def close(self) -> None:
        """Close the folder's descriptor."""
        self._root.close()

    def __enter__(self) -> FolderFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def turns(self) -> list[str]:
        """Return the turns that have a folder already."""
        with _kept(str(self._root.folder)):
            folder = self._root.fileno()
            # A closed folder has the descriptor -1, and `os.listdir(-1)` lists the current
            # directory. `fstat` raises instead.
            os.fstat(folder)
            return os.listdir(folder)

    def claim(self, turn: str) -> bool:
        """Create the folder of a turn; return False if it exists."""
        with _kept(str(self._root.folder)):
            # `mkdir` is the lock: of two processes that number a new turn alike, exactly one
            # succeeds.
            try:
                os.mkdir(turn, mode=0o700, dir_fd=self._root.fileno())
            except FileExistsError:
                return False
        return True

    def give_back(self, turn: str) -> None:
        """Remove the attachments and the empty folder of a turn that was claimed but not
        started.
        """
        folder = self._root.fileno()
        shutil.rmtree(f"{turn}/attachments", ignore_errors=True, dir_fd=folder)
        # `rmdir` refuses a folder that is not empty, so files of another owner of the turn survive.
        with suppress(OSError):
            os.rmdir(turn, dir_fd=folder)

    def make_room(self, turn: str) -> str:
        """Create `files/` of a turn and return the folder of all turns; `ToolError` if that
        fails.
        """
        path = f"{turn}/files"
        with naming(path):
            os.close(open_folder(self._root.fileno(), path, opener=best_opener(), make=True))
        return str(self._root.folder)

    def read(self, path: FilePath) -> bytes | None:
        """Return the content of a file, or `None` if there is no readable one."""
        try:
            with self._at(path) as (folder, name):
                # One byte more than the limit tells a file of exactly the limit from a larger one.
                content = read_file(path.physical, folder, name, MAX_FILE + 1)
        except ToolError:
            return None
        return content if len(content) <= MAX_FILE else None

    def write(self, path: FilePath, content: bytes) -> None:
        """Write a file atomically, creating its folders; `ToolError` if that fails."""
        physical = path.physical
        if len(content) > MAX_FILE:
            words = f"{brief(physical)}: {len(content)} bytes are more than {MAX_FILE}"
            raise ToolError("file_too_large", f"{words}; nothing was written")
        # Protected names (`.git`, `.bashrc` …) are refused for files that the model writes.
        # Attachments are exempt: the person chose them.
        table = self._root.protected if path.place == "files" else ()
        refuse_protected(relative(physical), table)
        with self._at(path, make=True) as (folder, name):
            old = look_if_there(folder, name)
            if old is not None:
                refuse_to_replace(physical, old, overwrite=True)
            replace(folder, name, content, old=old, executable=False, overwrite=True)

    @contextmanager
    def _at(self, path: FilePath, *, make: bool = False) -> Generator[tuple[int, str], None, None]:
        """Open the folder of a file; yield its descriptor and the file's name."""
        above, _, name = relative(path.physical).rpartition("/")
        with naming(path.physical):
            folder = open_folder(self._root.fileno(), above, opener=best_opener(), make=make)
            try:
                yield folder, name
            finally:
                os.close(folder)


@contextmanager
def _kept(folder: str) -> Generator[None, None, None]:
    """Turn an `OSError` into a `TimelineError`: a timeline cannot go on without its folder."""
    try:
        yield
    except (OSError, CallerError) as error:
        words = f"{folder}: the files of turns cannot be kept there ({error})"
        raise TimelineError("store_unavailable", words) from error


# --- A recorder and all that it needs, below one folder ---
#
#     with open_recorder("state", "trip") as recorder:
#         turn = recorder.new_turn()
#         recorder.prompt(turn, "Plan our crossing.")
#
# The store, the files of turns and the artifacts are where `callblocks run --timeline` has them in
# its state folder (see `timeline.timeline`), so the commands of `callblocks timeline` find what a
# program wrote there.


@contextmanager
def open_recorder(
    folder: str | os.PathLike[str],
    name: str,
    *,
    store: str | os.PathLike[str] | None = None,
    tokens: Tokens | None = None,
    shapes: Mapping[str, Shape] | None = None,
    skills: Skills | None = None,
    cache: CacheSettings | None = None,
    clock: Callable[[], float] = time.time,
) -> Generator[Recorder]:
    """Open the recorder of a timeline; create its folders and its store if they are missing.

    `store` is a path or a URL for a store outside of the folder. The other parameters are those of
    `Recorder`.
    """
    top = Path(folder)
    with (
        Timeline.open(top / TIMELINES if store is None else store, name) as timeline,
        FolderFiles(turns_folder(top, name, store)) as files,
    ):
        yield Recorder(
            timeline,
            files,
            Artifacts(top / ARTIFACTS),
            tokens=tokens,
            shapes=shapes,
            skills=skills,
            cache=cache,
            clock=clock,
        )
