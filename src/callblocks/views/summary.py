"""What came of calls, in a line, and what there is to know beside the results.

2 done, 1 failed, 1 refused
ⓘ terminal_execute: .git/config: not written, because …
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from callblocks.model.outcomes import Failure, Outcome
from callblocks.views.rows import Bit, Kind, Row, columns, plain, wrap
from callblocks.views.safe import visible_line

__all__ = ("REFUSALS", "summary_rows")

REFUSALS = frozenset(
    {
        *("policy_off", "policy_denied", "approval_required", "approval_denied"),
        *("approval_expired", "approval_revoked", "approval_mismatch"),
    }
)
"""The codes that say that a call was not let through."""

_KINDS: dict[str, Kind] = {"done": "code", "failed": "error", "refused": "warning"}


_AFTER = "then run the text that --reply gives"


def summary_rows(
    outcomes: Sequence[Outcome], folder: str, width: int, after: str = _AFTER
) -> list[Row]:
    """The count, the notices, and the files that were kept below `folder`.

    `after` says what to do once a call was approved that waits for it.
    """
    if not outcomes:
        return []
    counts = Counter(map(_kind, outcomes))
    bits: list[Bit] = []
    for name, kind in _KINDS.items():
        if counts[name]:
            bits.append(("quiet", ", "))
            bits.append((kind, f"{counts[name]} {name}"))
    return [
        (),
        tuple(bits[1:]),
        *_notes(outcomes, folder, width),
        *_waiting(outcomes, width, after),
    ]


def _kind(outcome: Outcome) -> str:
    if outcome.error is None:
        return "done"
    return "refused" if outcome.error.code in REFUSALS else "failed"


def _waiting(outcomes: Iterable[Outcome], width: int, after: str) -> list[Row]:
    """How to approve what waits for a person."""
    ids = [one.error.details["approval"] for one in outcomes if one.error and _waits(one.error)]
    if not ids:
        return []
    how = f"callblocks approvals approve {ids[0]}; {after}"
    return wrap((("mark", "ⓘ "), ("quiet", f"to approve: {how}")), width, (("plain", "  "),))


def _waits(failure: Failure) -> bool:
    # The details may be of a tool: what is to be copied into a shell is an id and nothing else.
    return failure.code in REFUSALS and str(failure.details.get("approval", "")).isalnum()


def _notes(outcomes: Iterable[Outcome], folder: str, width: int) -> list[Row]:
    rows: list[Row] = []
    for outcome in outcomes:
        for notice in outcome.notices:
            rows += wrap(_note(outcome, notice.message), width, (("plain", "  "),))
        for artifact in outcome.artifacts:
            path = f"{folder}/{artifact.path}"
            row: Row = _note(outcome, f"kept {path}")
            if columns(plain(row)) > width:
                # A path that is broken in two cannot be copied.
                rows += wrap(_note(outcome, "kept"), width, (("plain", "  "),))
                row = (("quiet", visible_line(path)),)
            rows.append(row)
    return rows


def _note(outcome: Outcome, text: str) -> Row:
    return (("mark", "ⓘ "), ("quiet", visible_line(f"{outcome.name}: {text}")))
