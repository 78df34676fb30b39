"""The file of approvals: SQLite, readable by its owner only, safe for several processes.

Every change is one transaction that takes the write lock at its start (BEGIN IMMEDIATE) and is on
the disk before the caller continues: an approval that was used stays used after a power cut. A
deferred transaction would read first and take the lock later; two processes could then both see the
same approval as unused.

The file decides which calls run. So it is refused where another user could write to it: in a folder
that others can write, as a symlink, or with a foreign owner.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from callblocks.runtime.approvals.faults import ApprovalsUnavailable

if TYPE_CHECKING:
    import sqlite3

__all__ = ("MEMORY", "Store")

# The name of an in-memory store, which is gone when it is closed.
MEMORY = ":memory:"

_APPLICATION = 0x63626C6B
_VERSION = 2
_WAIT_SECONDS = 5.0
_OTHERS_WRITE = 0o022
_OTHERS = 0o077

_TABLE = """
CREATE TABLE approvals (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL
        CHECK (state IN ('pending', 'approved', 'denied', 'used', 'expired', 'revoked')),
    fingerprint TEXT NOT NULL,
    grant_key TEXT NOT NULL,
    tool TEXT NOT NULL,
    shown TEXT NOT NULL,
    asked_at REAL NOT NULL,
    answered_at REAL NOT NULL DEFAULT 0,
    expires_at REAL NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    minutes INTEGER NOT NULL DEFAULT 0,
    tainted INTEGER NOT NULL,
    is_whole INTEGER NOT NULL DEFAULT 1,
    since REAL NOT NULL,
    boot TEXT NOT NULL,
    steady_expires REAL NOT NULL
)
"""
_SET_UP = (
    _TABLE,
    "CREATE UNIQUE INDEX one_pending ON approvals (fingerprint) WHERE state = 'pending'",
    "CREATE INDEX by_fingerprint ON approvals (fingerprint, number)",
    "CREATE INDEX by_grant ON approvals (grant_key, number) WHERE minutes > 0",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {_VERSION}",
)
# Of a question of the first version nobody knows what stood where a part is missing.
# A question of version 1 does not record what a mask covered. One with any mask counts as hidden.
_SECOND = (
    "ALTER TABLE approvals ADD COLUMN is_whole INTEGER NOT NULL DEFAULT 1",
    "UPDATE approvals SET is_whole = 0 WHERE instr(shown, '[redacted]')",
    f"PRAGMA user_version = {_VERSION}",
)


class Store:
    """One open file; threads take turns. Every fault is raised as `ApprovalsUnavailable`."""

    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        self._turn = threading.Lock()
        self._process = os.getpid()
        with self._told():
            if self._path != MEMORY:
                _make_private(Path(self._path))
            self._connection = _connect(self._path)
            try:
                self._set_up()
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection, None, None]:
        """Give exclusive use of the file; the block is committed whole or rolled back."""
        with self._turn, self._told():
            # SQLite connections do not survive fork: the child's locks would not exclude the
            # parent.
            if os.getpid() != self._process:
                raise OSError("opened by another process; open it anew in this one")
            # IMMEDIATE takes the write lock before the first read. With a deferred transaction two
            # processes could both read an approval as unused.
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def _set_up(self) -> None:
        with self.transaction() as connection:
            found = (_pragma(connection, "application_id"), _pragma(connection, "user_version"))
            statements: tuple[str, ...] = ()
            if found == (0, 0) and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                statements = _SET_UP
            elif found == (_APPLICATION, 1):
                statements = _SECOND
            elif found != (_APPLICATION, _VERSION):
                raise OSError("not a file of approvals that this version can read")
            for statement in statements:
                connection.execute(statement)

    @contextmanager
    def _told(self) -> Generator[None, None, None]:
        """Translate faults into `ApprovalsUnavailable` with a message that names the file."""
        import sqlite3

        try:
            yield
        except ApprovalsUnavailable:
            raise
        except (sqlite3.Error, OSError, msgspec.ValidationError) as error:
            raise ApprovalsUnavailable(f"approvals in {self._path}: {error}") from error


def _connect(path: str) -> sqlite3.Connection:
    import sqlite3

    connection = sqlite3.connect(
        path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
    )
    connection.row_factory = sqlite3.Row
    # EXTRA also syncs the directory after the journal was removed. With FULL, a power cut could
    # bring the journal back, and its rollback would make a used approval unused.
    connection.execute("PRAGMA synchronous = EXTRA")
    # The schema comes from a file: functions that it names must not run.
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def _make_private(path: Path) -> None:
    """Create the file and its folder for their owner only; refuse what others can change."""
    if "\0" in str(path):
        raise OSError("a path has no NUL in it")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A writable folder would let another user replace the file, whatever its own mode is.
    folder = path.parent.stat()
    if folder.st_mode & _OTHERS_WRITE:
        raise OSError(f"others can write to the folder; run: chmod go-w {path.parent}")
    try:
        # Never open a file that exists: POSIX drops all locks of a process on a file as soon as the
        # process closes any descriptor of that file, SQLite's locks included.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        _check_private(path)


def _check_private(path: Path) -> None:
    file = path.lstat()
    if not stat.S_ISREG(file.st_mode):
        raise OSError("not a regular file")
    if file.st_uid != os.geteuid():
        raise OSError("the file belongs to another user")
    if file.st_mode & _OTHERS:
        raise OSError(f"others can read or write the file; run: chmod 600 {path}")
