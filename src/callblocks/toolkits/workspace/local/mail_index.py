"""The index of a mailbox in SQLite: `office/.index/mail.sqlite`.

It holds nothing that the files do not say, and each query brings it up to date first. A damaged
index, or one of another version, is rebuilt; if no file can be written, it is built in memory for
the one query.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from callblocks.model.errors import ToolError
from callblocks.runtime.files.journals import foreign_journal
from callblocks.toolkits.workspace.local.mail_box import MailBox
from callblocks.toolkits.workspace.local.mail_refresh import refresh
from callblocks.toolkits.workspace.local.mail_rows import SCHEMA, writing

__all__ = ("MailIndex",)

_VERSION = 1
_WAIT = 5.0
_T = TypeVar("_T")

# Codes for a file that cannot be used but is not corrupt.
_UNUSABLE = frozenset(
    (
        *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL),
        *(sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH),
    )
)
# Corrupt bytes surface as SQLite errors, as invalid JSON, or as messages that are not UTF-8.
_WRONG = (sqlite3.Error, UnicodeDecodeError, msgspec.MsgspecError)
_BUSY = frozenset((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED))


class MailIndex:
    """The index beside a mailbox."""

    def __init__(self, office: Path, box: MailBox) -> None:
        self._folder = office / ".index"
        self._path = self._folder / "mail.sqlite"
        self._box = box

    def ask(self, question: Callable[[sqlite3.Connection], _T]) -> _T:
        """Run a query on an index that is up to date."""
        try:
            return self._asked(str(self._path), question)
        except _WRONG as error:
            code = _code(error)
            if code in _BUSY:
                why = "another program holds the index of the mail for too long; try again"
                raise ToolError("busy", why) from error
        # Corrupt: delete it and try once more. If that fails as well, or the file is unusable, use
        # memory; the answer is the same and only slower.
        if code not in _UNUSABLE:
            self._drop()
            with suppress(*_WRONG):
                return self._asked(str(self._path), question)
        try:
            return self._asked(":memory:", question)
        except _WRONG as error:
            raise ToolError("file_error", f"the mail cannot be searched: {error}") from error

    def _asked(self, path: str, question: Callable[[sqlite3.Connection], _T]) -> _T:
        if path != ":memory:":
            path = self._prepared()
        with closing(sqlite3.connect(path, timeout=_WAIT, isolation_level=None)) as index:
            _require_tables(index)
            refresh(index, self._box)
            return question(index)

    def _prepared(self) -> str:
        """Return the path of the index; memory if a link is in its place."""
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            if foreign_journal(self._path):
                raise sqlite3.DatabaseError("its journal is not its own")
            if not self._folder.is_symlink() and not self._path.is_symlink():
                with suppress(FileExistsError):
                    os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                return str(self._path)
        except OSError:
            pass
        return ":memory:"

    def _drop(self) -> None:
        for ending in ("", "-journal", "-wal", "-shm"):
            with suppress(OSError):
                os.unlink(f"{self._path}{ending}")


def _require_tables(index: sqlite3.Connection) -> None:
    if _version(index) == _VERSION:
        return
    with writing(index):
        version = _version(index)
        if version == _VERSION:  # another process made them meanwhile
            return
        if version:
            raise sqlite3.DatabaseError("the index is of another version")
        for statement in SCHEMA.split(";\n"):
            index.execute(statement)
        index.execute(f"PRAGMA user_version = {_VERSION}")


def _version(index: sqlite3.Connection) -> int:
    return int(index.execute("PRAGMA user_version").fetchone()[0])


def _code(error: Exception) -> int:
    """Return the primary SQLite error code, which is the lowest byte of an extended one."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
