"""What came of calls, in a line, and what there is to know beside the results.

2 done, 1 failed, 1 refused
ⓘ terminal_execute: .git/config: not written, because …
ⓘ to approve: callblocks approvals approve 4f0c…; then run the text that --reply gives
ⓘ whole results: run prints them with --json or --reply
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from callblocks.model.outcomes import Failure, Outcome
from callblocks.model.shown import show_result
from callblocks.views.grouping import LINES_BELOW
from callblocks.views.rows import Bit, Kind, Row, columns, plain, wrap
from callblocks.views.safe import visible_line

__all__ = ("REFUSALS", "cut_rows", "summary_rows")

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


def cut_rows(outcomes: Iterable[Outcome], width: int, timeline: str = "") -> list[Row]:
    """Where results are whole that a chat shows in part; they may be on a `timeline`, too."""
    if not any(map(_is_cut, outcomes)):
        return []
    kept = f"; or callblocks timeline show {timeline} --view model" if timeline else ""
    words = visible_line(f"whole results: run prints them with --json or --reply{kept}")
    return wrap((("mark", "ⓘ "), ("quiet", words)), width, (("plain", "  "),))


def _is_cut(outcome: Outcome) -> bool:
    result = outcome.result()
    shown, cut = show_result(result.output if result.error is None else result.error)
    return cut or len(shown.splitlines()) > LINES_BELOW


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
    said = "to approve" if len(ids) == 1 else f"{len(ids)} calls wait; to approve the first"
    every = "" if len(ids) == 1 else "; callblocks approvals lists all"
    return wrap((("mark", "ⓘ "), ("quiet", f"{said}: {how}{every}")), width, (("plain", "  "),))


def _waits(failure: Failure) -> bool:
    # The details may be of a tool: what is to be copied into a shell is an id and nothing else.
    return failure.code in REFUSALS and str(failure.details.get("approval", "")).isalnum()


def _notes(outcomes: Iterable[Outcome], folder: str, width: int) -> list[Row]:
    rows: list[Row] = []
    for outcome in outcomes:
        for notice in outcome.notices:
            rows += wrap(_note(outcome, notice.message), width, (("plain", "  "),))
        # Files of a turn are named by the call's own result.
        for artifact in (one for one in outcome.artifacts if not one.path.startswith("fi:")):
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
