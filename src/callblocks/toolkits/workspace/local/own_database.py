"""An SQLite file that only this package writes, with a counter of changes.

The counter tells if data that was read before is still valid. A file that is damaged or foreign is
renamed and a new one started; `faults` reports it.

Locks: the folder's `flock` protects the existence of the file (shared for use, exclusive for
creating or renaming it), SQLite's own lock its content. Without the first, a process could still
use a renamed file and take the journal of its successor for its own.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from callblocks.model.errors import ToolError
from callblocks.runtime.files.faults import naming
from callblocks.runtime.files.names import unsafe
from callblocks.toolkits.workspace.local.database import damaged, database, make_database

__all__ = ("OwnDatabase",)

T = TypeVar("T")

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS state (base TEXT, change INTEGER);
    INSERT INTO state SELECT hex(randomblob(8)), 0 WHERE NOT EXISTS (SELECT * FROM state)
"""


class _Failed(Exception):
    """The work failed, not the file."""

    def __init__(self, error: ToolError) -> None:
        super().__init__(error.message)
        self.error = error


class OwnDatabase:
    """One file, opened for each call; its folder must exist."""

    def __init__(self, path: Path, schema: str, faults: list[str]) -> None:
        self.path = path
        self._schema = f"{_SCHEMA};{schema}"
        self._faults = faults

    def is_there(self) -> bool:
        """Tell if the file exists."""
        return os.path.lexists(self.path)

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a read transaction."""
        return self._try(lambda: self._run(work, write=False))

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a write transaction and count it as a change."""

        def counted(base: sqlite3.Connection) -> T:
            # A transaction that changed nothing must not invalidate the caches of other processes.
            before = base.total_changes
            done = work(base)
            if base.total_changes != before:
                base.execute("UPDATE state SET change = change + 1")
            return done

        return self._try(lambda: self._run(counted, write=True))

    def state(self, base: sqlite3.Connection) -> tuple[str, int]:
        """Return the identity and the change counter of the database."""
        row: tuple[str, int] | None = base.execute("SELECT base, change FROM state").fetchone()
        if row is None:
            raise sqlite3.DatabaseError("its state is lost")
        return row

    def _run(self, work: Callable[[sqlite3.Connection], T], *, write: bool) -> T:
        # The file may be renamed by another process between creating and locking it, so both are
        # repeated until it exists under the lock.
        while True:
            with naming(self.path.name):
                self._make()
            with self._held():
                if self._is_made():
                    return self._worked(work, write)

    def _worked(self, work: Callable[[sqlite3.Connection], T], write: bool) -> T:
        with database(self.path, write=write, ours=True) as base:
            try:
                return work(base)
            except ToolError as error:
                raise _Failed(error) from error

    def _make(self) -> None:
        """Create the file if it is missing; a link is not followed."""
        folder = self.path.parent
        with suppress(FileExistsError):
            folder.mkdir(0o700)
        if folder.is_symlink():
            raise unsafe(folder.name, "it is a link; links in the office are not followed")
        if not self._is_made():
            # POSIX: closing a descriptor releases all locks of this process on that file, so
            # creation needs the exclusive lock.
            with self._held(alone=True):
                if not self._is_made():
                    make_database(self.path, self._schema)

    def _is_made(self) -> bool:
        try:
            status = self.path.lstat()
        except FileNotFoundError:
            return False
        if not stat.S_ISREG(status.st_mode):
            raise damaged(self.path, "it is a link or a folder")
        return status.st_size > 0

    @contextmanager
    def _held(self, *, alone: bool = False) -> Generator[None, None, None]:
        """Hold the folder's lock; `alone` to create or rename the file while nobody uses it.

        A process with a renamed file still open would take the journal of the next one for its own.
        """
        import fcntl

        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            yield
        finally:
            os.close(folder)

    def _try(self, work: Callable[[], T]) -> T:
        try:
            return self._twice(work)
        except _Failed as failed:
            raise failed.error from failed.error.__cause__

    def _twice(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except ToolError as error:
            if error.code != "workspace_damaged":
                raise
        self._put_aside()
        return work()

    def _put_aside(self) -> None:
        """Rename the damaged file, unless another process has done it already."""
        aside = f"{self.path.name}.damaged-{time.time_ns()}"
        with self._held(alone=True):
            if self._is_sound():
                return
            os.rename(self.path, self.path.with_name(aside))
            # The journal must move along: SQLite would roll the new database back with it.
            with suppress(FileNotFoundError):
                os.rename(f"{self.path}-journal", self.path.with_name(f"{aside}-journal"))
        self._faults.append(f"{self.path.name} was damaged: it is now {aside}, and a new one begun")

    def _is_sound(self) -> bool:
        """Tell if the file is sound; a missing one is."""
        try:
            if not self._is_made():
                return True
            with database(self.path, ours=True) as base:
                return _check(base)
        except ToolError as error:
            if error.code != "workspace_damaged":
                raise
            return False


def _check(base: sqlite3.Connection) -> bool:
    base.execute("SELECT base FROM state").fetchone()
    return base.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
