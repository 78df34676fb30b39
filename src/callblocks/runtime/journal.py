"""The journal: a write-ahead record of calls that change something.

    begin(intent)   on disk before the effect
    end(key, …)     on disk after it

States of an intent
    running         no end yet, and the process that began it lives
    indeterminate   no end, and that process is dead: nobody knows whether the effect happened
    ended           the outcome is recorded; the same call gives it again instead of running again

The key is derived from turn, call id, tool and input, so a resumed turn finds its own intents. An
indeterminate intent is repeated only for an idempotent tool; otherwise a person must look. Why not
record only the outcome: after a crash between effect and record, a mail would be sent twice. Calls
that change nothing are not recorded.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from callblocks.core.errors import CallblocksError
from callblocks.core.outcomes import Outcome
from callblocks.guard.workers.worker_process import lives, this_process

__all__ = ("Intent", "Journal", "JournalEntry", "JournalUnavailable", "State")

State: TypeAlias = Literal["running", "indeterminate", "ended"]

_SCHEMA = """
create table if not exists intents (
    key text primary key,
    turn text not null,
    call text not null,
    tool text not null,
    input text not null,
    process text not null,
    began real not null,
    ended real,
    outcome text
) strict
"""


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """A call that is about to change something. `input` is for people: secrets are redacted."""

    key: str
    turn: str
    call: str
    tool: str
    input: dict[str, Any]


class JournalEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An intent and its state."""

    intent: Intent
    state: State
    began: float
    outcome: Outcome | None = None


class JournalUnavailable(CallblocksError, OSError):
    """The journal cannot be read or written; no call that changes something may run."""


class Journal:
    """A journal in one SQLite file, shared by every process that runs calls.

    Faults of the file raise `JournalUnavailable`.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, clock: Callable[[], float] = time.time
    ) -> None:
        self._file = Path(path)
        self._clock = clock
        # Turns of several threads use one connection; each statement is its own transaction.
        self._lock = threading.Lock()
        with self._told():
            self._store = _open(self._file)
        self._process = os.getpid(), this_process()

    def begin(self, intent: Intent) -> JournalEntry | None:
        """Insert the intent and return `None`; or return the existing entry and change nothing.

        An interrupted idempotent call is begun anew with `again`.
        """
        with self._told():
            row = (intent.key, intent.turn, intent.call, intent.tool, _encode(intent.input))
            # "on conflict do nothing" makes this the arbiter: of two processes that begin the same
            # call, exactly one inserts the row.
            added = self._store.execute(
                "insert into intents (key, turn, call, tool, input, process, began)"
                " values (?, ?, ?, ?, ?, ?, ?) on conflict do nothing",
                (*row, self._this_process(), self._clock()),
            )
        return None if added.rowcount else self.find(intent.key)

    def again(self, key: str) -> None:
        """Take over an interrupted intent for this process."""
        with self._told():
            self._store.execute(
                "update intents set process = ?, began = ? where key = ? and ended is null",
                (self._this_process(), self._clock(), key),
            )

    def end(self, key: str, outcome: Outcome) -> None:
        """Record the outcome."""
        with self._told():
            self._store.execute(
                "update intents set ended = ?, outcome = ? where key = ?",
                (self._clock(), _encode(outcome), key),
            )

    def find(self, key: str) -> JournalEntry | None:
        """Return the entry under a key, or `None`."""
        found = self._entries("where key = ?", key)
        return found[0] if found else None

    def indeterminate(self) -> list[JournalEntry]:
        """Return the intents of processes that died before the end."""
        return [entry for entry in self._entries("where ended is null") if entry.state != "running"]

    def of_turn(self, turn: str) -> list[JournalEntry]:
        """Return the intents of one turn, oldest first."""
        return self._entries("where turn = ? order by began, rowid", turn)

    def entries(self, limit: int = 100) -> list[JournalEntry]:
        """Return the latest intents, newest first."""
        return self._entries("order by began desc, rowid desc limit ?", limit)

    def forget(self, key: str) -> bool:
        """Delete the interrupted intent whose key starts with `key`, after a person settled it."""
        found = [one.intent.key for one in self.indeterminate() if one.intent.key.startswith(key)]
        if len(found) != 1:
            return False
        with self._told():
            self._store.execute("delete from intents where key = ?", found)
        return True

    def forget_old(self, seconds: float) -> int:
        """Delete intents that ended more than `seconds` ago; return their number.

        Intents that never ended stay, because a person has to look at them.
        """
        with self._told():
            gone = self._store.execute(
                "delete from intents where ended < ?", (self._clock() - seconds,)
            )
        return gone.rowcount

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    def _this_process(self) -> str:
        # A forked process has another number.
        if self._process[0] != os.getpid():
            self._process = os.getpid(), this_process()
        return self._process[1]

    def _entries(self, where: str, *values: object) -> list[JournalEntry]:
        query = f"select key, turn, call, tool, input, process, began, outcome from intents {where}"
        with self._told(), closing(self._store.execute(query, values)) as rows:
            return [_entry(*row) for row in rows]

    @contextmanager
    def _told(self) -> Generator[None, None, None]:
        """Serialize threads, and translate faults into `JournalUnavailable` with the file's
        name.
        """
        try:
            with self._lock:
                yield
        # What cannot be encoded is a `ValueError`, or one of msgspec.
        except (sqlite3.Error, OSError, ValueError, msgspec.MsgspecError) as error:
            raise JournalUnavailable(f"journal in {self._file}: {error}") from error


def _open(file: Path) -> sqlite3.Connection:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Never open an existing file: closing it would drop this process's POSIX locks on it.
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    store = sqlite3.connect(file, timeout=10, isolation_level=None, check_same_thread=False)
    try:
        store.execute("pragma journal_mode = wal")
        # FULL, not NORMAL: in WAL mode NORMAL does not fsync on commit, so an intent could be lost
        # in a power cut although its effect happened.
        store.execute("pragma synchronous = full")
        store.execute(_SCHEMA)
    except BaseException:
        store.close()
        raise
    return store


def _entry(
    key: str,
    turn: str,
    call: str,
    tool: str,
    given: str,
    process: str,
    began: float,
    outcome: str | None,
) -> JournalEntry:
    intent = Intent(key=key, turn=turn, call=call, tool=tool, input=msgspec.json.decode(given))
    if outcome is not None:
        ended = msgspec.json.decode(outcome, type=Outcome)
        return JournalEntry(intent=intent, state="ended", began=began, outcome=ended)
    # Computed on each read, never stored: the process may die at any time after this row was
    # written.
    state: State = "running" if lives(process) else "indeterminate"
    return JournalEntry(intent=intent, state=state, began=began)


def _encode(value: object) -> str:
    return msgspec.json.encode(value).decode()
