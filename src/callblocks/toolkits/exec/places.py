"""The folders in which code runs, and into which its promised files are written.

    a turn         <turns>/turn_2/files/x     it starts in the folder of its turn; those of earlier
                                              turns can be read: turn_1/files/y
    a workspace    <workspace>/files/x        where nothing is written down

The code works on a copy. Only files of the contract are written back, through the same checks as
every other write.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from callblocks.model.errors import BadPath, ToolError
from callblocks.model.paths import FilePath, parse_physical
from callblocks.model.written_path import written_path
from callblocks.runtime.files.root import Root
from callblocks.timeline.recorder import Recorder
from callblocks.toolkits.exec.contract import Promised
from callblocks.toolkits.exec.earlier import left_behind
from callblocks.toolkits.exec.recalling import recall
from callblocks.toolkits.terminal import OF_THE_OFFICE
from callblocks.toolkits.turn_files import FolderFiles

__all__ = ("Ground", "Place", "TurnPlace", "WorkspacePlace")

_NO_TURN = "no-turn"


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """The input of a sandbox job: see `Job`.

    With `turns`, the folders of other turns get a link in the current folder. `foreign` is true if
    files of others are included.
    """

    folder: str
    cwd: str = ""
    without: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    turns: bool = False
    foreign: bool = False


class Place(Protocol):
    """A folder in which code runs."""

    def promise(self, filename: str) -> Promised:
        """Return the path of a promised file; `ToolError("unsafe_path")` if it leads out."""
        ...

    def ground(self, code: str) -> Ground:
        """Choose the files that the code can read. It walks folders, so call it in a thread."""
        ...

    def put(self, promised: Promised, content: bytes) -> None:
        """Write a promised file; `ToolError` or `OSError` if that fails."""
        ...


class TurnPlace:
    """A turn of a timeline whose files are in a folder."""

    def __init__(self, recorder: Recorder, files: FolderFiles, turn: str) -> None:
        self._recorder = recorder
        self._files = files
        self._turn = turn

    def promise(self, filename: str) -> Promised:
        path = _written(filename, self._turn, self._turns())
        return Promised(path=path.physical, inside=path.physical)

    def ground(self, code: str) -> Ground:
        folder = self._files.make_room(self._turn)
        # Restore before choosing: a restored file must be on disk when the folder is walked.
        recall(code, self._recorder)
        # The newest turn first: `left_behind` stops copying whole turns when its budget is spent.
        earlier = [turn for turn in reversed(self._turns()) if turn != self._turn]
        left = left_behind(folder, self._turn, earlier, code)
        return Ground(
            folder=folder,
            cwd=self._turn,
            without=left.without,
            # Earlier turns and attachments are read-only in the sandbox: a contract can name only
            # files of this turn, so changes there would be lost without a word.
            read_only=(*left.turns, f"{self._turn}/attachments"),
            turns=True,
            foreign=left.foreign,
        )

    def put(self, promised: Promised, content: bytes) -> None:
        self._files.write(parse_physical(promised.path), content)

    def _turns(self) -> list[str]:
        with self._recorder.lock:
            return list(self._recorder.state.turns)


class WorkspacePlace:
    """A workspace; its files can be read, and its folder `files/` takes the promised files."""

    def __init__(self, root: Root) -> None:
        self._root = root

    def promise(self, filename: str) -> Promised:
        path = f"files/{_written(filename, _NO_TURN, ()).name}"
        return Promised(path=path, inside=path)

    def ground(self, code: str) -> Ground:
        return Ground(
            folder=str(self._root.folder),
            without=(*self._root.hidden, *OF_THE_OFFICE),
            foreign=self._root.origins.holds_foreign(),
        )

    def put(self, promised: Promised, content: bytes) -> None:
        self._root.write(promised.path, content)


def _written(filename: str, turn: str, turns: list[str] | tuple[str, ...]) -> FilePath:
    try:
        return written_path(filename, turn, turns).path
    except BadPath as error:
        raise ToolError(error.code, f"contract: {error}; nothing was run") from error
