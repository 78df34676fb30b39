"""What can be wrong with an approval: the caller's mistake, or the machine's.

CallblocksError
├── ApprovalsUnavailable     the file of approvals cannot be used: nothing counts as approved
└── CallerError
    └── BadApproval          an id that is none, or an answer that comes too late
        └── HiddenCall       a yes to a call of which a part is not shown
"""

from __future__ import annotations

from callblocks.model.errors import CallblocksError, CallerError

__all__ = ("ApprovalsUnavailable", "BadApproval", "HiddenCall")


class ApprovalsUnavailable(CallblocksError, OSError):
    """The file of approvals cannot be read or written; take every call for not approved."""


class BadApproval(CallerError, ValueError):
    """An approval that cannot be asked, answered or taken back like this."""


class HiddenCall(BadApproval):
    """A yes to a call that is not shown whole; whoever shows all of it may take one."""
