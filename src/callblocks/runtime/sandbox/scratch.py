"""A job's copy of its folder on the host's disk, for a sandbox without a tmpfs of its own.

    <temporary>/workspace   the copy          <temporary>/tmp   for temporary files

The job's user owns both. Afterwards, when all its processes are dead, the result is read as
hostile: no link is followed, and only regular files of that user are taken.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import AsyncGenerator, Collection

from callblocks.runtime.sandbox.changes import Collector
from callblocks.runtime.sandbox.packing import Note, note_of, open_file, read_exactly
from callblocks.runtime.sandbox.plan import setting_up
from callblocks.runtime.sandbox.survey import Entry
from callblocks.runtime.sandbox.walking import Found, walk

__all__ = ("Scratch", "scratch")


class Scratch:
    """The two folders of one job, owned by its user."""

    def __init__(self, top: str, user: int) -> None:
        self._top = top
        self._user = user
        self.workspace = os.path.join(top, "workspace")
        self.temporary = os.path.join(top, "tmp")

    def set_up(self) -> None:
        # Others may pass through but not list it: the job needs to reach its two folders and
        # nothing else.
        os.chmod(self._top, 0o711)
        for path in (self.workspace, self.temporary):
            os.mkdir(path, 0o700)
            os.chown(path, self._user, self._user)

    def fill(self, folder: str, entries: tuple[Entry, ...], notes: dict[str, Note]) -> None:
        """Copy the entries in, and note each file. No job runs in there yet."""
        root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for entry in entries:
                self._copy(root, entry, notes)
        finally:
            os.close(root)

    def _copy(self, root: int, entry: Entry, notes: dict[str, Note]) -> None:
        path = os.path.join(self.workspace, entry.path)
        if entry.is_file:
            source = open_file(root, entry.path)
            if source is None:
                return
            digest = hashlib.sha256()
            with open(path, "xb") as file:
                for piece in read_exactly(source, entry.size):
                    digest.update(piece)
                    file.write(piece)
            os.chmod(path, entry.permissions)
            os.utime(path, (entry.modified, entry.modified))
            if not entry.read_only:
                notes[entry.path] = note_of(entry, digest.digest())
        elif entry.target:
            os.symlink(entry.target, path)
        else:
            os.mkdir(path)
            os.chmod(path, entry.permissions)
        os.chown(path, self._user, self._user, follow_symlinks=False)

    def collect(self, collector: Collector, without: Collection[str] = ()) -> None:
        """Pass every entry but those in `without` to the collector, which may raise `Refused`."""
        for found in walk(self.workspace, without.__contains__):
            collector.count()
            self._collect(collector, found)

    def _collect(self, collector: Collector, found: Found) -> None:
        path, seen = found.path, found.seen
        if stat.S_ISDIR(seen.st_mode):
            return
        if not stat.S_ISREG(seen.st_mode):
            collector.other(path, "it is a link or a pipe")
        # A hard link to a file of the host has the host's owner: its content must not come out.
        elif seen.st_uid != self._user:
            collector.other(path, "it is not the job's own")
        elif collector.admit(path, seen.st_size):
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(found.name, flags, dir_fd=found.folder)
            content = b"".join(read_exactly(fd, seen.st_size))
            executable = bool(seen.st_mode & 0o100)
            collector.file(path, content, executable=executable, modified=seen.st_mtime)

    def size(self) -> int:
        """Return the bytes that both folders take on the disk; files may come and go meanwhile."""
        return sum(max(found.seen.st_blocks, 1) * 512 for found in walk(self._top))


@contextlib.asynccontextmanager
async def scratch(user: int) -> AsyncGenerator[Scratch, None]:
    """Create a scratch folder and remove it at the end, with its content."""
    with setting_up():
        top = tempfile.mkdtemp(prefix="callblocks-")
    try:
        made = Scratch(top, user)
        with setting_up():
            made.set_up()
        yield made
    finally:
        # `rm` copes with folders nested deeper than Python's recursion limit.
        remover = await asyncio.create_subprocess_exec(
            *("/bin/rm", "-rf", "--", top), stdin=asyncio.subprocess.DEVNULL, env={}
        )
        await remover.wait()
