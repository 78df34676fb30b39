"""The index: files, their passages, and an FTS5 table of the passages' words.

Ranking is bm25 with column weights: a word in the name or the title counts most, then one in a
heading. Words are folded in Python (words.py) before they reach FTS5, whose own tokenizer only
splits at blanks. Thus query and text are folded by the same code.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager

from callblocks.toolkits.finding.chunks import Passage
from callblocks.toolkits.finding.known_files import File, Found
from callblocks.toolkits.finding.words import words_of

__all__ = ("Index",)

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

    def passage(self, number: int) -> Found:
        """Return one passage with its file."""
        row = self._store.execute(
            "select files.path, files.kind, iif(files.given = '', files.title, files.given),"
            " passages.heading, passages.page, passages.line, passages.text"
            " from passages join files on files.id = passages.file where passages.id = ?",
            (number,),
        ).fetchone()
        return Found(*row)

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
