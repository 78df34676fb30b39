"""What can be wrong with an approval: the caller's mistake, or the machine's.

CallblocksError
├── ApprovalsUnavailable     the file of approvals cannot be used: nothing counts as approved
└── CallerError
    └── BadApproval          an id that is none, or an answer that comes too late
"""

from __future__ import annotations

from callblocks.model.errors import CallblocksError, CallerError

__all__ = ("ApprovalsUnavailable", "BadApproval")


class ApprovalsUnavailable(CallblocksError, OSError):
    """The file of approvals cannot be read or written; take every call for not approved."""


class BadApproval(CallerError, ValueError):
    """An approval that cannot be asked, answered or taken back like this."""
