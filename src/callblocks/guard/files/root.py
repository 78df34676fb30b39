"""The workspace root, the pins of a call's paths, and text files below it.

    with Root("work") as root:
        root.write("notes/a.md", b"hello")
        root.read("notes/a.md")
        root.read("../secret")          ToolError: unsafe_path

Every file that a call reads or writes is below this folder, and is the file that the policy judged.
"""

from __future__ import annotations

import io
import os
import stat
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice, takewhile
from pathlib import Path
from typing import TypeAlias

import msgspec

from callblocks.core.errors import CallerError, ToolError
from callblocks.core.text import brief
from callblocks.guard.files.origins import FOREIGN, Origins
from callblocks.guard.files.real_path import (
    FOLDER,
    HERE,
    STATE,
    STEP,
    FileLimits,
    FolderEntry,
    Listing,
    Opener,
    Walk,
    best_opener,
    entry_of,
    look,
    look_if_there,
    naming,
    open_folder,
    read_file,
    real_path,
    refuse_read_only,
    refuse_to_replace,
    relative,
    unsafe,
    wrong_type,
)
from callblocks.guard.files.replace_file import (
    PROTECTED,
    Protected,
    flush_folder,
    own_paths,
    refuse_protected,
    replace,
)

__all__ = (
    "CALL_FILES",
    "MAX_COMPARED",
    "CallFiles",
    "Identity",
    "Pin",
    "Root",
    "call_files",
    "change_text",
    "decode_base64",
    "encode_text",
    "in_call",
    "is_hidden",
    "is_text",
    "read_text",
    "split_lines",
    "take_pin",
)

# --- Pins: a call resolves each of its paths once, and uses that result until it ends ---
#
#     gate    file_read link/a.md     real path notes/a.md, folder (8:2, 41), file (8:2, 97)
#             link is turned to secrets/
#     tool    root.read("link/a.md")  opens notes/a.md without following a link: folder 41? file 97?
#
# The race that pins close: a policy judges the real path of a file, and the tool opens the file
# later, by the name that the call gave. If the tool resolved that name again, an attacker who turns
# a link in between would choose the file. So the gate stores a pin of each path that it resolves,
# and `Root` uses the pin instead of the name for as long as the call is judged, shown and run. A
# path that first appears inside a tool is pinned when it is first resolved, so that the path judged
# there is also the path read.
#
# A pin holds the real path, and the identity (device and inode) of the file and of the folder that
# holds it. The real path alone defeats turned links. The identities defeat whatever is renamed to
# that path meanwhile: a hard link, another file, another folder. Identities are compared on the
# opened descriptor, never on a name. Where the folder does not exist yet, the deepest existing
# folder counts.
#
# The scope of a call is a context variable, so threads and tasks that a tool starts inherit it.

# Device and inode.
Identity: TypeAlias = tuple[int, int]


class Pin(msgspec.Struct, frozen=True):
    """The target of a path when it was resolved: its real path, and the identity of the file there.

    `anchor` is the deepest existing folder above it, `folder` the identity of that folder. `found`
    is the identity of the entry at the path, `None` where there was none; `version` is its size and
    the time of its last change. `is_binding` is false outside of calls: no policy judged the path
    there, so another program may replace the file at any time.
    """

    real: str
    anchor: str
    folder: Identity
    found: Identity | None
    version: tuple[int, int]
    is_binding: bool = True

    @contextmanager
    def parent(
        self, path: str, root: int, opener: Opener, *, make: bool = False
    ) -> Generator[tuple[int, str], None, None]:
        """Open the folder that holds the path, if it is the pinned one; yield it and the name."""
        above, name = _split(self.real)
        opened = open_folder(root, self.anchor, opener=opener)
        try:
            if self.is_binding and _identity(os.fstat(opened)) != self.folder:
                raise _changed(path)
            # Folders below the anchor did not exist when the path was judged, so they have no
            # identity to compare. They are opened from the anchor's descriptor without following a
            # link.
            if above != self.anchor:
                rest = above if self.anchor == HERE else above[len(self.anchor) + 1 :]
                below = open_folder(opened, rest, opener=opener, make=make)
                os.close(opened)
                opened = below
            yield opened, name
        finally:
            os.close(opened)

    def require(self, path: str, status: os.stat_result | None) -> None:
        """Raise `path_changed` unless this is the status of the pinned entry."""
        if self.is_binding and (None if status is None else _identity(status)) != self.found:
            raise _changed(path)


def take_pin(root: int, real: str, opener: Opener) -> Pin:
    """Return the pin of a real path below an open folder; `OSError` where a link is in it now."""
    above, name = _split(real)
    anchor = above
    # Climb to the deepest folder that exists. It ends at the root, which is always there.
    while (folder := _open_if_there(root, anchor, opener)) is None:
        anchor = _split(anchor)[0]
    try:
        held = _identity(os.fstat(folder))
        found = look_if_there(folder, name) if anchor == above else None
    finally:
        os.close(folder)
    if found is None:
        return Pin(real, anchor, held, None, (0, 0))
    return Pin(real, anchor, held, _identity(found), (found.st_size, found.st_mtime_ns))


class CallFiles(msgspec.Struct, eq=False):
    """The files of one call: its pins by root and path, and a test for paths that the policy hides.

    A path that could not be resolved keeps its failure, so it cannot start to lead somewhere later.
    """

    pins: dict[tuple[object, str], Pin | ToolError] = {}
    hides: Callable[[str], bool] | None = None
    is_call: bool = True

    def pinned(self, root: object, path: str, resolve: Callable[[], Pin]) -> Pin:
        """Return the pin of a path; call `resolve` only the first time."""
        kept = self.pins.get((root, path))
        if kept is None:
            try:
                kept = msgspec.structs.replace(resolve(), is_binding=self.is_call)
            except ToolError as error:
                # A failure is cached like a pin: a path that did not resolve when it was judged
                # must not resolve when it is used.
                kept = error
            self.pins[root, path] = kept
        if isinstance(kept, ToolError):
            raise ToolError(kept.code, kept.message)
        return kept

    def seen(self) -> tuple[tuple[str, Identity | None, tuple[int, int]], ...]:
        """Return the entry at each path, for an approval that showed it."""
        pins = (pin for pin in self.pins.values() if isinstance(pin, Pin))
        return tuple(sorted(((pin.real, pin.found, pin.version) for pin in pins), key=str))


# The files of the call that runs. Code that starts a call may set it in a context of its own.
CALL_FILES: ContextVar[CallFiles | None] = ContextVar("callblocks_call_files", default=None)


@contextmanager
def in_call(files: CallFiles) -> Generator[CallFiles, None, None]:
    """Resolve paths for one call inside this block; threads and tasks started inside inherit it."""
    token = CALL_FILES.set(files)
    try:
        yield files
    finally:
        CALL_FILES.reset(token)


def call_files() -> CallFiles:
    """Return the files of the current call; outside of calls, new ones each time."""
    return CALL_FILES.get() or CallFiles(is_call=False)


def is_hidden(path: str) -> bool:
    """Return whether the policy denies the current call to read at a real path."""
    hides = call_files().hides
    return hides is not None and hides(path)


def _open_if_there(root: int, path: str, opener: Opener) -> int | None:
    try:
        return opener(root, path, STEP | os.O_DIRECTORY)
    except FileNotFoundError:
        if path == HERE:
            raise
        return None


def _split(path: str) -> tuple[str, str]:
    above, _, name = path.rpartition("/")
    return above or HERE, name


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def _changed(path: str) -> ToolError:
    words = "something else took its place after the call was judged; look again, then call again"
    return ToolError("path_changed", f"{brief(path)}: {words}")


# --- The workspace root: every file that a call reads or writes is below this folder ---
#
#     with Root("work") as root:
#         root.write("notes/a.md", b"hello")
#         root.read("notes/a.md")
#         root.read("../secret")          ToolError: unsafe_path
#
# The folder is opened once, and everything else is opened relative to that descriptor: renaming the
# folder, or swapping it for a link, changes nothing for running calls. A path passes through four
# steps:
#
#     relative          text        refuse "..", absolute paths, control characters
#     real_path         links       compute the real path; refuse links that leave
#     take_pin          identity    remember which file the policy judges
#     openat            opening     open the real path; refuse any link on the way
#
# Within a call the first three happen once per path, so the file that the policy judged is the file
# that the tool uses. Folders mounted inside count as inside, because mounting needs
# privileges that no call has.

_LIMITS = FileLimits()


class Root:
    """A folder that calls work in. Every failure is a `ToolError` with a code for the model.

    `protected` is the table of paths that are never written. `own` are files that control
    callblocks (the policy, code that it runs), protected as well where they lie inside; so are
    those of `hidden`, which sandboxed commands do not even see. `foreign` are patterns for files of
    others. `opener` is for tests. `origins` tracks which files hold text of others; each read and
    write in a call goes through it.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        protected: Iterable[Protected] = PROTECTED,
        own: Iterable[str | os.PathLike[str]] = (),
        hidden: Iterable[str | os.PathLike[str]] = (),
        foreign: tuple[str, ...] = FOREIGN,
        limits: FileLimits = _LIMITS,
        opener: Opener | None = None,
    ) -> None:
        self.folder = Path(os.path.realpath(folder))
        self.limits = limits
        self._opener = opener or best_opener()
        self._fd = _open_root(self.folder)
        self._closer = weakref.finalize(self, os.close, self._fd)
        unseen = own_paths(folder, (*hidden, self.folder / STATE))
        self.hidden = unseen.paths
        self.protected = (*protected, own_paths(folder, own), unseen)
        self.origins = Origins(self.folder, self._fd, self._opener, limits=limits, foreign=foreign)

    def close(self) -> None:
        """Close the folder; the object cannot be used any more."""
        self._fd = -1
        self._closer()
        self.origins.close()

    def __enter__(self) -> Root:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        """Return the descriptor of the folder, for system calls that start from one."""
        return self._fd

    def resolve(self, path: str) -> str | None:
        """Return the real path of a path, existing or not; `None` if there is none or it leaves."""
        try:
            return self._pin(path).real
        except ToolError:
            return None

    def stat(self, path: str) -> FolderEntry:
        """Return the entry at a path, behind links."""
        pin = self._pin(path)
        with naming(path), pin.parent(path, self._fd, self._opener) as (folder, name):
            status = look(folder, name)
            pin.require(path, status)
            return entry_of(pin.real, status)

    def read(self, path: str, limit: int | None = None) -> bytes:
        """Return the whole content of a file; raise if it has more than `limit` bytes."""
        # One byte more is read than is allowed. A size taken from `stat` could be wrong by the time
        # of the read, and is 0 for files in /proc.
        most = self.limits.read if limit is None else limit
        content = self.read_start(path, most + 1)
        if len(content) > most:
            raise ToolError(
                "file_too_large",
                f"{brief(path)} has more than {most} bytes, the most that is read at once",
            )
        return content

    def read_start(self, path: str, length: int) -> bytes:
        """Return the first bytes of a file, at most `length`."""
        pin = self._pin(path)
        with (
            naming(path),
            self.origins.reading(pin.real),
            pin.parent(path, self._fd, self._opener) as (folder, name),
        ):
            return read_file(path, folder, name, length, lambda status: pin.require(path, status))

    def list(
        self,
        path: str = HERE,
        depth: int = 1,
        limit: int | None = None,
        hides: Callable[[str], bool] | None = None,
    ) -> Listing:
        """Return the entries below a folder, `depth` levels deep, at most `limit` of them.

        Entries for which `hides` is true are left out, as if they were not there.
        """
        pin = self._pin(path)
        most = self.limits.entries if limit is None else limit
        deep = max(1, min(depth, self.limits.depth))
        walk = Walk(self._fd, self._opener, depth=deep, scan=self.limits.scan)
        with naming(path):
            below = walk.below(pin.real, lambda status: pin.require(path, status))
            shown = (entry for entry in below if hides is None or not hides(entry.path))
            found = list(islice(shown, most + 1))
        entries = tuple(found[:most])
        # A file name can carry a prompt injection as well as a content can, so names count as read.
        self.origins.saw_files((pin.real, *(entry.path for entry in entries)))
        return Listing(entries, walk.complete and len(found) <= most)

    def walk_files(self) -> Iterator[FolderEntry]:
        """Yield every file of the workspace, to copy it; skip links and unreadable entries."""
        most = self.limits.files
        # One more than the limit: a folder that is cut short then surely exceeds it.
        walk = Walk(self._fd, self._opener, depth=None, scan=most + 1)
        with naming(HERE):
            for at, entry in enumerate(walk.below(HERE)):
                if at == most:
                    raise ToolError(
                        "file_too_large", f"the workspace has more than {most} files and folders"
                    )
                if entry.kind == "file":
                    yield entry

    def write(
        self, path: str, content: bytes, *, overwrite: bool = True, executable: bool = False
    ) -> FolderEntry:
        """Write a file whole or not at all, through links that stay inside; make its folders.

        A file that is there keeps its mode; `executable` adds the right to run it.
        """
        pin = self._pin(path)
        self._refuse_protected(path, pin.real)
        if len(content) > self.limits.write:
            raise ToolError(
                "file_too_large",
                f"{brief(path)}: {len(content)} bytes are more than the {self.limits.write} "
                "that are written at once; nothing was written",
            )
        with (
            naming(path),
            self.origins.writing(pin.real),
            pin.parent(path, self._fd, self._opener, make=True) as (folder, name),
        ):
            # Looked up by name in the open folder; `pin.require` then compares it with what was
            # judged.
            old = look_if_there(folder, name)
            # Under the folder's descriptor, so the entry that was judged is the entry that is
            # replaced.
            pin.require(path, old)
            if old is not None:
                refuse_to_replace(path, old, overwrite)
            replace(folder, name, content, old=old, executable=executable, overwrite=overwrite)
            # The file is a new inode now. Without a new pin the call could not read what it wrote.
            call_files().pins[self, relative(path)] = take_pin(self._fd, pin.real, self._opener)
        runs = executable or (old is not None and entry_of(pin.real, old).executable)
        return FolderEntry(path=pin.real, kind="file", size=len(content), executable=runs)

    def delete(self, path: str) -> None:
        """Delete a file, a link (not what it leads to) or an empty folder."""
        # Deleting a link must remove the link, not its target, so the last name is not resolved,
        # and the pin of the call, which is the target's, cannot be used.
        real = self._real(path, follow_last=False)
        self._refuse_protected(path, real)
        with (
            naming(path),
            take_pin(self._fd, real, self._opener).parent(path, self._fd, self._opener) as (
                folder,
                name,
            ),
        ):
            status = look(folder, name)
            if stat.S_ISDIR(status.st_mode):
                os.rmdir(name, dir_fd=folder)
            else:
                refuse_read_only(path, status)
                os.unlink(name, dir_fd=folder)
            flush_folder(folder)
        self.origins.deleted(real, status)

    def writable(self, path: str) -> str:
        """Return the real path that a write to `path` creates or replaces; raise if it is
        protected.
        """
        real = self._pin(path).real
        self._refuse_protected(path, real)
        return real

    def _pin(self, path: str) -> Pin:
        """Return the pin of a path; within a call, the one taken when it was first resolved."""

        def resolve() -> Pin:
            real = self._real(path)
            with naming(path):
                return take_pin(self._fd, real, self._opener)

        return call_files().pinned(self, relative(path), resolve)

    def _real(self, path: str, *, follow_last: bool = True) -> str:
        name = relative(path)
        with naming(path):
            real = real_path(self._fd, name, self._opener, follow_last=follow_last)
        try:
            # A link target is arbitrary bytes: it may hold control characters that no call may
            # write.
            return relative(real)
        except ToolError as error:
            raise unsafe(path, "a link in it leads to a name that is refused") from error

    def _refuse_protected(self, path: str, real: str) -> None:
        if real == HERE:
            raise wrong_type(path, "it is the workspace itself; name a file in it")
        # Both names are checked: a link could give a protected file a harmless name, and a
        # protected name could be a link to a harmless file that an attacker controls.
        refuse_protected(relative(path), self.protected)
        refuse_protected(real, self.protected)


def _open_root(folder: Path) -> int:
    try:
        return os.open(folder, FOLDER)
    except OSError as error:
        why = error.strerror or "it cannot be opened"
        raise CallerError(
            f"no workspace at {str(folder)!r}: {why}; make the folder first"
        ) from error


# --- Text files: UTF-8 without NUL; for any other file, an error that names its type and size ---

_START = 4096


def is_text(content: bytes) -> bool:
    """Return whether content is UTF-8 text without NUL."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in content


def split_lines(text: str) -> list[str]:
    """Return the lines of a text with their ends; only a line feed ends a line."""
    return list(io.StringIO(text, newline="\n"))


def read_text(root: Root, path: str) -> str:
    """Return the text of a file; raise `not_text` with its type otherwise."""
    # The first block often proves that a large file is binary, without reading all of it.
    if b"\0" in root.read_start(path, _START):
        raise _not_text(root, path)
    content = root.read(path)
    if not is_text(content):
        raise _not_text(root, path)
    return content.decode()


def encode_text(content: str) -> bytes:
    """Encode text for a file; raise `not_text` if it has a lone surrogate."""
    try:
        return content.encode()
    except UnicodeEncodeError as error:
        raise ToolError(
            "not_text",
            f"the content has a lone surrogate at {error.start}, which no text file can hold; "
            "nothing was written",
        ) from error


def decode_base64(content: str) -> bytes:
    """Decode base64, ignoring white space; raise `invalid_input` if it is not base64."""
    from base64 import b64decode

    try:
        return b64decode("".join(content.split()), validate=True)
    except ValueError as error:
        raise ToolError(
            "invalid_input", f"the content is not base64 ({error}); nothing was written"
        ) from error


def _not_text(root: Root, path: str) -> ToolError:
    from mimetypes import MimeTypes

    entry = root.stat(path)
    mime = MimeTypes().guess_type(entry.path)[0] or "application/octet-stream"
    words = f"{brief(path)} is not UTF-8 text but {mime} of {entry.size} bytes"
    return ToolError("not_text", words, mime=mime, size=entry.size)


# --- The text of a file change, for a person to see before approving it ---
#
#     new file notes/a.md: 2 lines, 11 bytes        --- notes/a.md
#     +hello                                        +++ notes/a.md
#     +there                                        @@ -1,2 +1,2 @@
#                                                    hello
#     photo.png: binary, 120 bytes become 300       -there
#     notes/a.md: no change                         +world
#
# Lines end at `\n` alone, so that any other line break inside a line stays visible. The text is
# never truncated, because a person approves all of it; the surface that shows it folds what is
# long.

# The most lines that are compared one by one, because `difflib` is quadratic. In longer files,
# everything between the first and the last difference counts as changed.
MAX_COMPARED = 2_000

_NO_END = "\\ No newline at end of file"


def change_text(path: str, old: bytes | None, new: bytes) -> str:
    """Describe how a file changes from `old`, or `None` where there is no file, to `new`."""
    if old == new:
        return f"{path}: no change"
    if old is None:
        return _new_file(path, new)
    if not is_text(old) or not is_text(new):
        return f"{path}: binary, {len(old)} bytes become {len(new)}"
    before, after = split_lines(old.decode()), split_lines(new.decode())
    hunks = _compare(before, after) if _is_short(before, after) else _replace(before, after)
    return _show([f"--- {path}", f"+++ {path}"], hunks)


def _new_file(path: str, new: bytes) -> str:
    if not is_text(new):
        return f"new file {path}: binary, {len(new)} bytes"
    lines = split_lines(new.decode())
    count = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
    heading = f"new file {path}: {count}, {len(new)} bytes"
    return _show([heading], _marked("+", lines))


def _is_short(before: list[str], after: list[str]) -> bool:
    return max(len(before), len(after)) <= MAX_COMPARED


def _compare(before: list[str], after: list[str]) -> Iterable[str]:
    from difflib import unified_diff

    _, _, *hunks = unified_diff(before, after)
    return (part for line in hunks for part in _marked(line[0], [line[1:]]))


def _replace(before: list[str], after: list[str]) -> Iterable[str]:
    # A common prefix and suffix are found in linear time; everything between them counts as
    # replaced.
    start = _count_same(before, after)
    rest = _count_same(before[start:][::-1], after[start:][::-1])
    gone, come = before[start : len(before) - rest], after[start : len(after) - rest]
    yield f"@@ -{start + 1},{len(gone)} +{start + 1},{len(come)} @@"
    yield from _marked("-", gone)
    yield from _marked("+", come)


def _count_same(before: list[str], after: list[str]) -> int:
    pairs = zip(before, after, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _marked(mark: str, lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        yield mark + line.removesuffix("\n")
        if not line.endswith("\n"):
            yield _NO_END


def _show(heading: list[str], lines: Iterable[str]) -> str:
    return "\n".join([*heading, *lines])
