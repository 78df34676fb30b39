"""The workspace root: every file that a call reads or writes is below this folder.

    with Root("work") as root:
        root.write("notes/a.md", b"hello")
        root.read("notes/a.md")
        root.read("../secret")          ToolError: unsafe_path

The folder is opened once, and everything else is opened relative to that descriptor: renaming the
folder, or swapping it for a link, changes nothing for running calls. A path passes through four
steps:

    relative          text        refuse "..", absolute paths, control characters
    real_path         links       compute the real path; refuse links that leave
    take_pin          identity    remember which file the policy judges
    openat            opening     open the real path; refuse any link on the way

Within a call the first three happen once per path, so the file that the policy judged is the file
that the tool uses (see `pins`). Folders mounted inside count as inside, because mounting needs
privileges that no call has.
"""

from __future__ import annotations

import os
import stat
import weakref
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from callblocks.core.errors import CallerError, ToolError
from callblocks.core.text import brief
from callblocks.guard.files.origins import FOREIGN, Origins
from callblocks.guard.files.pins import Pin, call_files, take_pin
from callblocks.guard.files.real_path import (
    FOLDER,
    HERE,
    STATE,
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

__all__ = ("Root",)

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
