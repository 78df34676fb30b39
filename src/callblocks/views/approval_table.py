"""Approvals for people: what was asked, and what became of it.

064e9895135c2a5b  pending    9 min left  file_write(path=notes/a.md, content=…)
ea9dfb126f35a1d8  approved   4 min left  any terminal_execute
"""

from __future__ import annotations

from collections.abc import Sequence

from callblocks.runtime.approvals.approval import Approval
from callblocks.views.exact import exact
from callblocks.views.rows import Kind, Row, wrap
from callblocks.views.safe import visible_line

__all__ = ("about_approval", "approval_table")

_LONGEST = 100
_STATES: dict[str, Kind] = {
    "pending": "warning",
    "approved": "code",
    "denied": "error",
    "used": "quiet",
    "expired": "quiet",
    "revoked": "quiet",
}


def approval_table(approvals: Sequence[Approval], now: float, width: int) -> list[Row]:
    """A row for each approval; `now` is in seconds since 1970."""
    if not approvals:
        return [(("quiet", "Nothing waits for an answer, and nothing is approved."),)]
    rows: list[Row] = []
    for one in approvals:
        head: Row = (
            ("mark", f"{one.id}  "),
            (_STATES[one.state], f"{one.state:<9}"),
            ("quiet", f"{_left(one, now):>12}  "),
            ("plain", visible_line(_what(one))),
        )
        rows += wrap(head, width, (("plain", " " * (len(one.id) + 25)),))
    return rows


def about_approval(approval: Approval, now: float, width: int) -> list[Row]:
    """One approval with all that it is for."""
    rows = approval_table([approval], now, width)
    for line in exact(approval.shown).split("\n"):
        rows += wrap((("plain", f"  {line}"),), width, (("plain", "    "),))
    return rows


def _left(approval: Approval, now: float) -> str:
    if approval.state not in ("pending", "approved"):
        return ""
    seconds = max(0.0, approval.expires_at - now)
    return f"{seconds:.0f} s left" if seconds < 60 else f"{seconds / 60:.0f} min left"


def _what(approval: Approval) -> str:
    if approval.minutes:
        return f"any {approval.tool}, {approval.minutes} minutes"
    line = " ".join(approval.shown.split())
    short = line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
    return f"{short} ({approval.reason})" if approval.reason else short
