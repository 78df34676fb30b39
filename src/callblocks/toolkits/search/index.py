"""The index: files, their passages, and an FTS5 table of the passages' words.

Ranking is bm25 with column weights: a word in the name or the title counts most, then one in a
heading. Words are folded in Python (`fold` of query.py) before they reach FTS5, whose own tokenizer
only splits at blanks. Thus query and text are folded by the same code.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import unicodedata
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

import msgspec

from callblocks.core.errors import ToolError
from callblocks.guard.files.replace_file import foreign_journal
from callblocks.guard.files.root import Root
from callblocks.toolkits.search.chunks import Kind, Passage
from callblocks.toolkits.search.query import words_of

__all__ = (
    "PLACE",
    "File",
    "FoundPassage",
    "Index",
    "State",
    "name_of",
    "use_store",
)

# --- The entry of a file in the index, and a passage as a search result ---
#
#     read      its passages are those that it has now
#     stale     read once, and changed since: it waits for `file_ingest`
#     unread    it waits for `file_ingest`
#     skipped   it has no words, or cannot be read: nobody is told to try

State: TypeAlias = Literal["read", "stale", "unread", "skipped"]


class File(msgspec.Struct, frozen=True, kw_only=True):
    """An indexed file. `title` is its own, `given` the one that somebody assigned."""

    path: str
    size: int
    mtime: int
    kind: Kind
    state: State
    digest: str = ""
    title: str = ""
    given: str = ""
    tags: tuple[str, ...] = ()
    id: int = 0


class FoundPassage(msgspec.Struct, frozen=True):
    """A passage that was found, with its file."""

    path: str
    kind: Kind
    title: str
    heading: str
    page: int
    line: int
    text: str


def name_of(path: str) -> str:
    """Return the resource name of the title and the tags that somebody assigned to a file."""
    return f"index:{path}"


# --- The index: files, their passages, and an FTS5 table of the passages' words ---

_FILE = "id, path, size, mtime, digest, kind, state, title, given, tags"
_WAITING = 50
_TAGGED = 1_000
# Maximum passages that are ranked. Of a word that occurs almost everywhere, the latest are taken:
# scoring all of them would take seconds.
_RANKED = 3_000
_SCORES = "select rowid, bm25(words, 4.0, 2.0, 1.0) from words where words match ?"
_OF_FILES = "select passages.id from passages join files on files.id = passages.file"


class Index:
    """The operations on an open database."""

    def __init__(self, store: sqlite3.Connection) -> None:
        self._store = store

    @contextmanager
    def changing(self) -> Generator[None]:
        """Run changes in one transaction; other writers wait."""
        self._store.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._store.rollback()
            raise
        self._store.execute("commit")

    def wait_at_most(self, seconds: float) -> None:
        """Set how long to wait for other writers."""
        self._store.execute(f"pragma busy_timeout = {int(seconds * 1000)}")

    def file(self, path: str) -> File | None:
        """Return the entry of one file."""
        return next(self._files("where path = ?", path), None)

    def files_in(self, folder: str) -> dict[str, File]:
        """Return the files that are directly in a folder."""
        return {file.path: file for file in self._files("where folder = ?", folder)}

    def paths_below(self, folder: str) -> list[str]:
        """Return the paths of the files in a folder and below; `.` has all."""
        # A range over the primary text order instead of LIKE: it uses the index, and `%` in a name
        # needs no escaping. "0" is the character after "/".
        below = ("", "\U0010ffff") if folder == "." else (f"{folder}/", f"{folder}0")
        rows = self._store.execute("select path from files where path > ? and path < ?", below)
        return [path for (path,) in rows.fetchall()]

    def some(self, after: str, limit: int) -> list[tuple[str, int, int]]:
        """Return path, size and time of the next files in path order."""
        return self._store.execute(
            "select path, size, mtime from files where path > ? order by path limit ?",
            (after, limit),
        ).fetchall()

    def waiting(self, where: str, values: Sequence[object]) -> list[str]:
        """Return some paths that wait for `file_ingest` and meet a condition."""
        states = "state in ('unread', 'stale')"
        meant = f"{states} and {where}" if where else states
        query = f"select path from files where {meant} order by path limit {_WAITING}"
        return [path for (path,) in self._store.execute(query, values)]

    def tagged(self) -> list[tuple[str, tuple[str, ...]]]:
        """Return some files that have tags, with the tags."""
        query = f"select path, tags from files where tags != '' order by path limit {_TAGGED}"
        return [(path, tuple(tags.split())) for path, tags in self._store.execute(query)]

    def count(self) -> tuple[int, int]:
        """Return the number of files that were read, and of their passages."""
        (files,) = self._store.execute(
            "select count(*) from files where state in ('read', 'stale')"
        ).fetchone()
        (passages,) = self._store.execute("select count(*) from passages").fetchone()
        return files, passages

    def folders(self) -> dict[str, int]:
        """Map the folders that were scanned to their mtimes."""
        return dict(self._store.execute("select path, mtime from folders"))

    def set_folder(self, path: str, mtime: int) -> None:
        """Record that a folder was scanned."""
        self._store.execute("insert or replace into folders values (?, ?)", (path, mtime))

    def drop_folder(self, path: str) -> None:
        """Remove a folder and the files in it."""
        self._store.execute("delete from folders where path = ?", (path,))
        for file in self.files_in(path):
            self.drop(file)

    def put(self, file: File, passages: Sequence[Passage]) -> None:
        """Store a file with its passages, replacing an earlier entry."""
        # Delete and insert instead of update: FTS5 rows must be removed with their old rowids, or
        # the index keeps words of passages that no longer exist.
        self.drop(file.path)
        number = self._put_file(file)
        name = " ".join((file.path, file.title, file.given, *file.tags))
        words = " ".join(words_of(name))
        for passage in passages:
            added = self._store.execute(
                "insert into passages (file, heading, page, line, text) values (?, ?, ?, ?, ?)",
                (number, passage.heading, passage.page, passage.line, passage.text),
            )
            self._store.execute(
                "insert into words (rowid, name, heading, text) values (?, ?, ?, ?)",
                (added.lastrowid, words, *_words(passage.heading, passage.text)),
            )

    def note(self, file: File) -> None:
        """Update the metadata of a file; its passages stay."""
        self._store.execute(
            "update files set size = ?, mtime = ?, digest = ?, state = ? where path = ?",
            (file.size, file.mtime, file.digest, file.state, file.path),
        )

    def hits(self, expression: str, where: str, values: Sequence[object]) -> list[int]:
        """Return the numbers of the passages that match an expression, best first."""
        scores = self._scores(expression, where, values)
        if len(scores) == _RANKED:
            # The limit was reached, so a file named after such a word could be missing. Search
            # names alone as well.
            scores |= self._scores(f"name : ({expression})", where, values)
        return sorted(scores, key=scores.__getitem__)

    def _scores(self, expression: str, where: str, values: Sequence[object]) -> dict[int, float]:
        """Return the bm25 scores of the latest matching passages; lower is better."""
        # The unary plus disables the rowid index: SQLite would otherwise look up each passage of
        # the scope instead of reading the FTS matches.
        limited = f"and +rowid in ({_OF_FILES} where {where})" if where else ""
        query = f"{_SCORES} {limited} order by rowid desc limit {_RANKED}"
        return dict(self._store.execute(query, (expression, *values)))

    def path(self, number: int) -> str:
        """Return the path of a passage's file."""
        (path,) = self._store.execute(
            "select path from files where id = (select file from passages where id = ?)",
            (number,),
        ).fetchone()
        return path

    def passage(self, number: int) -> FoundPassage:
        """Return one passage with its file."""
        row = self._store.execute(
            "select files.path, files.kind, iif(files.given = '', files.title, files.given),"
            " passages.heading, passages.page, passages.line, passages.text"
            " from passages join files on files.id = passages.file where passages.id = ?",
            (number,),
        ).fetchone()
        return FoundPassage(*row)

    def _put_file(self, file: File) -> int | None:
        folder = file.path.rpartition("/")[0] or "."
        added = self._store.execute(
            "insert into files (path, folder, size, mtime, digest, kind, state, title, given, tags)"
            " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(file.path, folder, file.size, file.mtime, file.digest, file.kind, file.state),
                *(file.title, file.given, f" {' '.join(file.tags)} " if file.tags else ""),
            ),
        )
        return added.lastrowid

    def drop(self, path: str) -> None:
        """Remove a file."""
        row = self._store.execute("select id from files where path = ?", (path,)).fetchone()
        if row is None:
            return
        passages = self._store.execute("select id from passages where file = ?", row).fetchall()
        self._store.executemany("delete from words where rowid = ?", passages)
        self._store.execute("delete from passages where file = ?", row)
        self._store.execute("delete from files where id = ?", row)

    def _files(self, where: str, *values: object) -> Iterator[File]:
        for row in self._store.execute(f"select {_FILE} from files {where}", values).fetchall():
            number, path, size, mtime, digest, kind, state, title, given, tags = row
            yield File(
                id=number,
                path=path,
                size=size,
                mtime=mtime,
                digest=digest,
                kind=kind,
                state=state,
                title=title,
                given=given,
                tags=tuple(tags.split()),
            )


def _words(*texts: str) -> Iterable[str]:
    return (" ".join(words_of(text)) for text in texts)


# --- The database of the index: a cache in the office folder that may be deleted at any time ---
#
#     <workspace>/office/.index/search.sqlite
#
# A database that is damaged, of another version or foreign is replaced by an empty one. If the file
# cannot be written or is reached through a link, the index of this call is held in memory.
#
# The file lies in the workspace, where hostile code may have written it. Therefore the schema is
# compared as text with our own before use (no foreign triggers or views), `trusted_schema` is off,
# and a foreign journal, which SQLite would replay, is refused.

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
