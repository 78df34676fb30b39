"""The approval book: questions, answers, and which answers have been used.

    book = ApprovalBook(path)
    asked = book.request(fingerprint=…, grant_key=…, tool="rm", shown="rm build/")
    book.approve(asked.id)                  # or approve_for(id, 10), or deny(id, "not today")
    book.take(fingerprint, grant_key).ok    # true once

Invariants
- An approval covers one call with the same fingerprint, once, for `ttl` seconds.
- A grant (`approve_for`) covers every call with the same grant key until it expires or is revoked.
- A denial stands for `ttl` seconds, also against a grant, unless the same call is asked about again
  and approved.
- A call that is not shown whole cannot be approved by a person who sees only `shown`: `HiddenCall`.
- An approval that has expired stays expired, even if the clock is set back later.

Every method is one transaction that locks the file from its start. Two processes that call `take`
for one approval are therefore serialized, and exactly one of them gets `used`.
"""

from __future__ import annotations

import math
import os
import stat
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from callblocks.approvals.approval import (
    MINUTES,
    Approval,
    ApprovalsUnavailable,
    BadApproval,
    HiddenCall,
    State,
    Status,
    Taken,
)
from callblocks.core.redaction import mask, redact
from callblocks.core.text import brief

if TYPE_CHECKING:
    import sqlite3

__all__ = (
    "MEMORY",
    "TTL",
    "ApprovalBook",
    "Moment",
    "Records",
    "Statements",
    "Store",
    "Tables",
    "boot_id",
    "steady_time",
)

# --- The current time by two clocks: the wall clock, and one that nobody can set back ---
#
# The wall clock says when an approval expires, also after a restart of the machine. The steady
# clock counts since the machine was booted. Within one boot, setting the wall clock back does not
# extend an approval.

# CLOCK_BOOTTIME also counts while the machine is suspended. CLOCK_MONOTONIC does not, so an
# approval would survive a night of sleep.
_AWAKE_AND_ASLEEP: int | None = getattr(time, "CLOCK_BOOTTIME", None)
_BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Moment(msgspec.Struct, frozen=True):
    """Seconds since 1970, seconds since boot, and the id of that boot."""

    wall: float
    steady: float
    boot: str


def steady_time() -> float:
    """Return the seconds since boot, which are the same for every process."""
    if _AWAKE_AND_ASLEEP is None:
        return time.monotonic()
    return time.clock_gettime(_AWAKE_AND_ASLEEP)


@cache
def boot_id() -> str:
    """Return an id of this boot; "" where the system has none."""
    try:
        with open(_BOOT_ID, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


# --- Queries and updates of approvals within one transaction and at one moment ---

# An approval has expired when either clock is past its end: the wall clock; or, within the same
# boot, the steady clock (the wall clock may have been set back). After a reboot the steady clock
# says nothing. Then a wall clock that is earlier than the time of the question (`since`) has been
# set back, and the approval counts as expired: the check fails closed.
_PASSED = """(
    expires_at <= :wall
    OR (boot = :boot AND boot <> '' AND steady_expires <= :steady)
    OR ((boot <> :boot OR boot = '') AND since > :wall)
)"""


class Statements(Protocol):
    """Executes statements within a transaction; rows are read by name."""

    def execute(self, statement: str, terms: dict[str, Any], /) -> Any:
        """Return the cursor."""
        ...


class Tables(Protocol):
    """The tables of the approvals; a fault is an `ApprovalsUnavailable`."""

    def transaction(self) -> AbstractContextManager[Statements]:
        """Give exclusive use of the approvals; the block is committed whole or rolled back."""
        ...

    def close(self) -> None:
        """Let go of them."""
        ...


class Records:
    """The statements on the file of approvals. Making one first expires everything that is too
    late.
    """

    def __init__(self, connection: Statements, moment: Moment) -> None:
        self._connection = connection
        self._now = msgspec.structs.asdict(moment)
        # Expiry is written down, not only computed. Otherwise an expired approval could come back
        # to life when the wall clock is set back later.
        self._run(
            f"""UPDATE approvals SET state = 'expired'
            WHERE state IN ('pending', 'approved') AND {_PASSED}"""
        )

    def get(self, id: str) -> Approval | None:
        """Return the approval with this id, or `None`."""
        # An id from a command line may hold lone surrogates, which SQLite cannot bind.
        known = id.encode("utf-8", "backslashreplace").decode()
        return self._one("SELECT * FROM approvals WHERE id = :id", id=known)

    def all(self, state: State | None) -> tuple[Approval, ...]:
        """Return the approvals in one state, or in any, oldest first."""
        return self._run(
            """SELECT * FROM approvals WHERE :state IS NULL OR state = :state
            ORDER BY number""",
            state=state,
        )

    def pending(self, fingerprint: str) -> Approval | None:
        """Return the open question about a call."""
        return self._one(
            "SELECT * FROM approvals WHERE fingerprint = :fingerprint AND state = 'pending'",
            fingerprint=fingerprint,
        )

    def denial(self, fingerprint: str) -> Approval | None:
        """Return the denial of a call that still stands, that is, after which no approval came."""
        return self._one(
            f"""SELECT * FROM (
                SELECT * FROM approvals
                WHERE fingerprint = :fingerprint AND state IN ('approved', 'used', 'denied')
                ORDER BY number DESC LIMIT 1
            ) WHERE state = 'denied' AND NOT {_PASSED}""",
            fingerprint=fingerprint,
        )

    def ready(self, fingerprint: str, grant_key: str) -> Approval | None:
        """Return the approval that allows a call now: the oldest one-time approval, or else a
        grant.
        """
        return self._one(
            """SELECT * FROM approvals WHERE state = 'approved' AND minutes = 0
            AND fingerprint = :fingerprint ORDER BY number LIMIT 1""",
            fingerprint=fingerprint,
        ) or self._one(
            """SELECT * FROM approvals WHERE state = 'approved' AND minutes > 0
            AND grant_key = :grant_key ORDER BY number DESC LIMIT 1""",
            grant_key=grant_key,
        )

    def newest(self, fingerprint: str, grant_key: str) -> Approval | None:
        """Return the newest question about a call, or the newest grant that covers it."""
        return self._one(
            """SELECT * FROM approvals WHERE fingerprint = :fingerprint
            OR (grant_key = :grant_key AND minutes > 0) ORDER BY number DESC LIMIT 1""",
            fingerprint=fingerprint,
            grant_key=grant_key,
        )

    def ask(self, seconds: float, **fields: str | bool) -> Approval:
        """Insert a new question."""
        (asked,) = self._run(
            """INSERT INTO approvals (id, state, fingerprint, grant_key, tool, shown, tainted,
                is_whole, asked_at, since, expires_at, boot, steady_expires)
            VALUES (:id, 'pending', :fingerprint, :grant_key, :tool, :shown, :tainted, :is_whole,
                :wall, :wall, :wall + :seconds, :boot, :steady + :seconds)
            RETURNING *""",
            id=os.urandom(8).hex(),
            seconds=seconds,
            **fields,
        )
        return asked

    def answer(
        self, id: str, state: State, *, seconds: float, minutes: int, reason: str
    ) -> Approval:
        """Store the answer to a question, and for how long it counts."""
        (answered,) = self._run(
            """UPDATE approvals SET state = :state, minutes = :minutes, reason = :reason,
                answered_at = :wall, since = :wall, expires_at = :wall + :seconds,
                boot = :boot, steady_expires = :steady + :seconds
            WHERE id = :id RETURNING *""",
            id=id,
            state=state,
            seconds=seconds,
            minutes=minutes,
            reason=reason,
        )
        return answered

    def move(self, id: str, state: State) -> Approval:
        """Move an approval to another state."""
        (moved,) = self._run(
            "UPDATE approvals SET state = :state WHERE id = :id RETURNING *", id=id, state=state
        )
        return moved

    def _one(self, statement: str, **terms: Any) -> Approval | None:
        return next(iter(self._run(statement, **terms)), None)

    def _run(self, statement: str, **terms: Any) -> tuple[Approval, ...]:
        rows = self._connection.execute(statement, {**self._now, **terms}).fetchall()
        return tuple(_approval(dict(row)) for row in rows)


def _approval(row: dict[str, Any]) -> Approval:
    flags = {name: bool(row[name]) for name in ("tainted", "is_whole")}
    return msgspec.convert({**row, **flags}, Approval)


# --- The file of approvals: SQLite, readable by its owner only, safe for several processes ---
#
# Every change is one transaction that takes the write lock at its start (BEGIN IMMEDIATE) and is on
# the disk before the caller continues: an approval that was used stays used after a power cut. A
# deferred transaction would read first and take the lock later; two processes could then both see
# the same approval as unused.
#
# The file decides which calls run. So it is refused where another user could write to it: in a
# folder that others can write, as a symlink, or with a foreign owner.

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


# --- The approval book: questions, answers, and which answers have been used ---

# Seconds that a question waits for its answer, an unused approval for its use, and that a denial
# stands.
TTL = 600.0

# What is told of an approval that does not count; all others are as if there were none.
# All other states look to the caller as if no approval existed.
_TOLD: dict[State, Status] = {
    "pending": "pending",
    "denied": "denied",
    "expired": "expired",
    "revoked": "revoked",
}


class ApprovalBook:
    """Approvals in a file, in ":memory:", or in other `tables`.

    A caller's mistake raises `BadApproval`. A file that cannot be used raises
    `ApprovalsUnavailable`; the caller must then treat every call as not approved.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        clock: Callable[[], float] = time.time,
        ttl: float = TTL,
        steady: Callable[[], float] = steady_time,
        boot: Callable[[], str] = boot_id,
        tables: Tables | None = None,
    ) -> None:
        if not 0 < ttl < math.inf:
            raise BadApproval(f"an approval lives for some seconds, not {brief(ttl)}")
        self._clock = clock
        self._ttl = ttl
        self._steady = steady
        self._boot = boot
        self._tables = tables or Store(path)

    def __enter__(self) -> ApprovalBook:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._tables.close()

    def request(
        self,
        *,
        fingerprint: str,
        grant_key: str,
        tool: str,
        shown: str,
        tainted: bool = False,
        is_whole: bool = True,
    ) -> Approval:
        """Create a question about a call, or return the one that is already open.

        `is_whole` is false where `shown` hides more of the call than the values of secrets.
        """
        kept = mask(_writable(shown))
        with self._records() as records:
            open_one = records.pending(fingerprint)
            if open_one is not None and open_one.grant_key == grant_key:
                return open_one
            # Tainted and untainted turns have different grant keys. An open question of the other
            # kind is closed: answering it with a grant would grant a kind of call that the person
            # was not shown.
            if open_one is not None:
                records.move(open_one.id, "expired")
            return records.ask(
                self._ttl,
                fingerprint=fingerprint,
                grant_key=grant_key,
                tool=_kept(tool),
                shown=kept.text,
                tainted=tainted,
                is_whole=is_whole and kept.is_whole,
            )

    def forget_old(self, seconds: float) -> int:
        """Delete questions older than `seconds` that can no longer let a call run; return their
        number.
        """
        before = self._clock() - seconds
        with self._tables.transaction() as connection:
            gone = connection.execute(
                "DELETE FROM approvals WHERE asked_at < :before AND expires_at < :before",
                {"before": before},
            )
            return gone.rowcount

    def approve(self, id: str, *, saw_all: bool = False) -> Approval:
        """Let the call run once; `saw_all` states that the person saw more than `shown`
        contains.
        """
        return self._answer(id, "approved", seconds=self._ttl, saw_all=saw_all)

    def approve_for(self, id: str, minutes: int, *, saw_all: bool = False) -> Approval:
        """Let every call of this tool run for 5, 10 or 30 minutes."""
        # A free number would let a caller's mistake grant a tool for days.
        if minutes not in MINUTES:
            raise BadApproval(f"a grant is for 5, 10 or 30 minutes, not {brief(minutes)}")
        seconds = minutes * 60
        return self._answer(id, "approved", seconds=seconds, minutes=minutes, saw_all=saw_all)

    def deny(self, id: str, reason: str = "") -> Approval:
        """Refuse the call; the model is told the reason."""
        words = _kept(reason)
        return self._answer(id, "denied", seconds=self._ttl, reason=words, saw_all=True)

    def revoke(self, id: str) -> Approval:
        """Revoke a question, or an approval that has not been used."""
        with self._records() as records:
            before = records.get(id)
            if before is not None and before.state in ("pending", "approved"):
                return records.move(id, "revoked")
        raise _refusal(before, id, "be taken back")

    def take(self, fingerprint: str, grant_key: str) -> Taken:
        """Use the approval that allows this call; of two concurrent callers, one gets it."""
        with self._records() as records:
            # The order matters: a standing denial of this exact call wins over every grant for its
            # tool.
            denial = records.denial(fingerprint)
            if denial is not None:
                return Taken(status="denied", approval=denial)
            ready = records.ready(fingerprint, grant_key)
            if ready is not None:
                return _use(records, ready)
            newest = records.newest(fingerprint, grant_key)
            # A denial that has expired or was overruled does not count any more.
            if newest is None or newest.state == "denied":
                return Taken(status="none")
            return _not_used(newest)

    def redeem(self, id: str, fingerprint: str, grant_key: str = "") -> Taken:
        """Use the approval with this id for this call; an unknown id gives `none`."""
        with self._records() as records:
            named = records.get(id)
            if named is None:
                return Taken(status="none")
            # The id alone proves nothing: it may come from a URL or a model. It must belong to this
            # call.
            if not _covers(named, fingerprint, grant_key):
                return Taken(status="mismatch", approval=named)
            denial = records.denial(fingerprint)
            if denial is not None:
                return Taken(status="denied", approval=denial)
            return _use(records, named) if named.state == "approved" else _not_used(named)

    def get(self, id: str) -> Approval | None:
        """Return the approval with this id in its current state, or `None`."""
        with self._records() as records:
            return records.get(id)

    def list(self, state: State | None = None) -> tuple[Approval, ...]:
        """Return the approvals in one state, or all of them, oldest first."""
        with self._records() as records:
            return records.all(state)

    def _answer(
        self,
        id: str,
        state: State,
        *,
        seconds: float,
        saw_all: bool,
        minutes: int = 0,
        reason: str = "",
    ) -> Approval:
        with self._records() as records:
            before = records.get(id)
            if before is not None and before.state == "pending":
                # A mask could hide the part of the call that does harm, so `shown` alone does not
                # suffice.
                if not (before.is_whole or saw_all):
                    raise HiddenCall(_HIDDEN.format(id=id))
                return records.answer(id, state, seconds=seconds, minutes=minutes, reason=reason)
        raise _refusal(before, id, "be answered")

    @contextmanager
    def _records(self) -> Generator[Records, None, None]:
        with self._tables.transaction() as connection:
            # The time is read once the file is ours: waiting for it must not win time.
            yield Records(connection, Moment(self._clock(), self._steady(), self._boot()))


def _use(records: Records, approval: Approval) -> Taken:
    """Return the approval as used; a one-time approval is spent, a grant stays."""
    if approval.minutes == 0:
        approval = records.move(approval.id, "used")
    return Taken(status="used", approval=approval)


def _not_used(approval: Approval) -> Taken:
    return Taken(status=_TOLD.get(approval.state, "none"), approval=approval)


def _covers(approval: Approval, fingerprint: str, grant_key: str) -> bool:
    if approval.minutes == 0:
        return approval.fingerprint == fingerprint
    return approval.grant_key == grant_key


def _refusal(approval: Approval | None, id: str, what: str) -> BadApproval:
    if approval is None:
        return BadApproval(f"no approval {brief(id)}; list them to see the ids")
    return BadApproval(f"approval {id} is {approval.state}: it cannot {what} any more")


_HIDDEN = (
    "a part of the call {id} is covered as a secret and could do something; deny it, or approve it"
    " where all of it is shown: callblocks run --ask"
)


def _kept(text: str) -> str:
    """Return the text with secrets redacted, as it is stored."""
    return redact(_writable(text))


def _writable(text: str) -> str:
    """Return the text with lone surrogates escaped, because UTF-8 cannot encode them."""
    return text.encode("utf-8", "backslashreplace").decode()
