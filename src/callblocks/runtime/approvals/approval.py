"""One question to a person, its answer, and the states that it passes through.

pending ──approve──▶ approved ──take──▶ used        (once)
   │                    │ └───────────▶ approved    (grant: until it expires)
   ├──deny──▶ denied    ├──revoke──▶ revoked
   └──────────── time ──┴──────────▶ expired
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

__all__ = ("MINUTES", "Approval", "State", "Status", "Taken")

State: TypeAlias = Literal["pending", "approved", "denied", "used", "expired", "revoked"]
Status: TypeAlias = Literal["used", "none", "pending", "denied", "expired", "revoked", "mismatch"]

# The lengths of a grant, in minutes. A person chooses one of these; a free number would let a
# typing error grant a tool for days.
MINUTES = (5, 10, 30)

_CODES: dict[Status, str] = {
    "used": "",
    "none": "approval_required",
    "pending": "approval_required",
    "denied": "approval_denied",
    "expired": "approval_expired",
    "revoked": "approval_revoked",
    "mismatch": "approval_mismatch",
}


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a person, and the answer.

    `shown` is the text that the person saw, with secrets masked. `is_whole` is false where a mask
    covers more than a value: a person who sees only `shown` must not approve such a call. Times are
    seconds since 1970; `answered_at` is 0 while there is no answer. `minutes` is 0 for an approval
    that counts once; otherwise the approval is a grant, which covers every input of the tool for
    that many minutes.
    """

    id: str
    state: State
    fingerprint: str
    grant_key: str
    tool: str
    shown: str
    asked_at: float
    answered_at: float = 0.0
    expires_at: float
    reason: str = ""
    minutes: int = 0
    tainted: bool = False
    is_whole: bool = True


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """The result of looking up an approval for a call: may the call run now?

    used: the call may run, and a one-time approval is now spent. pending: a question exists but has
    no answer. mismatch: the named approval is for another call, or was given under another policy.
    """

    status: Status
    approval: Approval | None = None

    @property
    def ok(self) -> bool:
        """Return whether the call may run."""
        return self.status == "used"

    @property
    def code(self) -> str:
        """Return the failure code; "" where the call may run."""
        return _CODES[self.status]

    @property
    def reason(self) -> str:
        """Return the person's reason for a denial, otherwise ""."""
        return self.approval.reason if self.approval is not None else ""
