"""Errors of the operating system as failures with a code and words for a model."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.runtime.files.names import unsafe

__all__ = ("naming", "wrong_type")

_OTHER = ("file_error", "the operating system refused it")
_FAULTS = {
    errno.ENOENT: ("path_not_found", "nothing is there; list the folder to see what is"),
    errno.ENOTDIR: ("wrong_file_type", "something on the way to it is not a folder"),
    errno.EISDIR: ("wrong_file_type", "it is a folder, not a file"),
    errno.ENXIO: ("wrong_file_type", "it is a socket, a pipe or a device, not a file"),
    errno.ENODEV: ("wrong_file_type", "it is a device, not a file"),
    errno.ELOOP: ("unsafe_path", "a link in it leads in circles, or was put there just now"),
    errno.EXDEV: ("unsafe_path", "a link in it leads out of the workspace"),
    errno.ENAMETOOLONG: ("unsafe_path", "it is too long for the file system"),
    errno.EACCES: ("access_denied", "access is refused here; choose another path"),
    errno.EPERM: ("access_denied", "access is refused here; choose another path"),
    errno.EROFS: ("access_denied", "the file system cannot be written; choose another path"),
    errno.ENOSPC: ("disk_full", "no room is left; nothing was written"),
    errno.EDQUOT: ("disk_full", "the quota is used up; nothing was written"),
    errno.EFBIG: ("file_too_large", "the file would be too large; nothing was written"),
    errno.EEXIST: ("path_exists", "something is there already; choose another name"),
    errno.ENOTEMPTY: ("file_error", "the folder is not empty; delete what is in it first"),
}


@contextmanager
def naming(path: str) -> Generator[None, None, None]:
    """Translate an `OSError` raised inside into a `ToolError` that names the path."""
    try:
        yield
    except OSError as error:
        raise _translate(error.errno or 0, path) from error
    except UnicodeError as error:
        raise unsafe(path, "this machine cannot write such a name") from error


def wrong_type(path: str, what: str) -> ToolError:
    """Return the refusal of something that is no file, or no folder."""
    return ToolError("wrong_file_type", f"{brief(path)}: {what}")


def _translate(number: int, path: str) -> ToolError:
    code, words = _FAULTS.get(number, _OTHER)
    if code == "unsafe_path":
        return unsafe(path, words)
    said = f" ({os.strerror(number)})" if code == "file_error" and number else ""
    return ToolError(code, f"{brief(path)}: {words}{said}")
