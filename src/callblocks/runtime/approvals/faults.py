"""Exceptions of approvals: the caller's mistakes and the machine's faults.

CallblocksError
├── ApprovalsUnavailable     the file of approvals cannot be used: nothing counts as approved
└── CallerError
    └── BadApproval          an unknown id, or an answer that comes too late
        └── HiddenCall       an approval of a call of which a part is not shown
"""

from __future__ import annotations

from callblocks.model.errors import CallblocksError, CallerError

__all__ = ("ApprovalsUnavailable", "BadApproval", "HiddenCall")


class ApprovalsUnavailable(CallblocksError, OSError):
    """The file of approvals cannot be read or written; every call counts as not approved."""


class BadApproval(CallerError, ValueError):
    """An approval that cannot be requested, answered or revoked in this way."""


class HiddenCall(BadApproval):
    """An approval of a call that was not shown whole; a surface that shows all of it may accept
    one.
    """
