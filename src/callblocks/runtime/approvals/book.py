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
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from callblocks.model.brief import brief
from callblocks.model.redaction import mask, redact
from callblocks.runtime.approvals.approval import MINUTES, Approval, State, Status, Taken
from callblocks.runtime.approvals.faults import BadApproval, HiddenCall
from callblocks.runtime.approvals.moment import Moment, boot_id, steady_time
from callblocks.runtime.approvals.records import Records
from callblocks.runtime.approvals.store import Store

__all__ = ("TTL", "ApprovalBook")

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
    """Approvals in a file, or in ":memory:".

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
    ) -> None:
        if not 0 < ttl < math.inf:
            raise BadApproval(f"an approval lives for some seconds, not {brief(ttl)}")
        self._clock = clock
        self._ttl = ttl
        self._steady = steady
        self._boot = boot
        self._store = Store(path)

    def __enter__(self) -> ApprovalBook:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._store.close()

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
        with self._store.transaction() as connection:
            gone = connection.execute(
                "DELETE FROM approvals WHERE asked_at < ? AND expires_at < ?", (before, before)
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
        with self._store.transaction() as connection:
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
