"""From trials to a report: shares with intervals, a verdict, and what failed where.

Only trials that measured the model count in shares; the others are listed by their state. A setup
is compared with the best one over the tasks that both were measured on.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median

import msgspec

from callblocks.core.errors import CallerError
from callblocks.evals.interval import Share, difference, share
from callblocks.evals.trials import Header, Trial
from callblocks.views.report import Interval, Intervals, Part, Section, Table
from callblocks.views.rows import visible

__all__ = (
    "Report",
    "SetupReport",
    "compare_sections",
    "junit",
    "make_report",
    "read_report",
    "report_sections",
    "winner",
)

_Rows = dict[str, list[bool]]
_SHOWN = 60
"""So many failures stand on the page, a few of each setup and class."""


class SetupReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one setup gave. Tokens and times are of measured trials: means, and medians."""

    name: str
    right: Share
    valid: Share
    """Trials that wrote a call or began one, and all of whose calls could run."""
    kinds: dict[str, Share]
    states: dict[str, int]
    calls: int
    repairs: int
    foreign: int
    tokens_in: float
    tokens_out: float
    first_call: float | None
    seconds: float
    tasks: _Rows
    """Right or not, of each measured trial, by task."""


class Failed(msgspec.Struct, frozen=True):
    """A trial that was not right: why, and where it can be looked at."""

    setup: str
    task: str
    kind: str
    repeat: int
    state: str
    why: str
    timeline: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All that an evaluation found out; the setups are in order, the best one first."""

    version: int = 1
    model: str
    tasks: int
    repeats: int
    missing: int
    """Trials that were never run: the run was broken off."""
    max_tokens: int
    temperature: float | None
    prompts: dict[str, str]
    setups: tuple[SetupReport, ...]
    verdict: tuple[str, ...]
    failed: tuple[Failed, ...]


def make_report(header: Header, trials: Sequence[Trial]) -> Report:
    """Return the report of a run's trials."""
    ordered = sorted(trials, key=lambda trial: trial.key)
    setups = [_setup(one.name, header, ordered) for one in header.setups]
    setups.sort(key=lambda one: (-one.right.value, one.tokens_in + one.tokens_out, one.name))
    failed = [
        Failed(one.setup, one.task, one.kind, one.repeat, one.state, one.why, one.timeline)
        for one in ordered
        if one.state != "right"
    ]
    wanted = len(header.tasks) * len(header.setups) * header.repeats
    return Report(
        model=header.model,
        tasks=len(header.tasks),
        repeats=header.repeats,
        missing=wanted - len(trials),
        max_tokens=header.max_tokens,
        temperature=header.temperature,
        prompts=header.prompts,
        setups=tuple(setups),
        verdict=tuple(_verdict(setups)),
        failed=tuple(failed),
    )


def read_report(path: str | Path) -> Report:
    """Read a report that was written as JSON."""
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=Report)
    except (OSError, msgspec.DecodeError) as error:
        raise CallerError(f"{path}: this is no report: {error}") from error


def _setup(name: str, header: Header, trials: Iterable[Trial]) -> SetupReport:
    own = [trial for trial in trials if trial.setup == name]
    measured = [trial for trial in own if trial.is_measured]
    called = [trial for trial in measured if trial.made or trial.broken]
    kinds = dict.fromkeys(kind for _, kind in header.tasks)
    firsts = [trial.first_call for trial in measured if trial.first_call is not None]
    return SetupReport(
        name=name,
        right=share(_by_task(measured)),
        valid=share(_by_task(called, _is_valid)),
        kinds={
            kind: share(_by_task([one for one in measured if one.kind == kind])) for kind in kinds
        },
        states=dict(sorted(Counter(trial.state for trial in own).items())),
        calls=sum(len(trial.made) for trial in measured),
        repairs=sum(trial.repairs for trial in measured),
        foreign=sum(trial.foreign for trial in measured),
        tokens_in=round(fmean(trial.tokens_in for trial in measured), 1) if measured else 0.0,
        tokens_out=round(fmean(trial.tokens_out for trial in measured), 1) if measured else 0.0,
        first_call=round(median(firsts), 3) if firsts else None,
        seconds=round(median(trial.seconds for trial in measured), 3) if measured else 0.0,
        tasks=_by_task(measured),
    )


def _by_task(trials: Iterable[Trial], holds: Callable[[Trial], bool] | None = None) -> _Rows:
    rows: _Rows = {}
    for trial in trials:
        found = holds(trial) if holds is not None else trial.state == "right"
        rows.setdefault(trial.task, []).append(found)
    return rows


def _is_valid(trial: Trial) -> bool:
    return not trial.broken and all(call.valid for call in trial.made)


# --- The verdict ---


def winner(report: Report) -> SetupReport | None:
    """Return the best setup; of those not told apart from it, the one with fewest tokens."""
    measured = [one for one in report.setups if one.right.count]
    if not measured:
        return None
    near = [measured[0], *_near(measured)]
    return min(near, key=lambda one: (one.tokens_in + one.tokens_out, one.name))


def _near(setups: Sequence[SetupReport]) -> list[SetupReport]:
    """Return the setups that cannot be told apart from the first."""
    rest = [one for one in setups[1:] if one.right.count]
    return [one for one in rest if difference(setups[0].tasks, one.tasks, len(rest))[1] <= 0]


def _verdict(setups: Sequence[SetupReport]) -> list[str]:
    measured = [one for one in setups if one.right.count]
    if not measured:
        return ["Nothing was measured: no trial said anything about the model."]
    best = measured[0]
    if best.right.value < 0.1:
        words = f"No setup works: the best, {best.name}, is right in {_percent(best.right)}."
    else:
        words = f"{best.name} is right in {_percent(best.right)} of the trials."
    said, near = [words], _near(measured)
    if not any(one.calls for one in measured):
        said.append("The model made no call in any setup: what is right are tasks that need none.")
    if near:
        names = ", ".join(f"{one.name} ({_percent(one.right)})" for one in near)
        said.append(
            f"Not to be told apart from it by {len(best.tasks)} tasks: {names}. "
            "More tasks or repeats would be needed."
        )
    for one in measured[1:]:
        if one not in near:
            mean, low, high = difference(best.tasks, one.tasks, len(measured) - 1)
            said.append(
                f"{one.name} is worse, by {mean * 100:.0f} points (95 %: {low * 100:.0f} to "
                f"{high * 100:.0f})."
            )
    for one in setups:
        other = {state: n for state, n in one.states.items() if state not in ("right", "wrong")}
        if other:
            listed = ", ".join(f"{number} {state}" for state, number in other.items())
            said.append(f"{one.name}: not counted are {listed}.")
    return said


def _percent(one: Share) -> str:
    return f"{one.value:.0%} (95 %: {one.low:.0%} to {one.high:.0%})"


# --- Sections, for a terminal and for a page ---


def report_sections(report: Report, command: str = "") -> list[Section]:
    """Return the report as sections; `command` opens the timelines of trials."""
    sections = [
        Section("Verdict", list(report.verdict)),
        Section("Setups", [_shares("right answers by setup", report.setups), _table(report)]),
        Section("Classes", [_classes(report)]),
    ]
    sections += [Section(f"Classes: {one.name}", [_kinds_plot(one)]) for one in report.setups[:2]]
    if report.missing:
        sections.insert(0, Section("Unfinished", [f"{report.missing} trials were not run."]))
    if report.failed:
        parts: list[Part] = [_failed(report.failed)]
        if command:
            parts.append(f"A timeline is opened with: {command}")
        sections.append(Section("What was not right", parts))
    sections.append(Section("How it was asked", _conditions(report)))
    return sections


def _shares(about: str, setups: Sequence[SetupReport]) -> Intervals:
    return Intervals(about, [_row(one.name, one.right) for one in setups])


def _kinds_plot(one: SetupReport) -> Intervals:
    return Intervals(
        f"right answers of {one.name} by class", [_row(*item) for item in one.kinds.items()]
    )


def _row(label: str, one: Share) -> Interval:
    note = f"{one.value:.0%} of {one.count}" if one.count else "not measured"
    return Interval(label, one.low, one.value, one.high, note)


def _table(report: Report) -> Table:
    head = ["setup", "right", "95 %", "valid", "repairs", "tokens", "first call", "total"]
    head += ["not counted"]
    rows = [
        [
            one.name,
            f"{one.right.value:.0%}",
            f"{one.right.low:.0%}-{one.right.high:.0%}",
            f"{one.valid.value:.0%}" if one.valid.count else "-",
            f"{one.repairs}",
            f"{one.tokens_in:.0f} + {one.tokens_out:.0f}",
            "-" if one.first_call is None else f"{one.first_call:.2f} s",
            f"{one.seconds:.2f} s",
            f"{sum(n for state, n in one.states.items() if state not in ('right', 'wrong'))}",
        ]
        for one in report.setups
    ]
    return Table(head, rows)


def _classes(report: Report) -> Table:
    kinds = list(report.setups[0].kinds) if report.setups else []
    rows = [
        [
            kind,
            *(
                f"{one.kinds[kind].value:.0%}" if one.kinds[kind].count else "-"
                for one in report.setups
            ),
        ]
        for kind in kinds
    ]
    return Table(["class", *(one.name for one in report.setups)], rows)


def _failed(failed: Sequence[Failed]) -> Table:
    shown: list[Failed] = []
    seen: Counter[tuple[str, str]] = Counter()
    for one in failed:
        seen[one.setup, one.kind] += 1
        if seen[one.setup, one.kind] <= 2 and len(shown) < _SHOWN:
            shown.append(one)
    rows = [[one.task, one.setup, one.state, one.why, one.timeline] for one in shown]
    if len(shown) < len(failed):
        rows.append([f"{len(failed) - len(shown)} more are in the JSON", "", "", "", ""])
    return Table(["task", "setup", "state", "why", "timeline"], rows)


def _conditions(report: Report) -> list[Part]:
    heat = "the model's own" if report.temperature is None else f"{report.temperature}"
    return [
        f"Model: {report.model}. {report.tasks} tasks, {report.repeats} times each. "
        f"At most {report.max_tokens} tokens a reply, temperature: {heat}. The seed of a trial "
        "follows from its task and its number, so that all setups have the same."
    ]


def compare_sections(one: Report, other: Report, names: tuple[str, str]) -> list[Section]:
    """Return how two reports differ, setup by setup, over the tasks that both measured."""
    known = {setup.name: setup for setup in other.setups}
    both = [(setup, known[setup.name]) for setup in one.setups if setup.name in known]
    if not both:
        return [Section("Nothing to compare", ["The reports have no setup in common."])]
    rows: list[list[str]] = []
    words: list[Part] = []
    for left, right in both:
        mean, low, high = difference(right.tasks, left.tasks, len(both))
        sure = "better" if low > 0 else "worse" if high < 0 else "not to be told apart"
        rows.append(
            [
                left.name,
                f"{left.right.value:.0%}",
                f"{right.right.value:.0%}",
                f"{mean:+.0%} ({low:+.0%} to {high:+.0%})",
                sure,
            ]
        )
        changed = _changed(left.tasks, right.tasks)
        if changed:
            words.append(f"{left.name}: {changed}")
    head = ["setup", names[0], names[1], "difference", "verdict"]
    return [Section("Comparison", [Table(head, rows), *words])]


def _changed(left: Mapping[str, Sequence[bool]], right: Mapping[str, Sequence[bool]]) -> str:
    common = [name for name in left if left[name] and right.get(name)]
    lost = [name for name in common if all(left[name]) and not any(right[name])]
    won = [name for name in common if all(right[name]) and not any(left[name])]
    said = [("no longer right", lost), ("right now", won)]
    return "; ".join(f"{what}: {', '.join(names)}" for what, names in said if names)


# --- JUnit, for the programs that show test results ---


def junit(header: Header, trials: Sequence[Trial]) -> bytes:
    """Return the trials as JUnit XML: a suite for each setup, a case for each trial."""
    top = ET.Element("testsuites", name=_xml(f"callblocks eval {header.model}"))
    for setup in header.setups:
        own = [trial for trial in trials if trial.setup == setup.name]
        counts = {
            "tests": len(own),
            "failures": sum(trial.state == "wrong" for trial in own),
            "errors": sum(trial.state in ("endless", "endpoint", "fault") for trial in own),
            "skipped": sum(trial.state == "unsayable" for trial in own),
        }
        texts = {name: str(number) for name, number in counts.items()}
        suite = ET.SubElement(top, "testsuite", {"name": _xml(setup.name), **texts})
        for trial in own:
            _case(suite, trial)
    ET.indent(top)
    return ET.tostring(top, encoding="utf-8", xml_declaration=True) + b"\n"


def _case(suite: ET.Element, trial: Trial) -> None:
    name = trial.task if not trial.repeat else f"{trial.task} #{trial.repeat + 1}"
    case = ET.SubElement(
        suite,
        "testcase",
        name=_xml(name),
        classname=_xml(f"{trial.setup}.{trial.kind}"),
        time=f"{trial.seconds:.3f}",
    )
    if trial.state != "right":
        tag = {"wrong": "failure", "unsayable": "skipped"}.get(trial.state, "error")
        ET.SubElement(case, tag, message=_xml(f"{trial.state}: {trial.why}"))


def _xml(text: str) -> str:
    """Return a text without the characters that no XML can hold."""
    return "".join(
        one if one.isprintable() else "\ufffd" for one in visible(text).replace("\n", " ")
    )
