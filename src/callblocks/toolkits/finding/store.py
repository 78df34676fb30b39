"""The database of the index: a cache in the office folder that may be deleted at any time.

    <workspace>/office/.index/search.sqlite

A database that is damaged, of another version or foreign is replaced by an empty one. If the file
cannot be written or is reached through a link, the index of this call is held in memory.

The file lies in the workspace, where hostile code may have written it. Therefore the schema is
compared as text with our own before use (no foreign triggers or views), `trusted_schema` is off,
and a foreign journal, which SQLite would replay, is refused.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import unicodedata
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TypeVar

from callblocks.model.errors import ToolError
from callblocks.runtime.files.journals import foreign_journal
from callblocks.runtime.files.root import Root

__all__ = ("PLACE", "use_store")

# The path of the database below the workspace.
PLACE = "office/.index/search.sqlite"

# Folding uses Python's Unicode tables: with other tables the stored words would not match queries,
# so the Unicode version is part of the schema version.
_VERSION = int(unicodedata.unidata_version.replace(".", "")) * 100 + 1
_SCHEMA = (
    "create table files (id integer primary key, path text not null unique, folder text not null,"
    " size integer not null, mtime integer not null, digest text not null, kind text not null,"
    " state text not null, title text not null, given text not null, tags text not null) strict",
    "create index files_folder on files (folder)",
    "create index files_state on files (state)",
    "create table folders (path text primary key, mtime integer not null) strict",
    "create table passages (id integer primary key, file integer not null, heading text not null,"
    " page integer not null, line integer not null, text text not null) strict",
    "create index passages_file on passages (file)",
    "create virtual table words using fts5 (name, heading, text, tokenize = 'ascii')",
)
_WAIT = 5.0

T = TypeVar("T")


def use_store(root: Root, work: Callable[[sqlite3.Connection], T]) -> T:
    """Run work on the database; replace a damaged one and run the work again."""
    place = _place(root)
    if place is None:
        return _use_memory(work)
    try:
        return _use(place, work)
    except sqlite3.OperationalError as error:
        if "readonly" in str(error) or "unable to open" in str(error):
            return _use_memory(work)
        raise _refused(error) from error
    # `OperationalError` is a subclass and was handled above. What remains is a corrupt or a foreign
    # file, which is replaced: the index is a cache.
    except sqlite3.DatabaseError:
        _remove(place)
    try:
        return _use(place, work)
    except sqlite3.Error as error:
        raise _refused(error) from error


def _use(place: Path, work: Callable[[sqlite3.Connection], T]) -> T:
    foreign = foreign_journal(place)
    if foreign:
        raise sqlite3.DatabaseError(foreign)
    with _opened(str(place)) as store:
        return work(store)


def _use_memory(work: Callable[[sqlite3.Connection], T]) -> T:
    with _opened(":memory:") as store:
        return work(store)


@contextmanager
def _opened(place: str) -> Generator[sqlite3.Connection]:
    with closing(sqlite3.connect(place, timeout=_WAIT, isolation_level=None)) as store:
        # No fsync: after a crash of the machine the index is rebuilt from the files.
        store.execute("pragma synchronous = off")
        store.execute("pragma trusted_schema = off")
        store.execute("pragma journal_mode = truncate")
        if _tables(store) != _own_tables():
            _set_up(store)
        yield store


def _set_up(store: sqlite3.Connection) -> None:
    """Create the tables; foreign tables count as damage."""
    store.execute("begin immediate")
    found = _tables(store)
    if found == _own_tables():
        # Another process created them between our check and the lock.
        store.execute("rollback")
        return
    if found != (0, ()):
        store.execute("rollback")
        raise sqlite3.DatabaseError("it has other tables")
    for statement in _SCHEMA:
        store.execute(statement)
    store.execute(f"pragma user_version = {_VERSION}")
    store.execute("commit")


def _tables(store: sqlite3.Connection) -> tuple[int, tuple[str, ...]]:
    (version,) = store.execute("pragma user_version").fetchone()
    rows = store.execute("select sql from sqlite_master where sql is not null order by name")
    return version, tuple(sql for (sql,) in rows)


@cache
def _own_tables() -> tuple[int, tuple[str, ...]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as store:
        for statement in _SCHEMA:
            store.execute(statement)
        return _VERSION, _tables(store)[1]


def _place(root: Root) -> Path | None:
    """Return the path of the database, or `None` if a link is in the way or no folder can
    be made.
    """
    folder = PLACE.rpartition("/")[0]
    if root.resolve(folder) != folder:
        return None
    place = root.folder / PLACE
    try:
        for made in (place.parent.parent, place.parent):
            with suppress(FileExistsError):
                made.mkdir(mode=0o700)
        if place.is_symlink() or (place.exists() and not stat.S_ISREG(place.lstat().st_mode)):
            return None
        _make(place)
    except OSError:
        return None
    return place


def _make(place: Path) -> None:
    """Create an empty file with mode 0600; keep an existing one."""
    with suppress(FileExistsError):
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
        os.close(os.open(place, flags, 0o600))


def _remove(place: Path) -> None:
    for ending in ("", "-journal", "-wal", "-shm"):
        with suppress(OSError):
            os.unlink(f"{place}{ending}")
    with suppress(OSError):
        _make(place)


def _refused(error: sqlite3.Error) -> ToolError:
    words = str(error).lower()
    if "is full" in words:
        return ToolError("disk_full", f"no room is left for the index {PLACE}; free some")
    if "locked" in words or "busy" in words:
        return ToolError("busy", f"another program writes the index {PLACE}; try again soon")
    return ToolError("workspace_damaged", f"the index {PLACE} cannot be used ({error}); delete it")
