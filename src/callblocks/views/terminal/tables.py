"""Tables of commands: approvals, policies, plans, and what came of a run.

064e9895135c2a5b  pending    9 min left  file_write(path=notes/a.md, content=…)
ea9dfb126f35a1d8  approved   4 min left  any terminal_execute
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from callblocks.approvals.approval import Approval
from callblocks.core.call_text import show_result
from callblocks.core.calls import Call
from callblocks.core.errors import CallerError
from callblocks.core.outcomes import Failure, Outcome
from callblocks.parsing.dialect import Dialect
from callblocks.policy.lint import Finding, explain
from callblocks.policy.policy import Policy
from callblocks.policy.rules import conditions
from callblocks.runtime.judgement import Judged, Judgement
from callblocks.tools.tool import Tool
from callblocks.views.chat.chat import LINES_BELOW, call_line
from callblocks.views.rows import Bit, Kind, Row, columns, exact, plain, visible, visible_line, wrap

__all__ = (
    "REFUSALS",
    "Line",
    "PartTable",
    "about_approval",
    "about_tool",
    "approval_table",
    "cut_rows",
    "explained_rows",
    "finding_rows",
    "how_to_allow",
    "part_rows",
    "plan_rows",
    "policy_rows",
    "summary_rows",
    "tool_table",
    "ways_to_allow",
)

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


# --- An office for people: a table for each of its parts, cut to the width of the terminal ---
#
# Mail  15
#   2026-11-13 12:00  Coast Weather  Warning: westerly gale, Saturday night  unread  9c1f…

Line = Sequence[str]
"""The cells of one line, as texts of others."""

_GAP = "  "
_LEAST = 8
_KINDS: tuple[Kind, ...] = ("quiet", "name", "plain", "quiet", "mark")


class PartTable(msgspec.Struct, frozen=True):
    """One part of an office: its name, how much there is, and lines of cells.

    `kinds` say what each column is, `flexible` is the column that is cut where there is no room.
    """

    name: str
    count: str
    lines: Sequence[Line]
    kinds: tuple[Kind, ...] = _KINDS
    flexible: int = 1


def part_rows(part: PartTable, width: int) -> list[Row]:
    """A heading with the count, and a row for each line."""
    rows: list[Row] = [(("heading", part.name), ("quiet", f"{_GAP}{part.count}"))]
    lines = [[visible_line(cell) for cell in line] for line in part.lines]
    widths = _widths(lines, part.flexible, width - len(_GAP))
    return rows + [_row(line, widths, part.kinds) for line in lines]


def _widths(lines: Sequence[Line], flexible: int, room: int) -> list[int]:
    """The width of each column; the flexible one gives way, the last takes what it needs."""
    count = max(map(len, lines), default=0)
    widths = [
        max((columns(line[at]) for line in lines if at < len(line)), default=0)
        for at in range(count)
    ]
    over = sum(widths) + len(_GAP) * (count - 1) - room
    if over > 0 and flexible < count:
        widths[flexible] = max(_LEAST, widths[flexible] - over)
    return widths


def _row(line: Line, widths: Sequence[int], kinds: Sequence[Kind]) -> Row:
    cells = [_fit(cell, width) for cell, width in zip(line, widths, strict=False)]
    bits: list[Bit] = [(kind, f"{_GAP}{cell}") for kind, cell in zip(kinds, cells, strict=False)]
    return tuple(bits)


def _fit(cell: str, width: int) -> str:
    """A cell as wide as its column."""
    if columns(cell) > width:
        while columns(cell) > width - 1:
            cell = cell[:-1]
        cell += "…"
    return cell + " " * (width - columns(cell))


# --- A policy for people: its rules in order, and what is odd about them ---
#
# 1  deny   path **/.env, **/*.pem                 secrets stay where they are
# 2  allow  tool file_read, file_list              looking changes nothing
#
# warning  rule 2  free_commands: any command may run

_WORDS: dict[str, Kind] = {"allow": "code", "ask": "warning", "deny": "error"}
_SEVERITIES: dict[str, Kind] = {"error": "error", "warning": "warning", "note": "quiet"}
_HANG: Row = (("plain", " " * 13),)


def policy_rows(policy: Policy, width: int) -> list[Row]:
    """The rules, and what becomes of all that none of them names."""
    if not policy.enabled:
        return [(("strong", "off"), ("plain", ": nothing runs, whatever the rules say"))]
    rows: list[Row] = []
    for number, rule in enumerate(policy.rules, 1):
        because = f"  {rule.because}" if rule.because else ""
        head: Row = (
            ("quiet", f"{number:>4}  "),
            (_WORDS[rule.decide], f"{rule.decide:<7}"),
            ("plain", visible_line(conditions(rule))),
            ("quiet", visible_line(because)),
        )
        rows += wrap(head, width, _HANG)
    rest = "all else is asked where a person is there, and refused where not"
    return [*rows, (("quiet", f"      {rest}"),)]


def finding_rows(findings: Sequence[Finding], width: int) -> list[Row]:
    """Return the findings about a policy, one row or more each."""
    rows: list[Row] = [()] if findings else []
    for finding in findings:
        head: Row = (
            (_SEVERITIES[finding.severity], f"{finding.severity:<9}"),
            ("quiet", f"rule {finding.rule}  " if finding.rule else ""),
            ("plain", visible_line(f"{finding.code}: {finding.message}")),
        )
        rows += wrap(head, width, (("plain", " " * 9),))
    return rows


# --- Tools for people: a table of them, and all about one ---
#
# file_read   read_only, idempotent    path, start_line?, lines?
#   Read a text file of the workspace.

_TOOL_GAP = 2
_INDENT: Row = (("plain", "  "),)


def tool_table(tools: Iterable[Tool], width: int) -> list[Row]:
    """Each tool in two rows: its name, traits and parameters; what it is for."""
    known = list(tools)
    names = max((columns(tool.name) for tool in known), default=0) + _TOOL_GAP
    traits = max((len(_traits(tool)) for tool in known), default=0) + _TOOL_GAP
    rows: list[Row] = []
    for tool in known:
        hang: Row = (("plain", " " * (names + traits)),)
        head: Row = (
            ("name", tool.name.ljust(names)),
            ("quiet", _traits(tool).ljust(traits)),
            ("key", ", ".join(_parameters(tool))),
        )
        rows += wrap(head, width, hang)
        rows += wrap((*_INDENT, ("plain", _first_line(tool))), width, _INDENT)
    return rows


def about_tool(
    tool: Tool, dialects: Sequence[Dialect], width: int, example: Call | None = None
) -> list[Row]:
    """Describe a tool: its purpose, its parameters, and an example call in each dialect.

    Without an `example`, its input is made up from the schema.
    """
    rows: list[Row] = [(("name", tool.name), ("quiet", f"  {_traits(tool)}"))]
    for line in visible(tool.spec.description).split("\n"):
        rows += wrap((*_INDENT, ("plain", line)), width, _INDENT)
    facts = [f"stopped after {tool.timeout:g} s"] if tool.timeout else []
    facts += ["a person must approve each call"] if tool.needs_approval else []
    facts += [f"a block's body is its {visible_line(tool.spec.body)}"] if tool.spec.body else []
    facts += ["it cannot run here"] if tool.function is None else []
    rows += [row for fact in facts for row in wrap((("quiet", f"  {fact}"),), width)]
    rows += _titled("Parameters") + _parameter_rows(tool, width)
    # Dialects that write it alike share an example.
    spoken: dict[str, list[str]] = {}
    for dialect in dialects:
        spoken.setdefault(_example(tool, dialect, example), []).append(dialect.name)
    for shown, names in spoken.items():
        rows += _titled("Example", ", ".join(names)) + _indented(shown)
    return rows + _titled("Schema") + _indented(_json(tool.spec.parameters))


def _titled(title: str, note: str = "") -> list[Row]:
    return [(), (("heading", title), ("quiet", f"  {note}"))]


def _example(tool: Tool, dialect: Dialect, call: Call | None) -> str:
    tools = [tool.spec]
    try:
        text = dialect.example(tools) if call is None else dialect.write([call], tools)
        return text.strip("\n")
    except CallerError as error:
        return str(error)


def _parameter_rows(tool: Tool, width: int) -> list[Row]:
    names = (
        max((columns(visible_line(name)) for name in tool.spec.properties), default=0) + _TOOL_GAP
    )
    rows: list[Row] = []
    for name, schema in tool.spec.properties.items():
        said = [_type(schema), *([] if name in tool.spec.required else [_default(schema)])]
        text = visible_line(", ".join(said))
        about = schema.get("description", "")
        hang: Row = (("plain", " " * (names + 4)),)
        shown = visible_line(name)
        head: Row = (("key", f"  {shown}{' ' * (names - columns(shown))}"), ("quiet", text))
        rows += wrap((*head, ("plain", f"  {visible_line(str(about))}")), width, hang)
    return rows or [(("quiet", "  none"),)]


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches:
        return " | ".join(_type(branch) for branch in branches)
    given = schema.get("type", "any")
    return given if isinstance(given, str) else " | ".join(given)


def _default(schema: dict[str, Any]) -> str:
    return f"default {_json(schema['default'], None)}" if "default" in schema else "optional"


def _parameters(tool: Tool) -> list[str]:
    required = tool.spec.required
    return [visible_line(name if name in required else f"{name}?") for name in tool.spec.properties]


def _traits(tool: Tool) -> str:
    return ", ".join(tool.traits.names()) or "plain"


def _first_line(tool: Tool) -> str:
    return visible_line(tool.spec.description.strip().partition("\n")[0])


def _json(value: object, indent: int | None = 2) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False)


def _indented(text: str) -> list[Row]:
    """Lines as they are, however long: what is shown can be copied and used."""
    return [(*_INDENT, ("plain", line)) for line in visible(text).split("\n")]


# --- Summary of outcomes: counts in one line, and notices beside the results ---
#
# 2 done, 1 failed, 1 refused
# ⓘ terminal_execute: .git/config: not written, because …
# ⓘ to approve: callblocks approvals approve 4f0c…; then run the text that --reply gives
# ⓘ whole results: run prints them with --json or --reply

REFUSALS = frozenset(
    {
        *("policy_off", "policy_denied", "approval_required", "approval_denied"),
        *("approval_expired", "approval_revoked", "approval_mismatch"),
    }
)
"""The codes that say that a call was not let through."""

_STATE_KINDS: dict[str, Kind] = {"done": "code", "failed": "error", "refused": "warning"}


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
    for name, kind in _STATE_KINDS.items():
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
                rows += wrap((("quiet", f"        {visible_line(line)}"),), width, _SUMMARY_HANG)
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


_SUMMARY_HANG: Row = (("plain", " " * 10),)


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
