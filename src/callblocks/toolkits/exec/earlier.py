"""The choice of files of earlier turns that are copied into the sandbox.

Whole turns go in, the newest first, up to a size and a number. Of a turn that does not fit, only
those files go in that the code names: `turn_1/files/sales.csv`, `fi:turn_1.files/sales.csv`. The
search for names is textual; a path that the code computes is not found, which is why whole turns
come first.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence

import msgspec

from callblocks.runtime.sandbox.names import fault_of_path
from callblocks.runtime.sandbox.sandbox import MIB
from callblocks.runtime.sandbox.walking import walk
from callblocks.toolkits.exec.recalling import named_files

__all__ = ("LeftBehind", "left_behind")

# The copy is made for each run, so these limits bound its time. Named files have a larger budget:
# the code asked for them.
_TURNS = 50
_FILES = 2_000
_BYTES = 64 * MIB
_NAMED_BYTES = 128 * MIB


class LeftBehind(msgspec.Struct, frozen=True):
    """The paths that are not copied, and the turns of which something is.

    `foreign` is true if a file that a person attached is copied.
    """

    without: tuple[str, ...]
    turns: tuple[str, ...]
    foreign: bool


class _File(msgspec.Struct, frozen=True):
    path: str
    size: int


def left_behind(folder: str, turn: str, earlier: Sequence[str], code: str) -> LeftBehind:
    """Select what is not copied of the folder of all turns; `earlier` is sorted newest first."""
    named = {path.physical for path in named_files(code)}
    there = set(os.listdir(folder))
    # Folders that no turn of this timeline owns are left out too, except for names that are no
    # valid paths in the sandbox.
    without = [name for name in there - {turn, *earlier} if not fault_of_path(name)]
    turns: list[str] = []
    count = size = 0
    foreign = _has_attachments(folder, turn)
    for one in (name for name in earlier if name in there):
        files = list(_files(folder, one))
        whole = sum(file.size for file in files)
        # A turn that does not fit does not end the loop: an older, smaller one may still fit.
        fits = len(turns) < _TURNS and count + len(files) <= _FILES and size + whole <= _BYTES
        kept = files if fits else list(_named(files, named, _NAMED_BYTES - size))
        turns += [one] if kept else []
        count, size = count + len(kept), size + sum(file.size for file in kept)
        without += _without(one, files, kept)
        foreign = foreign or (bool(kept) and _has_attachments(folder, one))
    return LeftBehind(tuple(sorted(without)), tuple(turns), foreign)


def _files(folder: str, turn: str) -> Iterator[_File]:
    for found in walk(os.path.join(folder, turn)):
        path = f"{turn}/{found.path}"
        if stat.S_ISREG(found.seen.st_mode) and not fault_of_path(path):
            yield _File(path, found.seen.st_size)


def _named(files: list[_File], named: set[str], room: int) -> Iterator[_File]:
    for file in files:
        if file.size <= room and file.path in named:
            room -= file.size
            yield file


def _without(turn: str, files: list[_File], kept: list[_File]) -> list[str]:
    if not kept:
        return [turn]
    names = {file.path for file in kept}
    return [file.path for file in files if file.path not in names]


def _has_attachments(folder: str, turn: str) -> bool:
    try:
        return bool(os.listdir(os.path.join(folder, turn, "attachments")))
    except OSError:
        return False
