"""Opening below a folder without following a link: the path opened is the path asked for.

Where the kernel has `openat2`, one system call does this (RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS,
RESOLVE_NO_MAGICLINKS). Elsewhere the path is walked name by name; each name is opened relative to
the folder before it and never through a link. Both give the same file or the same error; a link
anywhere is ELOOP.

Links that may be followed are resolved beforehand in `links`, and their target is opened here by
its real path. There is no window between check and use: if a name on the way becomes a link after
it was resolved, opening fails.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.files.workspace_path import HERE, wrong_type

__all__ = (
    "FOLDER",
    "STEP",
    "Opener",
    "best_opener",
    "flush_folder",
    "kernel_opener",
    "look",
    "look_if_there",
    "open_by_steps",
    "open_folder",
    "read_file",
    "refuse_read_only",
    "refuse_to_replace",
)

# `opener(folder, path, flags)` opens a normal relative path below an open folder.
Opener: TypeAlias = Callable[[int, str, int], int]

# Flags for an intermediate name, from which only the next name is opened. Systems without O_PATH
# open directories only, so that no pipe or device is opened in passing.
STEP = os.O_NOFOLLOW | getattr(os, "O_PATH", os.O_DIRECTORY)
# Flags to open a folder so that it can be read and synced.
FOLDER = os.O_RDONLY | os.O_DIRECTORY

_OPENAT2 = 437  # the same on x86_64 and aarch64
_MACHINES = ("x86_64", "aarch64")
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08


@cache
def best_opener() -> Opener:
    """Return the kernel's `openat2` if it works here, else the walk."""
    return kernel_opener() or open_by_steps


def open_by_steps(folder: int, path: str, flags: int) -> int:
    """Open `path` below `folder` name by name."""
    *parents, last = path.split("/")
    # Duplicated, so that the loop can close each descriptor that it leaves without closing the
    # caller's.
    at = os.dup(folder)
    try:
        for name in parents:
            below = os.open(name, STEP, dir_fd=at)
            os.close(at)
            at = below
            # O_PATH with O_NOFOLLOW opens a link itself instead of failing, so the type is checked
            # after.
            _refuse_link(at)
        opened = os.open(last, flags | os.O_NOFOLLOW, dir_fd=at)
    finally:
        os.close(at)
    return opened


def open_folder(folder: int, path: str, *, opener: Opener, make: bool = False) -> int:
    """Open the folder at `path`; with `make`, create missing folders first."""
    try:
        return opener(folder, path, FOLDER)
    except FileNotFoundError:
        if not make:
            raise
    at = os.dup(folder)
    for name in path.split("/"):
        try:
            below = _open_made(at, name)
        finally:
            os.close(at)
        at = below
    return at


def kernel_opener() -> Opener | None:
    """Return an opener that uses `openat2`, or `None` where that does not work."""
    if sys.platform != "linux" or os.uname().machine not in _MACHINES:
        return None
    opener = _load_openat2()
    # A probe: seccomp filters of containers often refuse openat2 although the kernel has it.
    try:
        root = os.open(HERE, FOLDER)
        try:
            os.close(opener(root, HERE, FOLDER))
        finally:
            os.close(root)
    except OSError:
        return None
    return opener


def _load_openat2() -> Opener:
    import ctypes

    class How(ctypes.Structure):
        _fields_ = (
            ("flags", ctypes.c_uint64),
            ("mode", ctypes.c_uint64),
            ("resolve", ctypes.c_uint64),
        )

    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    resolve = _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS

    def open_by_kernel(folder: int, path: str, flags: int) -> int:
        # Python sets O_CLOEXEC on what `os.open` returns; a raw system call must set it itself.
        how = How(flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0, resolve)
        size = ctypes.c_size_t(ctypes.sizeof(how))
        number = ctypes.c_long(_OPENAT2)
        while True:
            opened = call(number, ctypes.c_int(folder), os.fsencode(path), ctypes.byref(how), size)
            if opened >= 0:
                return opened
            if (failed := ctypes.get_errno()) != errno.EINTR:
                raise OSError(failed, os.strerror(failed))

    return open_by_kernel


def flush_folder(folder: int) -> None:
    """Sync the names in a folder; file systems that cannot sync folders are ignored."""
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def _refuse_link(opened: int) -> None:
    if stat.S_ISLNK(os.fstat(opened).st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _open_made(folder: int, name: str) -> int:
    flags = FOLDER | os.O_NOFOLLOW
    try:
        return os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        pass
    try:
        os.mkdir(name, dir_fd=folder)
    except FileExistsError:  # another call made it meanwhile
        pass
    else:
        flush_folder(folder)
    return os.open(name, flags, dir_fd=folder)


# --- One name in an open folder: its type, its content, and whether it may be replaced ---

_CHUNK = 1024 * 1024
# NONBLOCK: opening a pipe must not hang. NOCTTY: a terminal must not become our controlling one.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW


def look(folder: int, name: str) -> os.stat_result:
    """Return the status of the name itself; a link is not followed."""
    return os.stat(name, dir_fd=folder, follow_symlinks=False)


def look_if_there(folder: int, name: str) -> os.stat_result | None:
    """Return the status of the name itself, or `None` if nothing is there."""
    try:
        return look(folder, name)
    except FileNotFoundError:
        return None


def read_file(
    path: str,
    folder: int,
    name: str,
    length: int,
    check: Callable[[os.stat_result], None] | None = None,
) -> bytes:
    """Return the first bytes of a file, at most `length`; `path` is for the messages.

    `check` raises where the opened file is not the expected one.
    """
    # Check the type before opening, because opening a device may already have an effect; and again
    # on the descriptor, because the name may have been swapped between the two.
    _refuse_unless_file(path, look(folder, name))
    opened = os.open(name, _READ, dir_fd=folder)
    try:
        status = os.fstat(opened)
        if check is not None:
            check(status)
        _refuse_unless_file(path, status)
        return _read_all(opened, length)
    finally:
        os.close(opened)


def refuse_to_replace(path: str, old: os.stat_result, overwrite: bool) -> None:
    """Raise unless the existing entry is a file that may be overwritten."""
    _refuse_unless_file(path, old)
    if not overwrite:
        raise ToolError("path_exists", f"{brief(path)} is there already; choose another name")
    refuse_read_only(path, old)


def refuse_read_only(path: str, status: os.stat_result) -> None:
    """Raise if the file is read-only for everybody; a rename would bypass that mark."""
    if not stat.S_IMODE(status.st_mode) & 0o222:
        raise ToolError("access_denied", f"{brief(path)} is marked read-only; write another file")


def _refuse_unless_file(path: str, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise wrong_type(path, "it is a folder, not a file; list it instead")
    if not stat.S_ISREG(status.st_mode):
        raise wrong_type(path, "it is a pipe, a socket or a device, not a file")


def _read_all(opened: int, length: int) -> bytes:
    parts: list[bytes] = []
    while length > 0 and (part := os.read(opened, min(length, _CHUNK))):
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
