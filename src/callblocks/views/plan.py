"""What would become of calls, before any of them runs.

    1  file_list(path=notes)                      allow   rule 1 of the policy allows
    2  file_write(path=notes/a.md, content=…)     ask     no rule names this call
    3  sing(song=…)                               cannot  unknown_tool: no tool is called "sing"

Explained, each line has below it every rule that was looked at.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from callblocks.model.outcomes import Failure
from callblocks.runtime.policy.explain import explain
from callblocks.runtime.policy.policy import Policy
from callblocks.runtime.progress import Judged
from callblocks.runtime.weighed import Weighed
from callblocks.views.chat import call_line
from callblocks.views.rows import Bit, Kind, Row, columns, wrap
from callblocks.views.safe import visible_line

__all__ = ("explained_rows", "how_to_allow", "plan_rows", "ways_to_allow")

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
        if isinstance(plan.verdict, Weighed):
            # The line before says what was decided.
            for line in explain(policy, plan.verdict.facts)[:-1]:
                rows += wrap((("quiet", f"        {visible_line(line)}"),), width, _HANG)
    return rows


def how_to_allow(planned: Sequence[Judged]) -> list[Row]:
    """What to add to the command to have calls run, with a tool that is among them."""
    names = [plan.verdict.tool.name for plan in planned if isinstance(plan.verdict, Weighed)]
    return ways_to_allow(names[0]) if names else []


def ways_to_allow(tool: str) -> list[Row]:
    """What to add to the command to have calls of a tool run."""
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


def _said(verdict: Weighed | Failure) -> tuple[str, str]:
    if isinstance(verdict, Failure):
        return "cannot", f"{verdict.code}: {verdict.message}"
    decision = verdict.decision
    if decision.code == "policy_off":
        return "off", ", ".join(verdict.tool.traits.names()) or "plain"
    return ("ask" if decision.asked else decision.verdict), decision.reason


def _shorten(line: str) -> str:
    return line if len(line) <= _CALL_WIDTH else f"{line[: _CALL_WIDTH - 1]}…"
