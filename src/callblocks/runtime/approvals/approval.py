"""What a person was asked, and what came of it.

pending ──approve──▶ approved ──take──▶ used        (once)
   │                    │ └───────────▶ approved    (for a while: until it expires)
   ├──deny──▶ denied    ├──revoke──▶ revoked
   └──────────── time ──┴──────────▶ expired
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

__all__ = ("MINUTES", "Approval", "State", "Status", "Taken")

State: TypeAlias = Literal["pending", "approved", "denied", "used", "expired", "revoked"]
Status: TypeAlias = Literal["used", "none", "pending", "denied", "expired", "revoked", "mismatch"]

MINUTES = (5, 10, 30)
"""How long a grant may last."""

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

    `shown` is what the person saw, with secrets masked. `is_whole` is false where a mask covers
    more than a value: nobody who sees only `shown` can approve it. Times are seconds since 1970;
    `answered_at` is 0 while there is no answer. `minutes` is 0 for an approval that counts once,
    otherwise it is a grant: for every input of the tool, for that long.
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
    """Whether a call may run now, by what was approved before.

    used: it may, and an approval for once is spent. pending: asked, not answered. mismatch: that
    approval is for another call, or was given under another policy.
    """

    status: Status
    approval: Approval | None = None

    @property
    def ok(self) -> bool:
        """Whether the call may run."""
        return self.status == "used"

    @property
    def code(self) -> str:
        """The code of the failure; "" where the call may run."""
        return _CODES[self.status]

    @property
    def reason(self) -> str:
        """What the person said with a no, otherwise ""."""
        return self.approval.reason if self.approval is not None else ""
