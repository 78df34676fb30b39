r"""Paths as text: a normal path below the workspace, or a refusal.

    ./notes//a.md    notes/a.md      .                 the workspace itself
    a..b  ...  ..a   fine names      ../x  a/../b      refused
    /etc/passwd      refused         ~/x  C:x  a\b     refused

Nothing is ever removed from a path to make it safe: a path is accepted as written, or refused. A
sanitizer that deletes `../` can be fed `....//`. A path that passes here may still lead through
links; `links` and `openat` deal with those.
"""

from __future__ import annotations

import errno
import os
import re
import unicodedata
from collections.abc import Generator
from contextlib import contextmanager

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief

__all__ = (
    "HERE",
    "MAX_DEPTH",
    "MAX_NAME",
    "MAX_PATH",
    "STATE",
    "FileLimits",
    "naming",
    "relative",
    "unsafe",
    "wrong_type",
)

# The workspace itself.
HERE = "."
# The folder in a workspace that holds the state of callblocks.
STATE = ".callblocks"

# The most bytes in one name that file systems accept.
MAX_NAME = 255

# The most bytes in a path that the kernel accepts, without the terminating NUL.
MAX_PATH = 4095

# The most names in a path; deeper trees are hard to copy and to remove.
MAX_DEPTH = 128

# C0, DEL, C1, line separators and bidirectional controls. With these, a person who is asked for
# approval would read another path than the one that is written.
_CONTROL = "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
_FAULTS = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"\A\Z", 'it is empty; write "." for the workspace itself'),
        ("[\ud800-\udfff]", "it has a lone surrogate, which no file name can have"),
        (_CONTROL, "it has a control character"),
        (r"\A/", "it is absolute; paths start at the workspace, without a leading /"),
        (r"\\", "it has a backslash; write / between folders"),
        (r"(?:\A|/)\.\.(?:/|\Z)", "it has .. in it; name the folder from the workspace down"),
        (
            r"\A(?:\./+)*(?:~|[A-Za-z]:)",
            "it starts at a home folder or a drive; paths start at the workspace",
        ),
    )
)


def relative(path: str) -> str:
    """Return the normal form of a relative path; raise `unsafe_path` if it is not one."""
    fault = _fault_of_text(path)
    if fault:
        raise unsafe(path, fault)
    names = [name for name in path.split("/") if name not in ("", HERE)]
    fault = _fault_of_names(names)
    if fault:
        raise unsafe(path, fault)
    return "/".join(names) or HERE


def unsafe(path: str, fault: str) -> ToolError:
    """Return the refusal of a path, with the reason in words."""
    return ToolError("unsafe_path", f"the path {brief(path)} is refused: {fault}")


def _fault_of_text(path: str) -> str:
    if len(path.encode(errors="surrogatepass")) > MAX_PATH:
        return f"it is longer than {MAX_PATH} bytes"
    fault = next((words for pattern, words in _FAULTS if pattern.search(path)), "")
    # Format characters (category Cf) such as the zero-width joiner make two paths look the same.
    if fault or path.isascii() or not any(unicodedata.category(char) == "Cf" for char in path):
        return fault
    return "it has an invisible character"


def _fault_of_names(names: list[str]) -> str:
    if len(names) > MAX_DEPTH:
        return f"it is nested deeper than {MAX_DEPTH} folders"
    if any(len(name.encode()) > MAX_NAME for name in names):
        return f"a name in it is longer than {MAX_NAME} bytes"
    return ""


# --- Errors of the operating system as failures with a code and words for a model ---

_OTHER = ("file_error", "the operating system refused it")
_OS_FAULTS = {
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
    code, words = _OS_FAULTS.get(number, _OTHER)
    if code == "unsafe_path":
        return unsafe(path, words)
    said = f" ({os.strerror(number)})" if code == "file_error" and number else ""
    return ToolError(code, f"{brief(path)}: {words}{said}")


# --- Limits on how much of a workspace one call may read, write and list ---


class FileLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The maximum of each.

    `read` and `write` are bytes of one file; `entries` is the length of a listing, and `depth` its
    levels; `scan` is the number of names read from one folder; `files` is the number of files and
    folders that a walk over the whole workspace may find.
    """

    read: int = 16 * 1024 * 1024
    write: int = 16 * 1024 * 1024
    entries: int = 1_000
    depth: int = 16
    scan: int = 50_000
    files: int = 50_000
