"""One name in an open folder: its type, its content, and whether it may be replaced."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.runtime.files.faults import wrong_type

__all__ = ("look", "look_if_there", "read_file", "refuse_read_only", "refuse_to_replace")

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
