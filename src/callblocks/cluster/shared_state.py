"""State that replicas and workers share beside timelines and turns: approvals, journal, token.

The book of approvals is that of one machine, on tables instead of a file: the same statements, and
the same order of locks. Its clock is that of the server, since a question may be asked on one
machine and answered on another. The journal of effects refuses whoever lost the turn: it looks at
the fence of the timeline in the statement that begins an effect.

Taint needs no place of its own: it stands on the timeline, with the result that brought it.
"""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, LiteralString, NamedTuple

import msgspec
import psycopg
from psycopg.rows import dict_row

from callblocks.approvals.approval import ApprovalsUnavailable
from callblocks.approvals.book import ApprovalBook, Moment, Records
from callblocks.cluster.cluster_database import Connection, Database, prepare_cluster
from callblocks.cluster.turns import ClusterLimits
from callblocks.cluster.wakeups import Wakeups, timeline_id
from callblocks.core.errors import CallerError, TimelineError
from callblocks.core.outcomes import Outcome
from callblocks.core.text import brief
from callblocks.runtime.journal import Intent, Journal, JournalEntry, JournalUnavailable, State
from callblocks.session.host import HostParts, HostSettings
from callblocks.timeline.artifacts.bucket_artifacts import open_artifacts
from callblocks.timeline.log.postgres_store import PostgresStore
from callblocks.timeline.timeline import ARTIFACTS, turns_folder

__all__ = ("SharedBook", "SharedJournal", "SharedParts", "shared_limits", "shared_token")

# --- The book of approvals on PostgreSQL ---

_NAME = re.compile(r":([a-z_]+)")
_TABLE = re.compile(r"\bapprovals\b")
_TOGETHER: LiteralString = "select pg_advisory_xact_lock(7162817358327839)"


class SharedBook(ApprovalBook):
    """The book of a cluster. Faults raise `ApprovalsUnavailable`, as those of a file do."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._book = tables = _BookTables(database)
        super().__init__("", tables=tables, clock=tables.now)

    @contextmanager
    def _records(self) -> Generator[Records]:
        with self._book.transaction() as connection:
            # Read over this connection: all others may be held by those who wait for this one. Both
            # clocks are the server's, and the boot is always the same one.
            now = connection.now()
            yield Records(connection, Moment(now, now, "cluster"))


class _BookTables:
    """The transactions of the book: one at a time in the whole cluster, as on one file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def now(self) -> float:
        """Return the time of the server, in seconds since 1970."""
        with self.transaction() as connection:
            return connection.now()

    @contextmanager
    def transaction(self) -> Generator[_BookConnection]:
        """Give exclusive use of the approvals of the cluster."""
        with _book_faults(), self._database.borrow() as connection:
            connection.execute(_TOGETHER)
            yield _BookConnection(connection)

    def close(self) -> None:
        """Leave the database to its owner."""


class _BookConnection:
    """A connection that takes the statements of the book, which are written for SQLite."""

    def __init__(self, connection: Connection) -> None:
        # Values are put into the statement by the client: `:state IS NULL` says no type.
        self._cursor = psycopg.ClientCursor(connection, row_factory=dict_row)

    def now(self) -> float:
        """Return the time of the server, in seconds since 1970."""
        row = self._cursor.execute("select extract(epoch from clock_timestamp())::float8 as now")
        found = row.fetchone()
        assert found is not None, "a select of an expression has one row"
        return found["now"]

    def execute(self, statement: str, terms: Mapping[str, Any]) -> _Executed:
        """Execute a statement; return its rows."""
        given = {name: _number(value) for name, value in terms.items()}
        cursor = self._cursor.execute(_translated(statement).encode(), given)
        rows = cursor.fetchall() if cursor.description is not None else []
        return _Executed(rows, cursor.rowcount)


class _Executed(NamedTuple):
    """The result of a statement, as the cursor of a file has it."""

    rows: list[dict[str, Any]]
    rowcount: int

    def fetchall(self) -> list[dict[str, Any]]:
        return self.rows


@lru_cache(64)
def _translated(statement: str) -> str:
    return _TABLE.sub("callblocks_approvals", _NAME.sub(r"%(\1)s", statement))


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


@contextmanager
def _book_faults() -> Generator[None]:
    try:
        yield
    except (psycopg.Error, TimelineError) as error:
        raise ApprovalsUnavailable(f"approvals of the cluster: {error}") from error


# --- The journal on PostgreSQL ---

# The row of the timeline is locked for the moment, so that a takeover comes before or after it.
_BEGIN: LiteralString = """
insert into callblocks_intents (key, timeline, turn, call, tool, input, fence, began)
select %(key)s, name, %(turn)s, %(call)s, %(tool)s, %(input)s, %(fence)s,
    extract(epoch from clock_timestamp())
from callblocks_timelines where name = %(timeline)s and fence <= %(fence)s for share
on conflict (key) do nothing returning key
"""
_AGAIN: LiteralString = """
update callblocks_intents set fence = %(fence)s, began = extract(epoch from clock_timestamp())
where key = %(key)s and ended is null and exists (
    select from callblocks_timelines where name = %(timeline)s and fence <= %(fence)s for share
) returning key
"""
# An intent without an end runs as long as its claim is the last one, and the turn is running.
_ENTRIES: LiteralString = """
select key, turn, call, tool, input, began, outcome, exists (
    select from callblocks_turns as turns
    where turns.timeline = intent.timeline and turns.fence = intent.fence
        and turns.state = 'running'
) from callblocks_intents as intent
"""


class SharedJournal(Journal):
    """The journal of a cluster, as one claim on a turn sees it.

    `fence` and `timeline` are those of the claim; a journal without any only reads.
    """

    def __init__(self, database: Database, timeline: str = "", fence: int = 0) -> None:
        self._database = database
        self._timeline = timeline
        self._fence = fence

    def claimed(self, timeline: str, fence: int) -> SharedJournal:
        """Return the journal for a claim."""
        return SharedJournal(self._database, timeline, fence)

    def begin(self, intent: Intent) -> JournalEntry | None:
        """Insert the intent and return `None`; or return the existing entry and change nothing."""
        # The timelines of a team's members are fenced by that of the chat.
        values = {
            **msgspec.structs.asdict(intent),
            "input": _encode(intent.input),
            "timeline": self._timeline,
            "fence": self._fence,
        }
        with _journal_faults():
            if self._do(_BEGIN, values):
                return None
        found = self.find(intent.key)
        if found is None:
            raise JournalUnavailable("another worker has taken the turn over")
        return found

    def again(self, key: str) -> None:
        """Take over an interrupted intent for this claim."""
        values = {"key": key, "timeline": self._timeline, "fence": self._fence}
        with _journal_faults():
            if not self._do(_AGAIN, values):
                raise JournalUnavailable("another worker has taken the turn over")

    def end(self, key: str, outcome: Outcome) -> None:
        """Record the outcome, also where the turn was lost meanwhile: it is what happened."""
        with _journal_faults():
            self._database.execute(
                "update callblocks_intents set outcome = %s,"
                " ended = extract(epoch from clock_timestamp()) where key = %s",
                _encode(outcome),
                key,
            )

    def find(self, key: str) -> JournalEntry | None:
        """Return the entry under a key, or `None`."""
        found = self._read("where key = %s", key)
        return found[0] if found else None

    def indeterminate(self) -> list[JournalEntry]:
        """Return the intents whose worker lost the turn before the end."""
        return [one for one in self._read("where ended is null") if one.state != "running"]

    def of_turn(self, turn: str) -> list[JournalEntry]:
        """Return the intents of one turn, oldest first."""
        return self._read("where turn = %s order by number", turn)

    def entries(self, limit: int = 100) -> list[JournalEntry]:
        """Return the latest intents, newest first."""
        return self._read("order by number desc limit %s", limit)

    def forget(self, key: str) -> bool:
        """Delete the interrupted intent whose key starts with `key`, after a person settled it."""
        found = [one.intent.key for one in self.indeterminate() if one.intent.key.startswith(key)]
        if len(found) != 1:
            return False
        with _journal_faults():
            self._database.execute("delete from callblocks_intents where key = %s", found[0])
        return True

    def forget_old(self, seconds: float) -> int:
        """Delete intents that ended more than `seconds` ago; return their number."""
        with _journal_faults():
            gone = self._database.execute(
                "delete from callblocks_intents"
                " where ended < extract(epoch from clock_timestamp()) - %s::float8 returning key",
                seconds,
            )
        return len(gone)

    def close(self) -> None:
        """Leave the database to its owner."""

    def _do(self, query: LiteralString, values: Mapping[str, Any]) -> list[Any]:
        return self._database.do(lambda connection: connection.execute(query, values).fetchall())

    def _read(self, where: LiteralString, *values: object) -> list[JournalEntry]:
        with _journal_faults():
            return [_entry(*row) for row in self._database.execute(_ENTRIES + where, *values)]


def _entry(
    key: str,
    turn: str,
    call: str,
    tool: str,
    given: str,
    began: float,
    outcome: str | None,
    is_running: bool,
) -> JournalEntry:
    intent = Intent(key=key, turn=turn, call=call, tool=tool, input=msgspec.json.decode(given))
    if outcome is not None:
        ended = msgspec.json.decode(outcome, type=Outcome)
        return JournalEntry(intent=intent, state="ended", began=began, outcome=ended)
    state: State = "running" if is_running else "indeterminate"
    return JournalEntry(intent=intent, state=state, began=began)


def _encode(value: object) -> str:
    # PostgreSQL takes no NUL in a text; in JSON it is an escape, which is unknown nowhere.
    return msgspec.json.encode(value).decode()


@contextmanager
def _journal_faults() -> Generator[None]:
    try:
        yield
    except (TimelineError, ValueError, msgspec.MsgspecError) as error:
        raise JournalUnavailable(f"journal of the cluster: {error}") from error


# --- The settings of a cluster: a token that was given to none, and the limits ---


def shared_token(address: str) -> str:
    """Return the token of the cluster; the first replica that asks makes it."""
    return _setting(address, "token", secrets.token_urlsafe(32), is_kept=True)


def shared_limits(address: str, given: Sequence[str] = ()) -> ClusterLimits:
    """Return the limits of the cluster, as `NAME=VALUE` change them for all who ask later."""
    kept = _setting(address, "limits", "{}", is_kept=True)
    limits = _read_limits(kept, "{}")
    if not given:
        return limits
    named = {name: value for name, _, value in (text.partition("=") for text in given)}
    changed = _read_limits(kept, msgspec.json.encode(named).decode())
    _setting(address, "limits", msgspec.json.encode(changed).decode(), is_kept=False)
    return changed


def _read_limits(kept: str, given: str) -> ClusterLimits:
    values: dict[str, Any] = msgspec.json.decode(kept) | msgspec.json.decode(given)
    names = ClusterLimits.__struct_fields__
    for name in values:
        if name not in names:
            raise CallerError(f"no limit has the name {brief(name)}; there are: {', '.join(names)}")
    try:
        limits = msgspec.convert(values, ClusterLimits, strict=False)
    except msgspec.ValidationError as error:
        raise CallerError(f"a limit of the cluster is no number as it is wanted: {error}") from None
    limits.check()
    return limits


def _setting(address: str, name: str, value: str, *, is_kept: bool) -> str:
    """Return a setting of the cluster, once it has a value; `is_kept` leaves one that it has."""
    prepare_cluster(address)
    database = Database(address, 1)
    change: LiteralString = "name = excluded.name" if is_kept else "value = excluded.value"
    try:
        rows = database.execute(
            "insert into callblocks_settings values (%s, %s)"
            " on conflict (name) do update set " + change + " returning value",
            name,
            value,
        )
        return rows[0][0]
    finally:
        database.close()


# --- The parts of a host ---


# Seconds for which a turn waits for a server that is started anew, or fails over.
_PATIENCE = 30.0


class SharedParts:
    """Opens the parts of a host on the database of a cluster.

    `files` is the folder of the artifacts, unless the settings name another place, and of the files
    of turns. Those are a working copy: what a timeline names is an artifact.
    """

    def __init__(
        self,
        database: Database,
        wakeups: Wakeups,
        files: Path,
    ) -> None:
        self._database = database
        self._wakeups = wakeups
        self._files = files
        self.store: PostgresStore | None = None

    def __call__(self, settings: HostSettings, stack: ExitStack) -> HostParts:
        """Return the parts; the stack closes what was opened for them."""
        store = stack.enter_context(
            PostgresStore(self._database.address, tell=self._tell, patience=_PATIENCE)
        )
        self.store = store
        book = stack.enter_context(SharedBook(self._database))
        return HostParts(
            store=store,
            artifacts=open_artifacts(settings.artifacts or self._files / ARTIFACTS),
            book=book,
            journal=SharedJournal(self._database),
            turns=self._turns,
            folders=[settings.state],
        )

    def renew_copy(self, timeline: str, before: int, fence: int) -> None:
        """Remove the working copy of a chat's files unless its last claim was of this folder.

        Another worker may have changed files since: what a timeline names is read as it was kept.
        """
        folder, mark = self._turns(timeline), self._turns(f"{timeline}+claim")
        try:
            kept = mark.read_text() if mark.exists() else ""
            if kept != str(before) and folder.exists():
                shutil.rmtree(folder)
            mark.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            mark.write_text(str(fence))
        except OSError as error:
            words = f"{folder}: the files of turns cannot be kept there ({error})"
            raise TimelineError("store_unavailable", words) from error

    def _turns(self, name: str) -> Path:
        return turns_folder(self._files, name, self._database.address)

    def _tell(self, names: Iterable[str]) -> None:
        self._wakeups.tell(*map(timeline_id, names))
