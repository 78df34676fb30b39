"""Marks of text of others, in `.callblocks/origins.sqlite` of a workspace.

    origins   resource   file:notes/a.md, tree:plans, task:ID, index:notes/a.md, tools:
                         moved:8-97-1700  a file that lies elsewhere than where it was written
              reason     why it was marked, for people who look
              contained  1 where all reasons came of sandboxed commands alone
              device, inode, changed   the file that was written, so that a new name is known

The file is made by the first mark: a workspace in which nothing of others was stored has none.
Deleting it forgets all marks. A commit is on disk before `put` returns.

A workspace may come from others, and this file with it. One that has other tables, or a trigger
that drops marks again, is refused as a whole: nothing can be looked up, which counts as marked.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from callblocks.guard.files.atomic_write import foreign_journal
from callblocks.guard.files.workspace_path import STATE

if TYPE_CHECKING:
    # Most workspaces have no marks: the module is loaded by the first use of a file of them.
    import sqlite3

__all__ = ("Identity", "Mark", "Marks", "MarksUnavailable")

_NAME = "origins.sqlite"
_LONGEST = 500
_WAIT = 10.0
_TABLE = """CREATE TABLE origins (
    resource TEXT PRIMARY KEY,
    reason TEXT NOT NULL,
    contained INTEGER NOT NULL,
    device INTEGER,
    inode INTEGER,
    changed INTEGER
) STRICT"""
_INDEX = "CREATE INDEX origins_by_file ON origins (inode)"
# A reason that counts for all calls is never replaced by one that counts for fewer: `contained`
# only ever goes from 1 to 0. An attacker could otherwise weaken a mark by storing again.
_PUT = """
insert into origins (resource, reason, contained) values (?, ?, ?)
on conflict (resource) do update set
    reason = excluded.reason, contained = min(contained, excluded.contained)
"""
# Keeps the mark of a file that lost its name without being deleted: the row is copied to a key made
# of its identity. Excluded are the file that is gone and the file that takes the name.
_MOVE = """
insert into origins (resource, reason, contained, device, inode, changed)
select 'moved:' || device || '-' || inode || '-' || changed,
    reason, contained, device, inode, changed
from origins
where resource = ? and inode is not null
    and not (device is ? and inode is ?) and not (device is ? and inode is ?)
on conflict (resource) do update set contained = min(contained, excluded.contained)
"""
_CLEAR = "delete from origins where resource = ?"
_THERE = "select 1 from origins where resource = ?"


class MarksUnavailable(Exception):
    """The file of marks cannot be read or written."""


class Identity(msgspec.Struct, frozen=True):
    """The identity of a file independent of its name: renaming and linking change none of these."""

    device: int
    inode: int
    changed: int

    @classmethod
    def of(cls, status: os.stat_result) -> Identity:
        """Return the identity of a file."""
        # SQLite's integers have a sign.
        return cls(_signed(status.st_dev), _signed(status.st_ino), _signed(status.st_mtime_ns))


class Mark(msgspec.Struct, frozen=True):
    """A note that a resource holds text of others; `contained` as in `ContainedTaint`."""

    resource: str
    contained: bool


class Marks:
    """The marks of one workspace; several programs may use them at once."""

    def __init__(self, workspace: Path) -> None:
        self._file = workspace / STATE / _NAME
        self._lock = threading.RLock()
        self._store: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._store is not None:
                self._store.close()
            self._store = self._opened = None

    def put(self, resources: Iterable[str], reason: str, *, contained: bool) -> None:
        """Mark resources, on disk when this returns."""
        # The reason is only shown to people; a huge one from a hostile page must not fill the disk.
        words = reason[:_LONGEST].encode(errors="replace").decode()
        rows = [(_key(one), words, int(contained)) for one in resources]
        with self._made() as store, _changing(store):
            store.executemany(_PUT, rows)

    def identify(self, resource: str, file: Identity, gone: Identity | None = None) -> None:
        """Record the identity of a marked file, to find it under another name; `gone` as in
        `clear`.
        """
        with self._made() as store, _changing(store):
            store.execute(_MOVE, (_key(resource), *_number(gone), *_number(file)))
            store.execute(
                "update origins set device = ?, inode = ?, changed = ? where resource = ?",
                (file.device, file.inode, file.changed, _key(resource)),
            )

    def clear(self, resources: Iterable[str], gone: Identity | None = None) -> None:
        """Remove marks; `gone` is the file that no longer exists under any name.

        Any other file that was marked here has been moved, or has a second name: its mark stays
        with it, and is found by the file's identity.
        """
        keys = [_key(one) for one in resources]
        if gone is not None:
            keys.append(f"moved:{gone.device}-{gone.inode}-{gone.changed}")
        file = _number(gone)
        with self._using() as store:
            # Most resources have no mark, and a read takes no write lock.
            if store is not None and any(store.execute(_THERE, (key,)).fetchone() for key in keys):
                with _changing(store):
                    store.executemany(_MOVE, [(key, *file, *file) for key in keys])
                    store.executemany(_CLEAR, [(key,) for key in keys])

    def find(self, resources: Sequence[str], file: Identity | None = None) -> Mark | None:
        """Return the mark of one of these resources, or of the file with this identity."""
        holes = ", ".join("?" * len(resources))
        query = f"select resource, contained from origins where resource in ({holes})"
        with self._using() as store:
            if store is None:
                return None
            found = store.execute(query, [_key(one) for one in resources]).fetchall()
            if file is not None:
                # Second lookup, by identity: the file may have been renamed or hard-linked since it
                # was marked.
                found += store.execute(
                    "select resource, contained from origins"
                    " where inode = ? and device = ? and changed = ?",
                    (file.inode, file.device, file.changed),
                ).fetchall()
        return _weightiest(found)

    def find_below(self, prefix: str) -> Mark | None:
        """Return a mark of a resource whose name starts with `prefix`."""
        start = _key(prefix)
        with self._using() as store:
            if store is None:
                return None
            found = store.execute(
                "select resource, contained from origins"
                " where substr(resource, 1, ?) = ? order by contained limit 1",
                (len(start), start),
            ).fetchall()
        return _weightiest(found)

    @contextmanager
    def _using(self) -> Generator[sqlite3.Connection | None]:
        """Use the file; `None` where there is none."""
        with self._lock:
            try:
                yield self._open()
            except _faults() as error:
                raise MarksUnavailable(f"{STATE}/{_NAME} cannot be used: {error}") from error

    @contextmanager
    def _made(self) -> Generator[sqlite3.Connection]:
        """Use the file; it is made where there is none."""
        with self._lock:
            try:
                self._make()
                store = self._open()
                assert store is not None, "it was made"
                yield store
            except _faults() as error:
                raise MarksUnavailable(f"{STATE}/{_NAME} cannot be used: {error}") from error

    def _open(self) -> sqlite3.Connection | None:
        """Return the open file; open it anew where another file has taken its name."""
        there = self._look()
        if there != self._opened or self._store is None:
            self.close()
            if there is not None:
                self._store = _connect(self._file)
                self._opened = there
        return self._store

    def _look(self) -> tuple[int, int] | None:
        """Return the identity of the file; links are not followed."""
        try:
            folder, file = self._file.parent.lstat(), self._file.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not stat.S_ISDIR(folder.st_mode) or not stat.S_ISREG(file.st_mode):
            raise OSError("it is a link, and links are not followed")
        return file.st_dev, file.st_ino

    def _make(self) -> None:
        """Create the folder and an empty file, private and ignored by git."""
        if self._look() is not None:
            return
        folder = self._file.parent
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        if folder.is_symlink():
            raise OSError("it is a link, and links are not followed")
        # Never open an existing file: closing it would drop this process's POSIX locks on it.
        for name, content in ((".gitignore", b"*\n"), (_NAME, b"")):
            with suppress(FileExistsError):
                flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
                made = os.open(folder / name, flags, 0o600)
                try:
                    os.write(made, content)
                finally:
                    os.close(made)


def _faults() -> tuple[type[Exception], ...]:
    """Return the exceptions that a file of marks may raise; imported only when one was raised."""
    import sqlite3

    return sqlite3.Error, OSError


def _connect(file: Path) -> sqlite3.Connection:
    import sqlite3

    # A workspace may be untrusted, so the journal beside its database is checked first.
    if wrong := foreign_journal(file):
        raise OSError(wrong)
    store = sqlite3.connect(file, timeout=_WAIT, isolation_level=None, check_same_thread=False)
    try:
        store.execute("pragma trusted_schema = off")
        store.execute("pragma journal_mode = truncate")
        store.execute("pragma synchronous = full")
        _set_up(store)
    except BaseException:
        store.close()
        raise
    return store


def _set_up(store: sqlite3.Connection) -> None:
    """Create the tables of an empty file; refuse a file with any other schema."""
    if not _tables(store):
        with _changing(store):
            # Another program may have been faster.
            if not _tables(store):
                store.execute(_TABLE)
                store.execute(_INDEX)
    # Compared as exact SQL text: a view or a trigger under a known name could drop marks.
    if _tables(store) != {_TABLE, _INDEX}:
        raise OSError("it has other tables; delete the file")


def _tables(store: sqlite3.Connection) -> set[str]:
    rows = store.execute("select sql from sqlite_schema where sql is not null").fetchall()
    return {sql for (sql,) in rows}


@contextmanager
def _changing(store: sqlite3.Connection) -> Generator[None]:
    """Make all changes inside of one transaction, or none."""
    store.execute("begin immediate")
    try:
        yield
        store.execute("commit")
    except BaseException:
        with suppress(*_faults()):
            store.execute("rollback")
        raise


def _weightiest(found: list[tuple[str, int]]) -> Mark | None:
    """Return the mark that counts for the most calls."""
    marks = [Mark(resource, bool(contained)) for resource, contained in found]
    return min(marks, key=lambda mark: mark.contained, default=None)


def _key(resource: str) -> str:
    """Return a name that SQLite can store: a file name may hold bytes that are no text."""
    return resource.encode(errors="backslashreplace").decode()


def _number(file: Identity | None) -> tuple[int | None, int | None]:
    """Return device and inode; the time is left out, because it changes when a file is edited in
    place.
    """
    return (None, None) if file is None else (file.device, file.inode)


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number
