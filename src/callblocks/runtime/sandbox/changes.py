"""Changes of a job: the files that came out compared with the files that went in.

Everything that comes out is hostile. A path must be plain and new, a file regular, and of its mode
only the owner's executable bit counts. Unchanged files are dropped at once.
"""

from __future__ import annotations

import hashlib
import posixpath

from callblocks.runtime.sandbox.names import fault_of_path
from callblocks.runtime.sandbox.packing import Note
from callblocks.runtime.sandbox.sandbox import Changes, LeftOut, Written

__all__ = ("Collector", "Refused")

_LISTED = 100


class Refused(Exception):
    """The whole result of a job is refused; the message says why."""


class Collector:
    """Compares the entries that come out, one by one, with what went in.

    `links` went in as links and may stay as they are. `bytes_limit` is for the content of all
    files, `count_limit` for the number of entries.
    """

    def __init__(
        self,
        notes: dict[str, Note],
        links: frozenset[str] = frozenset(),
        *,
        bytes_limit: int,
        count_limit: int,
    ) -> None:
        self._notes = notes
        self._links = links
        self._bytes_left = bytes_limit
        self._count_left = count_limit
        self._seen: set[str] = set()
        self._written: list[Written] = []
        self._left_out: list[LeftOut] = []

    def count(self) -> None:
        """Count an entry of any kind, before it is read."""
        self._count_left -= 1
        if self._count_left < 0:
            raise Refused("there are more files than the limit")

    def admit(self, path: str, size: int) -> bool:
        """Return whether a regular file of this size is to be read; if not, it is skipped."""
        if size > self._bytes_left:
            raise Refused("the files are larger than the limit")
        self._bytes_left -= size
        return self._is_new(path)

    def file(self, path: str, content: bytes, *, executable: bool, modified: float = 0) -> None:
        """Take the content of an admitted file, and the time of its last write."""
        note = self._notes.get(path)
        same = note is not None and note.executable == executable
        # A watched file was given an old time on the way in, so a newer time proves a write even if
        # the content is the same.
        again = note is not None and note.modified is not None and modified > note.modified
        if again or not (same and note and note.digest == hashlib.sha256(content).digest()):
            self._written.append(Written(path, content, executable))

    def other(self, path: str, reason: str) -> None:
        """Note an entry that is no regular file: it stays behind."""
        if self._is_new(path) and path not in self._links:
            self._leave(path, reason)

    def changes(self, left_out: tuple[LeftOut, ...] = ()) -> Changes:
        """Return all changes. A file that went in and did not come out was deleted.

        Raise `Refused` when a file is said to lie below another file.
        """
        # Written to the real folder, `a` as a file and `a/b` below it would fail half-way.
        for written in self._written:
            parent = posixpath.dirname(written.path)
            while parent:
                if parent in self._seen:
                    raise Refused(f"the archive has {parent!r} as a file and as a folder")
                parent = posixpath.dirname(parent)
        return Changes(
            written=tuple(sorted(self._written, key=lambda written: written.path)),
            deleted=tuple(sorted(self._notes.keys() - self._seen)),
            left_out=(*left_out, *self._left_out)[:_LISTED],
        )

    def _is_new(self, path: str) -> bool:
        if fault := fault_of_path(path):
            self._leave(ascii(path), fault)
            return False
        if path in self._seen:
            raise Refused(f"the archive has {path!r} twice")
        self._seen.add(path)
        return True

    def _leave(self, path: str, reason: str) -> None:
        if len(self._left_out) < _LISTED:
            self._left_out.append(LeftOut(path, reason))
