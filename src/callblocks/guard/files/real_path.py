"""Resolving a path of the workspace, and opening what it resolved to.

    relative     text       refuse "..", absolute paths, control characters
    real_path    links      compute the real path; refuse links that leave
    openat       opening    open the real path; refuse any link on the way

Nothing here knows calls or policies: `root` remembers what a path resolved to, and uses it.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import unicodedata
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import islice
from typing import Literal, TypeAlias

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.files.replace_file import flush_folder, is_temporary

__all__ = (
    "FOLDER",
    "HERE",
    "MAX_DEPTH",
    "MAX_LINKS",
    "MAX_NAME",
    "MAX_PATH",
    "MAX_TURNS",
    "STATE",
    "STEP",
    "EntryKind",
    "FileLimits",
    "FolderEntry",
    "Listing",
    "Opener",
    "Walk",
    "best_opener",
    "entry_of",
    "kernel_opener",
    "look",
    "look_if_there",
    "naming",
    "open_by_steps",
    "open_folder",
    "read_file",
    "real_path",
    "refuse_read_only",
    "refuse_to_replace",
    "relative",
    "unsafe",
    "wrong_type",
)

# --- Paths as text: a normal path below the workspace, or a refusal ---
#
#     ./notes//a.md    notes/a.md      .                 the workspace itself
#     a..b  ...  ..a   fine names      ../x  a/../b      refused
#     /etc/passwd      refused         ~/x  C:x  a\b     refused
#
# Nothing is ever removed from a path to make it safe: a path is accepted as written, or refused. A
# sanitizer that deletes `../` can be fed `....//`. A path that passes here may still lead through
# links; `links` and `openat` deal with those.

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


# --- Opening below a folder without following a link: the path opened is the path asked for ---
#
# Where the kernel has `openat2`, one system call does this (RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS,
# RESOLVE_NO_MAGICLINKS). Elsewhere the path is walked name by name; each name is opened relative to
# the folder before it and never through a link. Both give the same file or the same error; a link
# anywhere is ELOOP.
#
# Links that may be followed are resolved beforehand in `links`, and their target is opened here by
# its real path. There is no window between check and use: if a name on the way becomes a link after
# it was resolved, opening fails.

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


# --- The real path behind a path ---
#
# The real path behind a path: links inside the workspace are followed, links that leave it
# refused.
#
#     notes -> archive/2024      notes/a.md      archive/2024/a.md
#     up    -> ../..             up/x            EXDEV: it leaves
#     abs   -> /any/where        abs/x           EXDEV, wherever it leads
#
# The rules are the kernel's own rules under RESOLVE_BENEATH, applied to names instead of files:
# `..` may stand in a link as long as it stays below the root, at most 40 links are followed, and a
# missing tail is where a file would be created. One rule is added: a path may go up and down again
# only so often, which bounds the work.
#
# Why not `os.path.realpath`: it works on absolute paths and follows links through folders that may
# be renamed meanwhile. Here each name is opened or read relative to the descriptor of the folder
# before it. Only links are read; nothing is opened but folders, each by one name. The result is
# advice, not proof: `openat` then opens it and refuses every link on the way.

# The number of links that the kernel follows in one path.
MAX_LINKS = 40

# The number of times that a path may go up and down again; each time it is opened from the top.
MAX_TURNS = 100


def real_path(root: int, path: str, opener: Opener, *, follow_last: bool = True) -> str:
    """Return the real path below `root` of a normal relative path; `OSError` where there is none.

    Without `follow_last`, a link at the very end is named, not followed.
    """
    walk = _Walk(root, path, opener)
    try:
        while walk.todo:
            walk.step(follow=follow_last or len(walk.todo) > 1)
    finally:
        os.close(walk.folder)
    return "/".join(walk.names) or HERE


class _Walk:
    """The state of a resolution: names passed so far, the folder they lead to, and names still to
    go.
    """

    def __init__(self, root: int, path: str, opener: Opener) -> None:
        self.todo = path.split("/")[::-1]
        self.names: list[str] = []
        self.folder = os.dup(root)
        self._root = root
        self._opener = opener
        self._links = 0
        self._turns = 0
        self._went_up = False

    def step(self, *, follow: bool) -> None:
        name = self.todo.pop()
        if name in ("", HERE):
            return
        if name == "..":
            self._go_up()
            return
        try:
            self._turn()
            target = _read_link(name, self.folder) if follow else None
            if target is None:
                self._go_down(name)
            else:
                self._go_along(target)
        # Nothing after a missing name can be a link, so the rest is appended as it stands.
        except FileNotFoundError:
            self._go_missing(name)

    def _go_down(self, name: str) -> None:
        if self.todo:
            self._enter(os.open(name, STEP | os.O_DIRECTORY, dir_fd=self.folder))
        self.names.append(name)

    def _go_up(self) -> None:
        # EXDEV is the kernel's answer to a path that leaves the root under RESOLVE_BENEATH.
        if not self.names:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        self.names.pop()
        self._went_up = True

    def _turn(self) -> None:
        if not self._went_up:
            return
        self._went_up = False
        self._turns += 1
        if self._turns > MAX_TURNS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        # `..` is never opened: the folder may have been moved, and its parent could then lie
        # outside of the root. The names passed so far are opened again from the root instead.
        here = "/".join(self.names) or HERE
        self._enter(self._opener(self._root, here, STEP))

    def _go_along(self, target: str) -> None:
        self._links += 1
        if self._links > MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        # Refused even where it would lead back inside: the kernel does the same under
        # RESOLVE_BENEATH, and the root may be mounted elsewhere.
        if target.startswith("/"):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        self.todo.extend(target.split("/")[::-1])

    def _go_missing(self, name: str) -> None:
        # `..` behind a missing name has no meaning: the kernel says ENOENT as well.
        rest = [name, *(later for later in self.todo[::-1] if later not in ("", HERE))]
        if ".." in rest:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        self.names.extend(rest)
        self.todo.clear()

    def _enter(self, folder: int) -> None:
        os.close(self.folder)
        self.folder = folder


def _read_link(name: str, folder: int) -> str | None:
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.EINVAL:  # it is there, and no link
            return None
        raise


# --- Entries of folders, sorted; links are listed as links and never followed ---
#
#     notes        folder
#     notes/a.md   file     120
#     shortcut     link

# "other" is a pipe, a socket or a device.
EntryKind: TypeAlias = Literal["file", "folder", "link", "other"]
Check: TypeAlias = Callable[[os.stat_result], None]


class FolderEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the workspace, by its real path; `size` is the bytes of a file."""

    path: str
    kind: EntryKind
    size: int = 0
    executable: bool = False


class Listing(msgspec.Struct, frozen=True):
    """The entries of a folder; not `complete` if there were too many or some could not be read."""

    entries: tuple[FolderEntry, ...]
    complete: bool


class Walk:
    """A walk over everything below a folder, sorted, each folder before its entries.

    Entries whose names a call could not write as a path are left out. `complete` is false from then
    on, and also after a folder that has too many names or cannot be read.
    """

    def __init__(self, root: int, opener: Opener, *, depth: int | None, scan: int) -> None:
        self.complete = True
        self._root = root
        self._opener = opener
        self._depth = depth
        self._scan = scan

    def below(self, folder: str, check: Check | None = None) -> Iterator[FolderEntry]:
        """Yield the entries below `folder`; `check` raises if the folder is not the
        expected one.
        """
        # An explicit stack instead of recursion: an attacker can nest folders deeper than Python's
        # recursion limit. Reversed, so that `pop` gives the entries in order.
        waiting = [(entry, 1) for entry in reversed(self._read(folder, check))]
        while waiting:
            entry, level = waiting.pop()
            yield entry
            if entry.kind == "folder" and level != self._depth:
                inner = self._read_if_possible(entry.path)
                waiting.extend((below, level + 1) for below in reversed(inner))

    def _read_if_possible(self, folder: str) -> list[FolderEntry]:
        try:
            return self._read(folder)
        except OSError:
            self.complete = False
            return []

    def _read(self, folder: str, check: Check | None = None) -> list[FolderEntry]:
        opened = open_folder(self._root, folder, opener=self._opener)
        try:
            if check is not None:
                # The check is made on the opened descriptor, not on the name, so a swapped folder
                # is noticed.
                check(os.fstat(opened))
            with os.scandir(opened) as names:
                found = [(entry.name, _status(entry)) for entry in self._cap(names)]
        finally:
            os.close(opened)
        prefix = "" if folder == HERE else f"{folder}/"
        return [
            entry_of(prefix + name, status)
            for name, status in sorted(found)
            if status and not _is_ours(prefix, name) and self._is_path(prefix + name)
        ]

    # At most `scan` names are read, so a folder with millions of names costs bounded memory.
    def _cap(self, names: Iterator[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
        yield from islice(names, self._scan)
        if next(names, None) is not None:
            self.complete = False

    def _is_path(self, path: str) -> bool:
        try:
            relative(path)
        except ToolError:
            self.complete = False
            return False
        return True


def entry_of(path: str, status: os.stat_result) -> FolderEntry:
    """Return the entry at a path that has this status."""
    mode = status.st_mode
    if stat.S_ISREG(mode):
        executable = bool(mode & stat.S_IXUSR)
        return FolderEntry(path=path, kind="file", size=status.st_size, executable=executable)
    if stat.S_ISDIR(mode):
        return FolderEntry(path=path, kind="folder")
    return FolderEntry(path=path, kind="link" if stat.S_ISLNK(mode) else "other")


def _is_ours(prefix: str, name: str) -> bool:
    """Return whether callblocks keeps something under a name, or is still writing it."""
    return is_temporary(name) or (name == STATE and not prefix)


def _status(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except FileNotFoundError:  # deleted just now
        return None
