"""Search over what was said on all timelines, with the full text search of SQLite or PostgreSQL.

    with open_search(store_address, folder / "search.sqlite") as index:
        index.update(store, store.names())
        index.find("low water", 20)

The index is made of the timelines and may be deleted at any time. Beside a SQLite store it is a
file of its own (FTS5), so that the log keeps its tables; on a server it is two tables in its
database, which all servers share. `update` reads the blocks that are new, of timelines whose number
of blocks has changed.

What is found: prompts, answers and notes that have each of the words; the last word may be the
beginning of one. From a file the timelines that began last come first, from a server the best hits.
Results of tools are not searched: they are large, and seldom what one remembers.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, LiteralString, Protocol, Self

import msgspec

from callblocks.core.blocks import Entry
from callblocks.core.errors import TimelineError
from callblocks.timeline.log.log import Store, Summary
from callblocks.timeline.log.open_store import server_address

__all__ = ("BEGIN", "END", "Hit", "Search", "open_search")

BEGIN, END = "\x02", "\x03"
"""What stands around the words that were found, in an excerpt."""

_SAID = {"user.prompt": "user", "assistant.completion": "assistant", "react.notes": "assistant"}
# The most characters of one block that are searched.
_LONGEST = 200_000
_WORD = re.compile(r"\w+")
_MOST_WORDS = 16
_PER_TIMELINE = 20


class Hit(msgspec.Struct, frozen=True):
    """A block that has the words; `excerpt` is the part of its text around them."""

    name: str
    seq: int
    turn: str
    who: str
    excerpt: str


class Search(Protocol):
    """An index. Every method may be called from any thread."""

    def update(self, store: Store, timelines: Iterable[Summary]) -> None:
        """Read what is new on these timelines."""
        ...

    def find(self, query: str, limit: int) -> list[Hit]:
        """Return hits, at most one of a timeline."""
        ...

    def close(self) -> None:
        """Close the file or the connection."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


def open_search(store: str, file: Path) -> Search:
    """Return the index of a store: in its database where that is on a server, else in the file."""
    address = server_address(store)
    return SqliteSearch(file) if address is None else PostgresSearch(address)


def _said(entries: Iterable[Entry]) -> Iterator[tuple[int, str, str, str]]:
    """Yield what is searched of some blocks: number, turn, who says it, and the text."""
    for entry in entries:
        who = _SAID.get(entry.block.type)
        if who is not None and entry.block.text:
            # Neither index takes the sign that ends a text in C.
            text = entry.block.text[:_LONGEST].replace("\0", " ")
            yield entry.seq, entry.block.turn_id, who, text


def _words(query: str) -> list[str]:
    return _WORD.findall(query)[:_MOST_WORDS]


class _Index:
    """What both indexes share: which timelines are read, and how far."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def update(self, store: Store, timelines: Iterable[Summary]) -> None:
        """Read what is new on these timelines."""
        with self._lock:
            known = self._known()
            for one in timelines:
                count, created = known.get(one.name, (0, one.created))
                # One of the same name that was begun anew is another.
                if created != one.created or count > one.count:
                    self._forget(one.name)
                    count = 0
                elif count == one.count:
                    continue
                self._read(store, one, count)
            self._commit()

    def _read(self, store: Store, timeline: Summary, after: int) -> None:
        entries: list[Entry] = []
        try:
            entries.extend(store.entries(timeline.name, after))
        except TimelineError as error:
            if error.code != "store_damaged":
                raise
        last = entries[-1].seq if entries else timeline.count
        self._add(timeline, last, list(_said(entries)))

    def _known(self) -> dict[str, tuple[int, str]]:
        raise NotImplementedError

    def _forget(self, name: str) -> None:
        raise NotImplementedError

    def _add(self, timeline: Summary, last: int, said: list[tuple[int, str, str, str]]) -> None:
        raise NotImplementedError

    def _commit(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Close the file or the connection."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


_AROUND = 60
"""Characters of an excerpt on each side of the first word."""


def _excerpt(text: str, words: list[str]) -> str:
    """Return the part of a text around its first word, with each word marked."""
    marked = re.compile(rf"\b({'|'.join(map(re.escape, words))})\w*", re.IGNORECASE)
    first = marked.search(text)
    at = first.start() if first else 0
    start, end = max(0, at - _AROUND), min(len(text), at + 2 * _AROUND)
    # Begun and ended between words.
    start = text.find(" ", start, at) + 1 or start if start else 0
    end = text.rfind(" ", at, end) if end < len(text) and " " in text[at:end] else end
    shown = marked.sub(lambda found: f"{BEGIN}{found[0]}{END}", " ".join(text[start:end].split()))
    return f"{'…' if start else ''}{shown}{'…' if end < len(text) else ''}"


def _one_each(rows: Iterable[tuple[Any, ...]], limit: int) -> list[Hit]:
    """Return the first hit of each timeline."""
    found: dict[str, Hit] = {}
    for name, seq, turn, who, excerpt in rows:
        found.setdefault(name, Hit(name, seq, turn, who, excerpt))
    return list(found.values())[:limit]


# --- SQLite: a file with a table of FTS5 ---

# A row of the words has the number of its timeline, and then its own, as its key: FTS5 finds rows
# by their keys and their words, and by nothing else.
_VERSION = 2
_BITS = 40
_TABLES = f"""
create table known (
    id integer primary key, name text not null unique, created text not null, count integer not null
);
create virtual table said using fts5(
    name unindexed, turn unindexed, who unindexed, text,
    tokenize = "unicode61 remove_diacritics 2", prefix = '2 3'
);
pragma user_version = {_VERSION};
"""
# The latest first: to rank thousands of rows takes tens of milliseconds, and a person looks for
# what is new more often than for what repeats a word.
_BEST = "select rowid, name from said where said match ? order by rowid desc limit ?"
# `snippet` would match the words anew for each row, which takes milliseconds: see `_excerpt`.
_ROW = f"select name, rowid & {(1 << _BITS) - 1}, turn, who, text from said where rowid = ?"


class SqliteSearch(_Index):
    """An index in a file; one that cannot be read is made anew."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file
        try:
            self._connection = self._open()
        except sqlite3.DatabaseError:
            file.unlink(missing_ok=True)
            self._connection = self._open()

    def find(self, query: str, limit: int) -> list[Hit]:
        """Return hits, at most one of a timeline."""
        words = _words(query)
        if not words:
            return []
        match = " ".join(f'"{word}"' for word in words) + "*"
        with self._lock:
            rows = self._connection.execute(_BEST, (match, limit * _PER_TIMELINE))
            best: dict[str, int] = {}
            for key, name in rows:
                best.setdefault(name, key)
            some = list(best.values())[:limit]
            found = [self._connection.execute(_ROW, (key,)).fetchone() for key in some]
        return [Hit(*row, excerpt=_excerpt(text, words)) for *row, text in found]

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _open(self) -> sqlite3.Connection:
        # Only the owner may read it, as the log itself.
        self._file.touch(mode=0o600)
        connection = sqlite3.connect(self._file, timeout=10, check_same_thread=False)
        try:
            connection.execute("pragma journal_mode = wal")
            # What is lost is read again.
            connection.execute("pragma synchronous = off")
            (version,) = connection.execute("pragma user_version").fetchone()
            if version != _VERSION:
                _drop_all(connection)
                connection.executescript(f"begin immediate; {_TABLES} commit;")
        except BaseException:
            connection.close()
            raise
        return connection

    def _known(self) -> dict[str, tuple[int, str]]:
        rows = self._connection.execute("select name, count, created from known")
        return {name: (count, created) for name, count, created in rows}

    def _forget(self, name: str) -> None:
        (id,) = self._connection.execute("select id from known where name = ?", (name,)).fetchone()
        keys = (id << _BITS, (id + 1) << _BITS)
        self._connection.execute("delete from said where rowid >= ? and rowid < ?", keys)
        self._connection.execute("delete from known where id = ?", (id,))

    def _add(self, timeline: Summary, last: int, said: list[tuple[int, str, str, str]]) -> None:
        name = timeline.name
        (id,) = self._connection.execute(
            "insert into known (name, created, count) values (?, ?, ?)"
            " on conflict (name) do update set count = max(count, excluded.count) returning id",
            (name, timeline.created, last),
        ).fetchone()
        # Another process may have read the same blocks: they replace each other.
        self._connection.executemany(
            "insert or replace into said (rowid, name, turn, who, text) values (?, ?, ?, ?, ?)",
            [((id << _BITS) + seq, name, *more) for seq, *more in said],
        )

    def _commit(self) -> None:
        self._connection.commit()


def _drop_all(connection: sqlite3.Connection) -> None:
    for table in ("said", "known"):
        connection.execute(f"drop table if exists {table}")


# --- PostgreSQL: two tables beside the timelines ---

_PG_LOCK: LiteralString = "select pg_advisory_xact_lock(7162817358327837)"
_PG_TABLES: LiteralString = """
create table if not exists callblocks_search_known (
    name text primary key, created text not null, count bigint not null
);
create table if not exists callblocks_search (
    name text not null, seq bigint not null, turn text not null, who text not null,
    text text not null,
    words tsvector generated always as (to_tsvector('simple', text)) stored,
    primary key (name, seq)
);
create index if not exists callblocks_search_words on callblocks_search using gin (words);
"""
_PG_FIND: LiteralString = """
select name, seq, turn, who, ts_headline('simple', text, asked,
    'MaxWords=16, MinWords=8, StartSel=' || chr(2) || ', StopSel=' || chr(3))
from (
    select distinct on (name) name, seq, turn, who, text, ts_rank(words, asked) as rank, asked
    from callblocks_search, to_tsquery('simple', %s) as asked
    where words @@ asked order by name, rank desc, seq
) as best order by rank desc, name limit %s
"""
_PG_ADD: LiteralString = """
insert into callblocks_search (name, seq, turn, who, text) values (%s, %s, %s, %s, %s)
on conflict do nothing
"""
_PG_KNOW: LiteralString = """
insert into callblocks_search_known (name, created, count) values (%s, %s, %s)
on conflict (name) do update set created = excluded.created,
    count = greatest(excluded.count, callblocks_search_known.count)
"""
# A word of a text is at most this long in an index of PostgreSQL, in bytes; and all of them.
_PG_LONGEST = 100_000


class PostgresSearch(_Index):
    """An index in a database."""

    def __init__(self, address: str) -> None:
        super().__init__()
        from callblocks.timeline.log.postgres_store import connect, told

        self._address = address
        self._connect, self._told = connect, told
        with told(address):
            self._connection = connect(address)
            with self._connection.transaction():
                self._connection.execute(_PG_LOCK)
                self._connection.execute(_PG_TABLES)

    def update(self, store: Store, timelines: Iterable[Summary]) -> None:
        """Read what is new on these timelines."""
        with self._told(self._address), self._connection.transaction():
            super().update(store, timelines)

    def find(self, query: str, limit: int) -> list[Hit]:
        """Return hits, at most one of a timeline."""
        words = _words(query)
        if not words:
            return []
        asked = " & ".join(f"'{word}'" for word in words) + ":*"
        with self._lock, self._told(self._address):
            rows = self._connection.execute(_PG_FIND, (asked, limit)).fetchall()
        return _one_each(rows, limit)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()

    def _known(self) -> dict[str, tuple[int, str]]:
        rows = self._connection.execute("select name, count, created from callblocks_search_known")
        return {name: (count, created) for name, count, created in rows}

    def _forget(self, name: str) -> None:
        self._connection.execute("delete from callblocks_search where name = %s", (name,))
        self._connection.execute("delete from callblocks_search_known where name = %s", (name,))

    def _add(self, timeline: Summary, last: int, said: list[tuple[int, str, str, str]]) -> None:
        name = timeline.name
        rows = [(name, seq, turn, who, text[:_PG_LONGEST]) for seq, turn, who, text in said]
        with self._connection.cursor() as cursor:
            cursor.executemany(_PG_ADD, rows)
        self._connection.execute(_PG_KNOW, (name, timeline.created, last))

    def _commit(self) -> None:
        """The transaction of `update` ends with it."""
