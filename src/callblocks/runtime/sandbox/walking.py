"""A walk over everything below a folder by file descriptors: no link is followed.

A job can nest folders as deep as it likes, so the walk keeps an explicit stack instead of
recursing, and does not enter folders deeper than a path may be.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from typing import NamedTuple

from callblocks.runtime.sandbox.names import DEPTH

__all__ = ("Found", "walk")

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Found(NamedTuple):
    """An entry: its path below the top, and how to reach it: `name` in the open `folder`."""

    path: str
    name: str
    folder: int
    seen: os.stat_result


class _Open(NamedTuple):
    fd: int
    base: str
    names: Iterator[os.DirEntry[str]]


def walk(top: str, skip: Callable[[str], bool] = lambda path: False) -> Iterator[Found]:
    """Yield every entry, a folder before its content; do not enter a skipped path.

    Entries that vanish meanwhile or cannot be read are skipped. Raise `OSError` for the top.
    """
    # The stack holds one open descriptor per level, so its depth is bounded by DEPTH, and with it
    # the number of open files.
    opened = [_open(os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), "")]
    try:
        while opened:
            here = opened[-1]
            entry = next(here.names, None)
            if entry is None:
                os.close(opened.pop().fd)
                continue
            path = here.base + entry.name
            seen = None if skip(path) else _look(entry.name, here.fd)
            if seen is None:
                continue
            yield Found(path, entry.name, here.fd, seen)
            if stat.S_ISDIR(seen.st_mode) and len(opened) < DEPTH:
                opened += _enter(entry.name, here.fd, path)
    finally:
        for here in opened:
            os.close(here.fd)


def _look(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None


def _enter(name: str, folder: int, path: str) -> list[_Open]:
    try:
        return [_open(os.open(name, _FOLDER, dir_fd=folder), f"{path}/")]
    except OSError:
        return []


def _open(fd: int, base: str) -> _Open:
    with os.scandir(fd) as entries:
        return _Open(fd, base, iter(sorted(entries, key=lambda entry: entry.name)))
