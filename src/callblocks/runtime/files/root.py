"""The workspace: every file that a call reads or writes is below this folder, links included.

    with Root("work") as root:
        root.write("notes/a.md", b"hello")
        root.read("notes/a.md")
        root.read("../secret")          ToolError: unsafe_path

The folder is opened once, and all else is opened from there: a folder that is renamed, or swapped
for a link, changes nothing for calls that run. A path is first turned into the real path it leads
to, and that is opened without passing any link. In a call this happens once: what the policy judged
is what the tool uses (see `pins`). Folders mounted inside are inside; who mounts one there has put
it there.
"""

from __future__ import annotations

import os
import stat
import weakref
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from callblocks.model.brief import brief
from callblocks.model.errors import CallerError, ToolError
from callblocks.runtime.files.entries import Entry, Listing, Walk, entry_of
from callblocks.runtime.files.faults import naming, wrong_type
from callblocks.runtime.files.limits import FileLimits
from callblocks.runtime.files.links import real_path
from callblocks.runtime.files.names import HERE, STATE, relative, unsafe
from callblocks.runtime.files.one_file import (
    look,
    look_if_there,
    read_file,
    refuse_read_only,
    refuse_to_replace,
)
from callblocks.runtime.files.openat import (
    FOLDER,
    Opener,
    best_opener,
    flush_folder,
)
from callblocks.runtime.files.pins import Pin, call_files, take_pin
from callblocks.runtime.files.protected import PROTECTED, Protected, own_paths, refuse_protected
from callblocks.runtime.files.replace import replace
from callblocks.runtime.origins.origins import FOREIGN, Origins

__all__ = ("Root",)

_LIMITS = FileLimits()


class Root:
    """A folder that calls work in. Every failure is a `ToolError` with a code for the model.

    `protected` is the table of what is never written, `own` are files that steer callblocks (the
    policy, code that it runs), protected as well where they are inside; so are those of `hidden`,
    which commands do not even see. `foreign` says where files of others lie. `opener` is for tests.
    `origins` knows what holds text of others; each read and write in a call goes through it.
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
        """Let go of the folder; nothing can be done with it any more."""
        self._fd = -1
        self._closer()
        self.origins.close()

    def __enter__(self) -> Root:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        """The open folder, for system calls that start from one."""
        return self._fd

    def resolve(self, path: str) -> str | None:
        """The real path that a path leads to, existing or not; `None` if it cannot be or leaves."""
        try:
            return self._pin(path).real
        except ToolError:
            return None

    def stat(self, path: str) -> Entry:
        """What is at a path, behind links."""
        pin = self._pin(path)
        with naming(path), pin.parent(path, self._fd, self._opener) as (folder, name):
            status = look(folder, name)
            pin.require(path, status)
            return entry_of(pin.real, status)

    def read(self, path: str, limit: int | None = None) -> bytes:
        """The whole content of a file; one of more than `limit` bytes is refused."""
        most = self.limits.read if limit is None else limit
        content = self.read_start(path, most + 1)
        if len(content) > most:
            raise ToolError(
                "file_too_large",
                f"{brief(path)} has more than {most} bytes, the most that is read at once",
            )
        return content

    def read_start(self, path: str, length: int) -> bytes:
        """The first bytes of a file, at most `length`."""
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
        # A name is text too.
        self.origins.saw_files((pin.real, *(entry.path for entry in entries)))
        return Listing(entries, walk.complete and len(found) <= most)

    def walk_files(self) -> Iterator[Entry]:
        """Every file of the workspace, to copy it; links and what cannot be read are left out."""
        most = self.limits.files
        # One more than may be: a folder that is cut short is surely too much.
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
    ) -> Entry:
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
            old = look_if_there(folder, name)
            pin.require(path, old)
            if old is not None:
                refuse_to_replace(path, old, overwrite)
            replace(folder, name, content, old=old, executable=executable, overwrite=overwrite)
            # From now on the call means what it has written.
            call_files().pins[self, relative(path)] = take_pin(self._fd, pin.real, self._opener)
        runs = executable or (old is not None and entry_of(pin.real, old).executable)
        return Entry(path=pin.real, kind="file", size=len(content), executable=runs)

    def delete(self, path: str) -> None:
        """Delete a file, a link (not what it leads to) or an empty folder."""
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
        """The real path that a write to `path` makes or replaces; refused if it is protected."""
        real = self._pin(path).real
        self._refuse_protected(path, real)
        return real

    def _pin(self, path: str) -> Pin:
        """Return the pin of a path; in a call, the one taken when it was first resolved."""

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
            # A link may lead to a name that no call may write.
            return relative(real)
        except ToolError as error:
            raise unsafe(path, "a link in it leads to a name that is refused") from error

    def _refuse_protected(self, path: str, real: str) -> None:
        if real == HERE:
            raise wrong_type(path, "it is the workspace itself; name a file in it")
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
