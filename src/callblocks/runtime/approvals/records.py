"""Queries and updates of approvals within one transaction and at one moment."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from callblocks.runtime.approvals.approval import Approval, State
from callblocks.runtime.approvals.moment import Moment

if TYPE_CHECKING:
    import sqlite3

__all__ = ("Records",)

# An approval has expired when either clock is past its end: the wall clock; or, within the same
# boot, the steady clock (the wall clock may have been set back). After a reboot the steady clock
# says nothing. Then a wall clock that is earlier than the time of the question (`since`) has been
# set back, and the approval counts as expired: the check fails closed.
_PASSED = """(
    expires_at <= :wall
    OR (boot = :boot AND boot <> '' AND steady_expires <= :steady)
    OR ((boot <> :boot OR boot = '') AND since > :wall)
)"""


class Records:
    """The statements on the file of approvals. Making one first expires everything that is too
    late.
    """

    def __init__(self, connection: sqlite3.Connection, moment: Moment) -> None:
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
