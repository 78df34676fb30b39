"""Summary of outcomes: counts in one line, and notices beside the results.

2 done, 1 failed, 1 refused
ⓘ terminal_execute: .git/config: not written, because …
ⓘ to approve: callblocks approvals approve 4f0c…; then run the text that --reply gives
ⓘ whole results: run prints them with --json or --reply
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence

from callblocks.core.call_text import show_result
from callblocks.core.outcomes import Failure, Outcome
from callblocks.policy.lint import explain
from callblocks.policy.policy import Policy
from callblocks.runtime.judgement import Judged, Judgement
from callblocks.views.chat.chat import LINES_BELOW, call_line
from callblocks.views.rows import Bit, Kind, Row, columns, plain, visible_line, wrap

__all__ = (
    "REFUSALS",
    "cut_rows",
    "explained_rows",
    "how_to_allow",
    "plan_rows",
    "summary_rows",
    "ways_to_allow",
)

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
    """Say where to find the full results that a chat cuts; `timeline` names one that has them."""
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
    """Say how to approve the calls that wait for a person."""
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


# --- The plan: the verdict of the policy on each call, before any of them runs ---
#
#     1  file_list(path=notes)                      allow   rule 1 of the policy allows
#     2  file_write(path=notes/a.md, content=…)     ask     no rule names this call
#     3  sing(song=…)                               cannot  unknown_tool: no tool is called "sing"
#
# Explained, each line has below it every rule that was looked at.

_CALL_WIDTH = 48
_ROOM = 30
_VERDICTS: dict[str, Kind] = {
    "allow": "code",
    "ask": "warning",
    "deny": "error",
    "cannot": "error",
    "off": "quiet",
}
_WAYS = (
    ("--ask", "to be asked before each"),
    ("--allow {tool}", "to run this tool unasked"),
    ("--allow-trait read_only", "to run what changes nothing"),
    ("--policy FILE", "to decide by rules; callblocks policy example prints some"),
)


def plan_rows(planned: Sequence[Judged], width: int) -> list[Row]:
    """A row for each call: its number, what it says, and what the policy says to it."""
    return [row for rows in _rows(planned, width) for row in rows]


def explained_rows(planned: Sequence[Judged], policy: Policy, width: int) -> list[Row]:
    """The same, with the rules that were looked at."""
    rows: list[Row] = []
    for plan, lines in zip(planned, _rows(planned, width), strict=True):
        rows += lines
        if isinstance(plan.verdict, Judgement):
            # The line before says what was decided.
            for line in explain(policy, plan.verdict.facts)[:-1]:
                rows += wrap((("quiet", f"        {visible_line(line)}"),), width, _HANG)
    return rows


def how_to_allow(planned: Sequence[Judged]) -> list[Row]:
    """Return the options that allow calls, with the first tool of the plan as the example."""
    names = [plan.verdict.tool.name for plan in planned if isinstance(plan.verdict, Judgement)]
    return ways_to_allow(names[0]) if names else []


def ways_to_allow(tool: str) -> list[Row]:
    """Return the options that allow calls of a tool."""
    options = [option.format(tool=shlex.quote(tool)) for option, _ in _WAYS]
    pad = max(map(len, options)) + 2
    rows: list[Row] = [(("plain", "Add to the command:"),)]
    for option, (_, purpose) in zip(options, _WAYS, strict=True):
        rows.append((("code", f"  {visible_line(option):<{pad}}"), ("quiet", purpose)))
    return rows


_HANG: Row = (("plain", " " * 10),)


def _rows(planned: Sequence[Judged], width: int) -> list[list[Row]]:
    lines = [_shorten(visible_line(call_line(plan.call))) for plan in planned]
    pad = max(map(columns, lines), default=0) + 2
    found: list[list[Row]] = []
    for number, (plan, line) in enumerate(zip(planned, lines, strict=True), 1):
        verdict, why = _said(plan.verdict)
        head: tuple[Bit, ...] = (
            ("quiet", f"{number:>4}  "),
            ("plain", line + " " * (pad - columns(line))),
            (_VERDICTS[verdict], f"{verdict:<7} "),
        )
        found.append(_with_reason(head, visible_line(why), pad + 14, width))
    return found


def _with_reason(head: Row, why: str, indent: int, width: int) -> list[Row]:
    """The reason beside the verdict, or below it where there is little room."""
    if width - indent >= _ROOM or columns(why) <= width - indent:
        return wrap((*head, ("quiet", why)), width, (("plain", " " * indent),))
    below: Row = (("quiet", f"        {why}"),)
    return [*wrap(head, width), *wrap(below, width, (("plain", " " * 8),))]


def _said(verdict: Judgement | Failure) -> tuple[str, str]:
    if isinstance(verdict, Failure):
        return "cannot", f"{verdict.code}: {verdict.message}"
    decision = verdict.decision
    if decision.code == "policy_off":
        return "off", ", ".join(verdict.tool.traits.names()) or "plain"
    return ("ask" if decision.asked else decision.verdict), decision.reason


def _shorten(line: str) -> str:
    return line if len(line) <= _CALL_WIDTH else f"{line[: _CALL_WIDTH - 1]}…"
