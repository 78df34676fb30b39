"""Atomic replacement of a file: the name holds all of the new content or all of the old.

A new file is written beside the old one, synced, and renamed over it; then the folder is synced.
Without the first fsync, a power cut could leave the name on an empty file; without the second, the
rename itself could be lost. The old file is never opened for writing, so other hard links to it
keep their content.

The temporary name is random, so nobody can place a link there in advance. The file is locked while
it is written: a temporary file that is not locked was left by a process that died, and the next
write removes it.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from callblocks.guard.files.open_below import flush_folder

__all__ = (
    "foreign_journal",
    "is_temporary",
    "replace",
)

_TRIES = 8
_TEMPORARY = re.compile(r"\.callblocks-[0-9a-f]{16}\.tmp")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def is_temporary(name: str) -> bool:
    """Return whether a name is one of a temporary file of ours."""
    return _TEMPORARY.fullmatch(name) is not None


def replace(
    folder: int,
    name: str,
    content: bytes,
    *,
    old: os.stat_result | None,
    executable: bool,
    overwrite: bool,
) -> None:
    """Replace the file `name` in an open folder with `content`.

    `old` is the status of the existing file: its mode and owner are kept, without setuid and
    setgid. Without `overwrite`, raise `FileExistsError` if something is there.
    """
    # Before the new file is created, so that our own temporary file is never a candidate.
    _sweep(folder)
    temporary, new = _create(folder, _mode(old, executable))
    try:
        try:
            _fill(new, content)
            if old is not None:
                _keep_owner_and_mode(new, old, executable)
            os.fsync(new)
            _take_name(folder, temporary, name, overwrite)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
    finally:
        os.close(new)
    flush_folder(folder)


def _mode(old: os.stat_result | None, executable: bool) -> int:
    if old is None:
        return 0o777 if executable else 0o666
    mode = stat.S_IMODE(old.st_mode) & 0o777
    # The right to execute is given to those who may read.
    return mode | (mode & 0o444) >> 2 if executable else mode


def _create(folder: int, mode: int) -> tuple[str, int]:
    import secrets

    for _ in range(_TRIES):
        name = f".callblocks-{secrets.token_hex(8)}.tmp"
        with suppress(FileExistsError):
            new = os.open(name, _NEW, mode, dir_fd=folder)
            if _is_ours(new):
                return name, new
            os.close(new)
    raise FileExistsError("no name is free for a temporary file")


def _is_ours(new: int) -> bool:
    # Another process may sweep the file after it was created and before it is locked. Then its link
    # count is 0, and a new name is tried.
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


def _fill(new: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(new, left) :]


def _keep_owner_and_mode(new: int, old: os.stat_result, executable: bool) -> None:
    mode = _mode(old, executable)
    try:
        os.fchown(new, old.st_uid, old.st_gid)
    except OSError:
        # The file now has another group. That group must not get more than everybody has.
        mode &= 0o707 | (mode & 0o007) << 3
    os.fchmod(new, mode)


def _take_name(folder: int, temporary: str, name: str, overwrite: bool) -> None:
    if overwrite:
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        return
    # A hard link fails if the name is taken, a rename does not: `overwrite=False` is free of races.
    os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    os.unlink(temporary, dir_fd=folder)


def _sweep(folder: int) -> None:
    for name in filter(is_temporary, os.listdir(folder)):
        with suppress(OSError):
            _remove_if_left(folder, name)


def _remove_if_left(folder: int, name: str) -> None:
    flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    left = os.open(name, flags, dir_fd=folder)
    try:
        _lock(left)
        os.unlink(name, dir_fd=folder)
    finally:
        os.close(left)


# --- Files beside an SQLite database: a journal must come from the database's own writers ---
#
#     tasks.sqlite
#     tasks.sqlite-journal     rolled back by the next process that opens the file, even for reading
#
# A rollback journal can name a super-journal, the journal of a transaction over several databases.
# SQLite deletes that file after the rollback, wherever it lies. An attacker who can put a journal
# beside a database could thus delete any file of the user. Our databases are written one by one,
# and our journals never name another file.

_BESIDE = ("-journal", "-wal", "-shm")
# The magic number of a journal header. A journal that ends with it names a super-journal.
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")


def foreign_journal(path: Path | str) -> str:
    """Return a fault of the files beside an SQLite file, worded to follow its name; "" if there is
    none.
    """
    for ending in _BESIDE:
        place = f"{path}{ending}"
        try:
            # NOFOLLOW: a link could point to any file. NONBLOCK: opening a pipe must not hang.
            opened = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            continue
        except OSError:
            return f"{os.path.basename(place)} beside it is no file that can be read; delete that"
        with open(opened, "rb") as file:
            status = os.fstat(opened)
            if not stat.S_ISREG(status.st_mode):
                return f"{os.path.basename(place)} beside it is no file; delete that"
            file.seek(max(0, status.st_size - len(_NAMES_ANOTHER)))
            if file.read() == _NAMES_ANOTHER:
                return f"{os.path.basename(place)} beside it names another file; delete that"
    return ""
