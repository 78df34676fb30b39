"""Atomic files below a folder: written beside, synced, renamed, synced.

Folders are opened one by one and never through a link. A file that is being written stands in the
top folder under a name that begins with `.new-`, and is locked: one that nobody locks was left by a
process that died, and is swept.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress

__all__ = ("open_folder", "put", "read_file", "regular_files", "sweep")

_NEW = ".new-"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# NONBLOCK: a pipe in place of a file would block its reader forever.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TRIES = 8


@contextmanager
def open_folder(parent: int | str, name: str = "", *, make: bool = False) -> Generator[int]:
    """Open a folder in an open folder, or the top one by its path; `make` creates a missing one.

    The top folder may be a link: that is its owner's choice. None of the others may.
    """
    if isinstance(parent, str):
        if make:
            os.makedirs(parent, mode=0o700, exist_ok=True)
        folder = os.open(parent, _FOLDER)
    else:
        if make:
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=parent)
        folder = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=parent)
    try:
        yield folder
    finally:
        os.close(folder)


def regular_files(folder: int, sizes: range) -> Iterator[tuple[str, bytes | None]]:
    """Yield the name and the content of each file in a folder; skip links, pipes and `.names`.

    A file of another size is not read: `None`. A sparse file costs no room on a disk, and much in
    memory.
    """
    for name in sorted(os.listdir(folder)):
        is_file, content = (False, None) if name.startswith(".") else _read(folder, name, sizes)
        if is_file:
            yield name, content


def read_file(folder: int, name: str, sizes: range) -> bytes | None:
    """Return the content of a file in a folder; `None` if no file of such a size is there, or a
    link.
    """
    return _read(folder, name, sizes)[1]


def _read(folder: int, name: str, sizes: range) -> tuple[bool, bytes | None]:
    """Return whether a regular file is there, and its content."""
    try:
        opened = os.open(name, _READ, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENXIO):
            return False, None
        raise
    try:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode):
            return False, None
        # Before reading: a sparse file of a terabyte takes no room on the disk and all of the
        # memory.
        if found.st_size not in sizes:
            return True, None
        with open(opened, "rb", closefd=False) as file:
            return True, file.read(found.st_size)
    finally:
        os.close(opened)


def put(top: int, folder: int, name: str, content: bytes) -> None:
    """Replace `name` in a folder by this content, whatever was there."""
    temporary, new = _create(top)
    try:
        try:
            left = memoryview(content)
            while left:
                left = left[os.write(new, left) :]
            os.fsync(new)
            # Synced before the rename, so that the name never refers to an empty file after a power
            # cut.
            os.rename(temporary, name, src_dir_fd=top, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=top)
            raise
    finally:
        os.close(new)


def sweep(top: int) -> None:
    """Remove temporary files of processes that died."""
    for name in os.listdir(top):
        if name.startswith(_NEW):
            with suppress(OSError):
                _remove_if_left(top, name)


def _create(top: int) -> tuple[str, int]:
    import secrets

    for _ in range(_TRIES):
        name = f"{_NEW}{secrets.token_hex(8)}"
        with suppress(FileExistsError):
            new = os.open(name, _WRITE, 0o600, dir_fd=top)
            if _is_ours(new):
                return name, new
            os.close(new)
    raise FileExistsError("no name is free for a new file")


def _is_ours(new: int) -> bool:
    # Another process may sweep the file after it was created and before it is locked.
    try:
        _lock(new)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: nothing is swept there either
        pass
    return os.fstat(new).st_nlink == 1


def _lock(opened: int) -> None:
    import fcntl

    fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove_if_left(top: int, name: str) -> None:
    left = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=top)
    try:
        _lock(left)
        os.unlink(name, dir_fd=top)
    finally:
        os.close(left)
