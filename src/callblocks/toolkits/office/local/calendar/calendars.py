"""The local calendars: one folder each, with one iCalendar file per event.

    office/calendar/primary/<uid>.ics

A deleted event gets the status CANCELLED and stays in its file. No invitations are sent: there is
no mail server.
"""

from __future__ import annotations

import base64
import binascii
import heapq
import os
import re
import secrets
import sqlite3
import stat
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from urllib.parse import quote

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.files.replace_file import foreign_journal
from callblocks.toolkits.office.backend import Json, Page
from callblocks.toolkits.office.local.calendar.calendar_files import (
    Home,
    calendar_page,
    hold,
    opened_home,
    own_address,
    read_file,
    scan,
    write_file,
)
from callblocks.toolkits.office.local.calendar.ics_changes import (
    cancel,
    cancel_occurrence,
    change,
    change_occurrence,
    new_event,
)
from callblocks.toolkits.office.local.calendar.ics_file import BROKEN, EventGroup, IcsFile, new_file
from callblocks.toolkits.office.local.calendar.occurrences import Counting
from callblocks.toolkits.office.local.calendar.series import (
    EventReader,
    ListedEvent,
    Read,
    Series,
    Window,
    etag_of,
    find_occurrence,
    occurrences,
    order,
    shown_event,
    split,
    words_of,
)

__all__ = (
    "CalendarIndex",
    "EventQuery",
    "LocalCalendars",
    "SeriesPlace",
    "SeriesRow",
    "Target",
    "changing_event",
    "find_event",
    "no_event",
    "page_of",
    "require_new_event",
    "words_asked",
)

# --- The index of the calendars: parsed files, cached until a file changes ---
#
# It is `office/.index/calendar.sqlite` and may be deleted at any time. A file is parsed again when
# its mtime, size or inode has changed, so edits by hand are seen at the next call. If the index
# cannot be written, one is built in memory.
#
# Failures: a busy index is reported as `busy`; an unusable one (read-only, full disk) is replaced
# by
# memory; a damaged one is deleted and rebuilt once. No failure can lose data, because everything in
# the index comes from the files.

# Increment it when rows of older versions cannot be read.
_VERSION = 2

_SCHEMA = """
BEGIN IMMEDIATE;
DROP TABLE IF EXISTS files;
DROP TABLE IF EXISTS series;
CREATE TABLE files (
    calendar TEXT, name TEXT, stamp TEXT, faults TEXT, PRIMARY KEY (calendar, name)
) WITHOUT ROWID;
CREATE TABLE series (
    calendar TEXT, name TEXT, place INTEGER, id TEXT, first REAL, last REAL, words TEXT, body BLOB
);
CREATE INDEX series_by_id ON series (calendar, id);
CREATE INDEX series_by_file ON series (calendar, name);
CREATE INDEX series_by_time ON series (calendar, last, first);
"""
_TIMEOUT = 5.0
# Corrupt bytes surface as SQLite errors, as invalid JSON, or as messages that are not UTF-8.
_WRONG = (sqlite3.Error, UnicodeDecodeError, msgspec.MsgspecError)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
# Codes for a file that cannot be used but is not corrupt.
_UNUSABLE = (
    *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL),
    *(sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH),
)
# Files per transaction while refreshing.
_TOGETHER = 50

# Tolerance in seconds for floating times, whose zone is applied later.
_GRACE = 86_400.0


class SeriesPlace(msgspec.Struct, frozen=True):
    """The position of a series: a file of the calendar, and the number of its group in it."""

    name: str
    at: int


class SeriesRow(msgspec.Struct, frozen=True):
    """A series with its position."""

    series: Series
    place: SeriesPlace


class CalendarIndex:
    """The index of one office."""

    def __init__(self, office: Path) -> None:
        self._path = office / ".index" / "calendar.sqlite"

    @contextmanager
    def fresh(self, folder: int, calendar: str) -> Generator[Rows, None, None]:
        """Open the rows of one calendar after refreshing changed files."""
        with self._usable(), closing(self._refreshed(folder, calendar)) as index:
            yield Rows(index, calendar)

    @contextmanager
    def _usable(self) -> Generator[None, None, None]:
        try:
            yield
        except _WRONG as error:
            if _code(error) in _BUSY:
                why = f"the index of the calendars cannot be used now ({error}); try again"
                raise ToolError("busy", why) from error
            self._drop()
            why = f"the index of the calendars was damaged ({error}) and is made anew; try again"
            raise ToolError("busy", why) from error

    def _refreshed(self, folder: int, calendar: str) -> sqlite3.Connection:
        """Return an up-to-date index: the one on disk, or one in memory."""
        for _ in range(2):
            try:
                return _brought_up(self._open_file(), folder, calendar)
            except _WRONG as error:
                if _code(error) in _BUSY:
                    raise
                if _code(error) in _UNUSABLE:
                    break
                # Safe to delete: it holds nothing that is not in the files.
                self._drop()
            except OSError:
                break
        return _brought_up(_prepared(sqlite3.connect(":memory:")), folder, calendar)

    def _drop(self) -> None:
        for ending in ("", "-journal", "-wal", "-shm"):
            with suppress(OSError):
                os.unlink(f"{self._path}{ending}")

    def _open_file(self) -> sqlite3.Connection:
        with suppress(FileExistsError):
            os.mkdir(self._path.parent, 0o700)
        for path in (self._path.parent, self._path):
            with suppress(FileNotFoundError):
                if stat.S_ISLNK(os.lstat(path).st_mode):
                    raise OSError("a link is not followed")
        if foreign_journal(self._path):
            raise sqlite3.DatabaseError("its journal is not its own")
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        return _prepared(sqlite3.connect(self._path, timeout=_TIMEOUT))


class Rows:
    """The rows of one calendar in an open index."""

    def __init__(self, index: sqlite3.Connection, calendar: str) -> None:
        self._index = index
        self._calendar = calendar

    def refresh(self, folder: int) -> None:
        """Parse changed files again."""
        there = scan(folder)
        asked = "SELECT name, stamp FROM files WHERE calendar = ?"
        known = dict(self._index.execute(asked, (self._calendar,)))
        gone = sorted(known.keys() - there.keys())
        stale = sorted(name for name, stamp in there.items() if known.get(name) != stamp)
        if not gone and not stale:
            return
        # Parsing is slow and writing is fast, so files are parsed outside of the transaction.
        # Batches are committed on the way, so a call that is interrupted has made progress for the
        # next one.
        self._replace(gone, [])
        reader = EventReader(folder, self._calendar, len(stale))
        read: list[tuple[str, str, Read]] = []
        for name in stale:
            read.append((name, there[name], reader.read(name)))
            if len(read) == _TOGETHER or name == stale[-1]:
                self._replace([name for name, _, _ in read], read)
                read = []

    def _replace(self, names: list[str], read: list[tuple[str, str, Read]]) -> None:
        with self._index:
            self._index.execute("BEGIN IMMEDIATE")
            self._forget(names)
            for name, stamp, found in read:
                self._learn(name, stamp, found)

    def overlapping(self, window: Window, words: Iterable[str]) -> list[SeriesRow]:
        """Return the series that may overlap a window and contain all the words."""
        low, high = window.low.timestamp() - _GRACE, window.high.timestamp() + _GRACE
        found = (
            "SELECT name, place, body FROM series WHERE calendar = ? AND last >= ? AND first < ?"
        )
        asked = list(words)
        found += " AND instr(words, ?)" * len(asked)
        return self._rows(found, (self._calendar, low, high, *asked))

    def by_id(self, id: str) -> SeriesRow | None:
        """Return the series of that id."""
        asked = "SELECT name, place, body FROM series WHERE calendar = ? AND id = ? ORDER BY name"
        rows = self._rows(asked, (self._calendar, id))
        return rows[0] if rows else None

    def faults(self) -> list[tuple[str, str]]:
        """Return the files that could not be read completely, with the reasons."""
        asked = "SELECT name, faults FROM files WHERE calendar = ? AND faults != '' ORDER BY name"
        return list(self._index.execute(asked, (self._calendar,)))

    def _rows(self, asked: str, values: tuple[object, ...]) -> list[SeriesRow]:
        return [
            SeriesRow(msgspec.json.decode(body, type=Series), SeriesPlace(name, at))
            for name, at, body in self._index.execute(asked, values)
        ]

    def _forget(self, names: list[str]) -> None:
        values = [(self._calendar, name) for name in names]
        for table in ("files", "series"):
            self._index.executemany(f"DELETE FROM {table} WHERE calendar = ? AND name = ?", values)

    def _learn(self, name: str, stamp: str, read: Read) -> None:
        row = (self._calendar, name, stamp, "\n".join(read.faults))
        self._index.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", row)
        for found in read.series:
            series = self._named(found.series, name)
            self._index.execute(
                "INSERT INTO series VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(self._calendar, name, found.at, series.id),
                    *(found.first, found.last, found.words, msgspec.json.encode(series)),
                ),
            )

    def _named(self, series: Series, name: str) -> Series:
        """Return the series with a unique id: a copied file holds the same UID but is another
        event.
        """
        asked = "SELECT 1 FROM series WHERE calendar = ? AND id = ?"
        if self._index.execute(asked, (self._calendar, series.id)).fetchone() is None:
            return series
        return series.renamed(name)


def _brought_up(index: sqlite3.Connection, folder: int, calendar: str) -> sqlite3.Connection:
    try:
        Rows(index, calendar).refresh(folder)
    except BaseException:
        index.close()
        raise
    return index


def _code(error: Exception) -> int:
    """Return the primary SQLite error code, which is the lowest byte of an extended one."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _prepared(index: sqlite3.Connection) -> sqlite3.Connection:
    try:
        # No fsync: after a crash the rows are rebuilt from the files.
        index.execute("PRAGMA synchronous = OFF")
        (version,) = index.execute("PRAGMA user_version").fetchone()
        if version != _VERSION:
            index.executescript(f"{_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;")
    except sqlite3.Error:
        index.close()
        raise
    return index


# --- The local calendars: one folder each, with one iCalendar file per event ---

# --- Lookup of events by id, and changes of their files ---
#
# An id names an event or a series, or one occurrence: `staffmeeting_20261116T080000Z`.


class Target(msgspec.Struct, frozen=True):
    """The target of a change: the file, its group of one UID, and the event or occurrence."""

    row: SeriesRow
    event: Json
    file: IcsFile
    group: EventGroup

    @property
    def is_occurrence(self) -> bool:
        """True for one occurrence of a series."""
        return "recurringEventId" in self.event


@contextmanager
def changing_event(
    index: CalendarIndex, home: Home, event_id: str, etag: str = ""
) -> Generator[Target, None, None]:
    """Yield the event to change under the calendar's lock; write the file afterwards."""
    if home.folder is None:
        raise no_event(event_id)
    with hold(home.folder):
        row, event = find_event(index, home, event_id)
        content = read_file(home.folder, row.place.name)
        try:
            file = IcsFile(content)
            group = file.groups[row.place.at]
        except BROKEN as error:
            raise _changed(event_id) from error
        if file.faults:
            # Parts that were not parsed would be lost by writing the file.
            why = f"{brief(row.place.name)} cannot be changed here: {file.faults[0]}"
            raise ToolError("workspace_damaged", why)
        # The index was read before the file: the file may have been replaced in between.
        if group.uid != row.series.uid or (etag and etag != etag_of(content)):
            raise _changed(event_id)
        yield Target(row, event, file, group)
        write_file(home.folder, row.place.name, file.to_bytes(), new=False)


def find_event(index: CalendarIndex, home: Home, event_id: str) -> tuple[SeriesRow, Json]:
    """Return the row of an id and its event."""
    if home.folder is None:
        raise no_event(event_id)
    with index.fresh(home.folder, home.name) as rows:
        row = rows.by_id(event_id)
        if row is not None and row.series.master is not None:
            return row, row.series.master
        parts = split(event_id)
        row = rows.by_id(parts[0]) if parts else row
        if row is None or parts is None:
            raise _missing(event_id, rows)
    series: Series = row.series.settled(home.zone)
    event = find_occurrence(series, parts[1], home.zone)
    if event is None:
        raise no_event(event_id, "the series has no occurrence then")
    return row, event


def require_new_event(index: CalendarIndex, home: Home, id: str) -> None:
    """Raise `conflict` if an event has that id."""
    assert home.folder is not None
    with index.fresh(home.folder, home.name) as rows:
        if rows.by_id(id) is not None:
            raise ToolError("conflict", f"an event with the id {id} is there already")


def no_event(event_id: str, why: str = "calendar_events lists those that are there") -> ToolError:
    """Return the failure for an unknown id."""
    return ToolError("not_found", f"no event has the id {brief(event_id)}; {why}")


def _missing(event_id: str, rows: Rows) -> ToolError:
    for name, faults in rows.faults():
        if name == f"{event_id}.ics":
            return ToolError("workspace_damaged", faults.splitlines()[0])
    return no_event(event_id)


def _changed(event_id: str) -> ToolError:
    return ToolError(
        "conflict",
        f"the event {brief(event_id)} was changed meanwhile; read it again, then change it",
    )


# --- A page of events: occurrences merged by start, and the token of the next page ---
#
# Occurrences are generated lazily and merged with a heap, so a page of fifty takes about fifty
# occurrences, even from a series without an end. The token holds the start and the id of the last
# event; the next page continues after it, whatever was added meanwhile.


class EventQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The request: the window, the words, expansion of series, and the page."""

    window: Window
    words: tuple[str, ...]
    single: bool
    zone: str
    limit: int
    page: str


def words_asked(query: str) -> tuple[str, ...]:
    """Return the words of a query; an event must contain all of them."""
    return tuple(query.casefold().replace('"', " ").split())


def page_of(series: list[Series], asked: EventQuery, counting: Counting) -> tuple[list[Json], str]:
    """Return the events of a page, and the token of the next page or ""."""
    after = _read_token(asked.page) if asked.page else None
    window = asked.window
    # With expansion, occurrences before the token's start need not be generated again.
    if after is not None and asked.single:
        window = Window(max(window.low, after[0]), window.high)
    each = (_readable(one, asked, window, counting) for one in series)
    # All inputs are sorted by start and id, so a heap merge yields the page in order, and
    # generators behind it are advanced only as far as the page needs.
    found = heapq.merge(*each, key=order)
    rest = (one for one in found if after is None or order(one) > after)
    items = list(islice(rest, asked.limit + 1))
    token = _token(items[asked.limit - 1]) if len(items) > asked.limit else ""
    return [one.event for one in items[: asked.limit]], token


def _events(
    series: Series, asked: EventQuery, window: Window, counting: Counting
) -> Iterator[ListedEvent]:
    narrowed = _with_words(series, asked.words)
    if narrowed is None:
        return iter(())
    found = occurrences(narrowed, window, asked.zone, counting)
    return found if asked.single else iter(_unexpanded(narrowed, found))


def _readable(
    series: Series, asked: EventQuery, window: Window, counting: Counting
) -> Iterator[ListedEvent]:
    """Yield the events of a series until one fails: a broken series must not hide the others."""
    try:
        yield from _events(series, asked, window, counting)
    except (ToolError, ArithmeticError, LookupError, TypeError, ValueError):
        counting.given_up.add(series.id)


def _unexpanded(series: Series, found: Iterator[ListedEvent]) -> list[ListedEvent]:
    """Return the series itself if any occurrence is in the window, and the differing ones."""
    first = next(found, None)
    if first is None:
        return []
    master = series.master
    if master is None or not master.get("recurrence"):
        return sorted([first, *found], key=order)
    own = {one["id"] for one in series.overrides}
    # A series may be infinite, so only as many occurrences are examined as could be overrides.
    some = [first, *islice(found, 2 * len(own))]
    differing = [one for one in some if one.id in own]
    return sorted([ListedEvent(first.start, series.id, master), *differing], key=order)


def _with_words(series: Series, words: tuple[str, ...]) -> Series | None:
    """Narrow a series to the parts that contain all words; `None` if nothing does."""
    if not words:
        return series
    matching = [_has(one, words) for one in series.overrides]
    if series.master is not None and _has(series.master, words):
        # Overrides that do not match still replace their occurrence, so they are hidden as
        # cancelled.
        hidden = [
            one if matches else one | {"status": "cancelled"}
            for one, matches in zip(series.overrides, matching, strict=True)
        ]
        return msgspec.structs.replace(series, overrides=hidden)
    left = [one for one, matches in zip(series.overrides, matching, strict=True) if matches]
    if not left or (series.master is not None and series.master["status"] == "cancelled"):
        return None
    return msgspec.structs.replace(series, master=None, overrides=left)


def _has(event: Json, words: tuple[str, ...]) -> bool:
    text = words_of(event)
    return all(word in text for word in words)


def _token(last: ListedEvent) -> str:
    said = f"{last.start.isoformat()} {last.id}"
    return base64.urlsafe_b64encode(said.encode()).decode().rstrip("=")


def _read_token(page: str) -> tuple[datetime, str]:
    try:
        padded = page + "=" * (-len(page) % 4)
        said = base64.b64decode(padded, altchars=b"-_", validate=True).decode()
        start, _, id = said.partition(" ")
        moment = datetime.fromisoformat(start)
        if moment.tzinfo is None or not id:
            raise ValueError("not of our making")
    except (ValueError, binascii.Error) as error:
        why = f"{brief(page)} is no token of a page; give the nextPageToken of a list, or none"
        raise ToolError("invalid_input", why, pageToken=why) from error
    return moment, id


# --- The local calendars: one folder each, with one iCalendar file per event ---

_ID = re.compile(r"[a-v0-9]{5,200}", re.ASCII)
_MOST_FAULTS = 20


class LocalCalendars:
    """The calendars below an office's folder."""

    invites = False

    def __init__(self, office: Path) -> None:
        self._office = office
        self._index = CalendarIndex(office)

    def calendars(self, *, limit: int, page: str) -> Page:
        """Return a page of the calendars; the primary one is listed even without a folder."""
        return calendar_page(self._office, limit=limit, page=page)

    def zone(self, calendar_id: str) -> str:
        """Return the zone in the calendar's file `timezone`, else that of the machine."""
        with opened_home(self._office, calendar_id) as home:
            return home.zone

    def events(
        self,
        calendar_id: str,
        *,
        time_min: str,
        time_max: str,
        query: str,
        single: bool,
        zone: str,
        limit: int,
        page: str,
    ) -> Page:
        """Return events that overlap a time range, by start."""
        words = words_asked(query)
        with opened_home(self._office, calendar_id) as home:
            asked = EventQuery(
                window=_window(time_min, time_max),
                words=words,
                single=single,
                zone=home.zone,
                limit=limit,
                page=page,
            )
            if home.folder is None:
                return Page([])
            with self._index.fresh(home.folder, home.name) as rows:
                found = rows.overlapping(asked.window, words)
                faults = [fault for _, text in rows.faults() for fault in text.splitlines()]
        series = [row.series.settled(home.zone) for row in found]
        files = {row.series.id: row.place.name for row in found}
        counting = Counting(files)
        items, token = page_of(series, asked, counting)
        shown = [
            self._shown(one, home, files[one.get("recurringEventId") or one["id"]], zone)
            for one in items
        ]
        return Page(shown, token, _told(faults, counting, home.name))

    def event(self, calendar_id: str, event_id: str) -> Json:
        """Return one event, one occurrence of a series, or a series."""
        with opened_home(self._office, calendar_id) as home:
            row, event = find_event(self._index, home, event_id)
            return self._shown(event, home, row.place.name)

    def create(self, calendar_id: str, event: Json, *, notify: str) -> Json:
        """Add an event."""
        id = str(event.get("id") or secrets.token_hex(13))
        if not _ID.fullmatch(id):
            why = f"{brief(id)} is no id for an event; use 5 or more of a-v and 0-9"
            raise ToolError("invalid_input", why, id=why)
        with opened_home(self._office, calendar_id, make=True) as home:
            assert home.folder is not None
            fields = _zoned(event, home.zone) | self._organizer(event)
            made = new_event(id, fields, datetime.now(UTC))
            with hold(home.folder):
                require_new_event(self._index, home, id)
                write_file(home.folder, f"{id}.ics", new_file(made), new=True)
            return self.event(calendar_id, id)

    def update(self, calendar_id: str, event_id: str, changes: Json, *, notify: str) -> Json:
        """Change fields of an event, a series, or one occurrence."""
        now, etag = datetime.now(UTC), str(changes.get("etag") or "")
        with opened_home(self._office, calendar_id) as home:
            with changing_event(self._index, home, event_id, etag) as target:
                fields = _zoned(changes, home.zone)
                if target.is_occurrence:
                    occurrence = target.event
                    change_occurrence(target.file, target.group, occurrence, fields, home.zone, now)
                else:
                    change(target.group, fields, home.zone, now)
            return self.event(calendar_id, event_id)

    def delete(self, calendar_id: str, event_id: str, *, notify: str) -> None:
        """Cancel an event, a series, or one occurrence."""
        now = datetime.now(UTC)
        with (
            opened_home(self._office, calendar_id) as home,
            changing_event(self._index, home, event_id) as target,
        ):
            if target.event["status"] == "cancelled":
                raise no_event(event_id, "it was deleted before")
            if target.is_occurrence:
                cancel_occurrence(target.file, target.group, target.event, home.zone, now)
            else:
                cancel(target.group, now)

    def _organizer(self, event: Json) -> Json:
        """Return the organizer for an event with attendees; none if the office has no address."""
        address = own_address(self._office) if event.get("attendees") else ""
        return {"organizer": {"email": address}} if "@" in address else {}

    def _shown(self, event: Json, home: Home, file: str, zone: str = "") -> Json:
        path = self._office.absolute() / "calendar" / home.name / file
        link = f"file://{quote(str(path), errors='replace')}"
        # Floating times are in the calendar's zone, not in the viewer's.
        settled = shown_event(event, home.zone)
        return (shown_event(settled, zone) if zone else settled) | {"htmlLink": link}


def _zoned(fields: Json, zone: str) -> Json:
    """Return the fields with the calendar's zone for times that have none."""
    times = {
        name: {"timeZone": zone} | fields[name]
        for name in ("start", "end")
        if fields.get(name) and not fields[name].get("date")
    }
    return fields | times


def _window(time_min: str, time_max: str) -> Window:
    whole = Window()
    low = datetime.fromisoformat(time_min).astimezone(UTC) if time_min else whole.low
    high = datetime.fromisoformat(time_max).astimezone(UTC) if time_max else whole.high
    return Window(max(low, whole.low), min(high, whole.high))


def _told(faults: list[str], counting: Counting, calendar: str) -> tuple[str, ...]:
    given_up = [
        f"{calendar}/{counting.files[id]}: the series {id} is not shown to its end: "
        "its rule takes too many steps; ask for a shorter time"
        for id in sorted(counting.given_up)
    ]
    told = [*faults, *given_up]
    more = [f"and {len(told) - _MOST_FAULTS} more"] if len(told) > _MOST_FAULTS else []
    return (*told[:_MOST_FAULTS], *more)
