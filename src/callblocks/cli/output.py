"""Where a command writes a file that somebody named.

    a file, or nothing yet    written beside it, and in its place when it is whole
    a link to a file          the same with the file that it leads to; the link stays
    a pipe, a device          written to as it comes, never replaced

A new file is only for its owner; one that is replaced keeps its mode.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from callblocks.cli.exits import Fault

__all__ = ("open_output",)


@contextmanager
def open_output(path: str | None) -> Generator[BinaryIO]:
    """Where to write; without a path it is standard output."""
    found = None if path is None else _found(path)
    if path is None or (found is not None and _is_stdout(found)):
        yield sys.stdout.buffer
    elif found is None or stat.S_ISREG(found.st_mode):
        with _replacing(path, os.path.realpath(path), found) as file:
            yield file
    else:
        with _stream(path) as file:
            yield file


def _found(path: str) -> os.stat_result | None:
    """What is there, at the end of all links."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Fault(f"{path}: {error.strerror}") from error


def _is_stdout(found: os.stat_result) -> bool:
    # /dev/stdout may be a file that the shell has opened, at its end perhaps.
    try:
        return os.path.samestat(found, os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError, AttributeError):
        return False


def _stream(path: str) -> BinaryIO:
    try:
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOCTTY), "wb")
    except OSError as error:
        raise Fault(f"{path}: {error.strerror}") from error


@contextmanager
def _replacing(path: str, target: str, was: os.stat_result | None) -> Generator[BinaryIO]:
    """A new file beside the target, which takes its place when it is whole."""
    new = f"{target}.{os.getpid()}.new"
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with os.fdopen(os.open(new, flags, 0o600), "wb") as file:
            if was is not None:
                _like(file.fileno(), was)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, target)
    except BaseException as error:
        if isinstance(error, FileExistsError):
            raise Fault(f"{path}: {new} is in the way") from error
        with suppress(OSError):
            os.unlink(new)
        if isinstance(error, OSError) and error.filename == new:
            raise Fault(f"{path}: {error.strerror}") from error
        raise


def _like(file: int, was: os.stat_result) -> None:
    # Who may not give a file away keeps it alone.
    with suppress(OSError):
        os.fchown(file, was.st_uid, was.st_gid)
        os.fchmod(file, stat.S_IMODE(was.st_mode))
