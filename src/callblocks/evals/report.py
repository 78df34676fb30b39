"""From trials to a report: shares with intervals, a verdict, and what failed where.

Only trials that measured the model count in shares; the others are listed by their state. A setup
is compared with the best one over the tasks that both were measured on. The best one has the
largest share of right answers among those of which at least half of the trials were measured:
a setup that was hardly measured says little, and stands behind the others.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist, fmean, stdev
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from callblocks.core.errors import CallerError
from callblocks.evals.trials import GRAMMAR, SILENT, RunHeader, Trial
from callblocks.views.report_sections import (
    Cell,
    Folded,
    Interval,
    Intervals,
    Link,
    Part,
    Section,
    Table,
    Verbatim,
)
from callblocks.views.rows import visible

__all__ = (
    "FAILED",
    "Amount",
    "Measures",
    "Report",
    "SetupReport",
    "Share",
    "amount",
    "compare_sections",
    "difference",
    "junit",
    "make_report",
    "read_report",
    "report_sections",
    "share",
    "times",
    "told_apart",
    "wilson",
    "winner",
)

_Rows = dict[str, list[bool]]
_Value = TypeVar("_Value", bool, int, float)
FAILED = "What was not right"
"""The section that a terminal leaves out."""
_SHOWN = 60
"""So many failures stand on the page, a few of each setup and class."""
_VERSION = 2
_WIDE = 4
"""So many setups stand beside each other."""
_ERRORS = ("endless", "context", "endpoint", "fault")
"""The states that JUnit calls errors."""
_STATES = {
    "endless": "without an end",
    "context": "too long for the model's context",
    "unsayable": "that the setup cannot ask",
    "endpoint": "without an answer of the server",
    "fault": "with a check that failed",
}


class Measures(msgspec.Struct, frozen=True, kw_only=True):
    """What measured trials gave. Times are in seconds, `first_call` up to the first call's end."""

    right: Share
    valid: Share
    """Trials that wrote a call or began one, and all of whose calls could run."""
    calls: int
    repairs: int
    foreign: int
    """Calls in another dialect than that of the setup."""
    silent: int
    """Trials in which the model said nothing at all."""
    tokens_in: Amount
    tokens_out: Amount
    first_call: Amount
    seconds: Amount

    @property
    def cost(self) -> float:
        """Return the tokens of a trial."""
        return (self.tokens_in.value or 0.0) + (self.tokens_out.value or 0.0)


class SetupReport(Measures, frozen=True, kw_only=True):
    """What one setup gave, in all and by class."""

    name: str
    kinds: dict[str, Measures]
    states: dict[str, int]
    tasks: _Rows
    """Right or not, of each measured trial, by task."""

    @property
    def is_measured(self) -> bool:
        """Return whether at least half of the trials say something about the model."""
        return 0 < self.right.count >= sum(self.states.values()) / 2


class Failed(msgspec.Struct, frozen=True):
    """A trial that was not right: why, and where it can be looked at."""

    setup: str
    task: str
    kind: str
    repeat: int
    state: str
    why: str
    timeline: str
    block: int = 0


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All that an evaluation found out; the setups are in order, the best one first."""

    version: int = _VERSION
    model: str
    tasks: int
    kinds: dict[str, int]
    """How many tasks each class has."""
    repeats: int
    missing: int
    """Trials that were never run: the run was broken off."""
    max_tokens: int
    temperature: float | None
    prompts: dict[str, str]
    setups: tuple[SetupReport, ...]
    verdict: tuple[str, ...]
    failed: tuple[Failed, ...]


def make_report(header: RunHeader, trials: Sequence[Trial]) -> Report:
    """Return the report of a run's trials."""
    ordered = sorted(trials, key=lambda trial: trial.key)
    setups = [_setup(one.name, header, ordered) for one in header.setups]
    setups.sort(key=lambda one: (not one.is_measured, -one.right.value, one.cost, one.name))
    failed = [
        Failed(
            *(one.setup, one.task, one.kind, one.repeat, one.state, one.why),
            *(one.timeline, one.block),
        )
        for one in ordered
        if one.state != "right"
    ]
    wanted = len(header.tasks) * len(header.setups) * header.repeats
    return Report(
        model=header.model,
        tasks=len(header.tasks),
        kinds=dict(Counter(kind for _, kind in header.tasks)),
        repeats=header.repeats,
        missing=wanted - len(trials),
        max_tokens=header.max_tokens,
        temperature=header.temperature,
        prompts=header.prompts,
        setups=tuple(setups),
        verdict=tuple(_verdict(setups, _reasons(ordered))),
        failed=tuple(failed),
    )


class _ReportVersion(msgspec.Struct):
    version: int
    setups: tuple[dict[str, Any], ...]


def read_report(path: str | Path) -> Report:
    """Read a report that was written as JSON."""
    try:
        content = Path(path).read_bytes()
        found = msgspec.json.decode(content, type=_ReportVersion).version
        if found != _VERSION:
            raise CallerError(
                f"{path}: the report is of another version of callblocks ({found}, and not "
                f"{_VERSION}); run the evaluation again: it makes it anew from its trials"
            )
        return msgspec.json.decode(content, type=Report)
    except (OSError, msgspec.DecodeError) as error:
        raise CallerError(f"{path}: this is no report: {error}") from error


def _setup(name: str, header: RunHeader, trials: Iterable[Trial]) -> SetupReport:
    own = [trial for trial in trials if trial.setup == name]
    measured = [trial for trial in own if trial.is_measured]
    kinds = dict.fromkeys(kind for _, kind in header.tasks)
    return SetupReport(
        **_measures(measured),
        name=name,
        kinds={
            kind: Measures(**_measures([one for one in measured if one.kind == kind]))
            for kind in kinds
        },
        states=dict(sorted(Counter(trial.state for trial in own).items())),
        tasks=_by_task(measured, _is_right),
    )


def _measures(trials: Sequence[Trial]) -> dict[str, Any]:
    called = [trial for trial in trials if trial.made or trial.broken]
    first = [trial for trial in trials if trial.first_call is not None]
    return {
        "right": share(_by_task(trials, _is_right)),
        "valid": share(_by_task(called, _is_valid)),
        "calls": sum(len(trial.made) for trial in trials),
        "repairs": sum(trial.repairs for trial in trials),
        "foreign": sum(trial.foreign for trial in trials),
        "silent": sum(trial.why == SILENT for trial in trials),
        "tokens_in": amount(_by_task(trials, lambda trial: trial.tokens_in)),
        "tokens_out": amount(_by_task(trials, lambda trial: trial.tokens_out)),
        "first_call": amount(_by_task(first, lambda trial: trial.first_call or 0.0)),
        "seconds": amount(_by_task(trials, lambda trial: trial.seconds)),
    }


def _by_task(trials: Iterable[Trial], value: Callable[[Trial], _Value]) -> dict[str, list[_Value]]:
    rows: dict[str, list[_Value]] = {}
    for trial in trials:
        rows.setdefault(trial.task, []).append(value(trial))
    return rows


def _is_right(trial: Trial) -> bool:
    return trial.state == "right"


def _is_valid(trial: Trial) -> bool:
    return not trial.broken and all(call.valid for call in trial.made)


# --- The verdict ---


def winner(report: Report) -> SetupReport | None:
    """Return the best setup. Of those that are not told apart from it, the one that can ask most
    of the tasks, and then the one with the fewest tokens.
    """
    known = _ranked(report.setups)
    if not known:
        return None
    near = [known[0], *_near(known)]
    return min(near, key=lambda one: (one.states.get("unsayable", 0), one.cost, one.name))


def _ranked(setups: Sequence[SetupReport]) -> list[SetupReport]:
    """Return the setups that were measured; those that hardly were, where no other was."""
    return [one for one in setups if one.is_measured] or [one for one in setups if one.right.count]


def _near(known: Sequence[SetupReport]) -> list[SetupReport]:
    """Return the setups that cannot be told apart from the first."""
    rest = known[1:]
    return [one for one in rest if difference(known[0].tasks, one.tasks, len(rest))[1] <= 0]


def _reasons(trials: Iterable[Trial]) -> dict[str, str]:
    """Return the commonest reason why trials were `unsayable`, by setup."""
    found: dict[str, Counter[str]] = {}
    for trial in trials:
        if trial.state == "unsayable":
            found.setdefault(trial.setup, Counter())[trial.why] += 1
    return {name: reasons.most_common(1)[0][0] for name, reasons in found.items()}


def _verdict(setups: Sequence[SetupReport], reasons: Mapping[str, str]) -> list[str]:
    known = _ranked(setups)
    if not known:
        said = ["Nothing was measured: no trial said anything about the model."]
        return said + _uncounted(setups, reasons)
    best = known[0]
    if best.right.value < 0.1:
        words = f"No setup works: the best, {best.name}, is right in {_percent(best.right)}."
    else:
        words = f"{best.name} is right in {_percent(best.right)} of the trials."
    said, near = [words], _near(known)
    if not any(one.calls for one in known):
        said.append("The model made no call in any setup: what is right are tasks that need none.")
    if near:
        names = ", ".join(f"{one.name} ({_percent(one.right)})" for one in near)
        said.append(
            f"Not to be told apart from it by {len(best.tasks)} tasks: {names}. "
            "More tasks or repeats would be needed."
        )
    for one in known[1:]:
        if one not in near:
            mean, low, high = difference(best.tasks, one.tasks, len(known) - 1)
            said.append(
                f"{one.name} is worse, by {mean * 100:.0f} points (95 %: {low * 100:.0f} to "
                f"{high * 100:.0f})."
            )
    return said + _uncounted(setups, reasons)


def _uncounted(setups: Sequence[SetupReport], reasons: Mapping[str, str]) -> list[str]:
    """Return what else is to be known, once for all setups of which it holds."""
    said: dict[str, list[str]] = {}
    for one in setups:
        for words in _remarks(one, reasons.get(one.name, "")):
            said.setdefault(words, []).append(one.name)
    return [f"{', '.join(names)}: {words}." for words, names in said.items()]


def _remarks(one: SetupReport, reason: str) -> Iterator[str]:
    found = [state for state in _STATES if state in one.states]
    if found:
        parts = ", ".join(f"{one.states[state]} {_STATES[state]}" for state in found)
        hardly = "" if one.is_measured else "; that is too few to say anything"
        why = f" ({reason})" if reason else ""
        yield f"not counted are {parts}, of {sum(one.states.values())} trials{why}{hardly}"
    if one.silent:
        yield f"the model said nothing in {one.silent} trials (wrong)"
    if one.foreign:
        held = ", in prose, which its grammar allows" if one.name.endswith(GRAMMAR) else ""
        yield f"{one.foreign} of {one.calls} calls were in another dialect{held}"


def _percent(one: Share) -> str:
    return f"{one.value:.0%} (95 %: {one.low:.0%} to {one.high:.0%})"


# --- Sections, for a terminal and for a page ---


def report_sections(report: Report, serve: str = "", address: str = "") -> list[Section]:
    """Return the report as sections.

    `serve` is the command that serves the timelines, and `address` where they then are.
    """
    sections = [
        Section("Verdict", list(report.verdict)),
        Section("Setups", [_shares(report.setups), _table(report), _costs(report.setups)]),
        Section("Classes", [*_classes(report), *map(_class_details, report.setups)]),
    ]
    if report.missing:
        sections.insert(0, Section("Unfinished", [f"{report.missing} trials were not run."]))
    if report.failed:
        parts: list[Part] = [_failed(report.failed, address)]
        if serve:
            words = f"The timelines are served by: {serve}"
            parts.insert(
                0, f"{words}. The links then lead to the failing call." if address else words
            )
        sections.append(Section(FAILED, parts))
    sections.append(Section("How it was asked", _conditions(report)))
    return sections


def _shares(setups: Sequence[SetupReport]) -> Intervals:
    return Intervals("right answers by setup", [_row(one.name, one.right) for one in setups])


def _row(label: str, one: Share) -> Interval:
    note = f"{one.value:.0%} of {one.count}" if one.count else "not measured"
    return Interval(label, one.low, one.value, one.high, note)


def _table(report: Report) -> Table:
    head = ["setup", "right", "valid calls", "calls", "repairs", "not counted"]
    rows = [
        [
            one.name,
            _short(one.right),
            _short(one.valid),
            f"{one.calls}",
            f"{one.repairs}",
            f"{sum(one.states.values()) - one.right.count}",
        ]
        for one in report.setups
    ]
    return Table(head, rows)


def _short(one: Share) -> str:
    return f"{one.value:.0%} ({one.low:.0%} to {one.high:.0%})" if one.count else "-"


def _mean(one: Amount, form: str) -> str:
    if one.value is None:
        return "-"
    if one.low is None or one.high is None:
        return f"{one.value:{form}}"
    return f"{one.value:{form}} ({one.low:{form}} to {one.high:{form}})"


_COSTS = ("tokens in", "tokens out", "first call, s", "total, s")


def _cost_cells(one: Measures) -> list[str]:
    return [
        _mean(one.tokens_in, ".0f"),
        _mean(one.tokens_out, ".0f"),
        _mean(one.first_call, ".2f"),
        _mean(one.seconds, ".2f"),
    ]


def _costs(setups: Sequence[SetupReport]) -> Table:
    return Table(["a trial costs", *_COSTS], [[one.name, *_cost_cells(one)] for one in setups])


def _classes(report: Report) -> list[Table]:
    """Return the shares by class and setup; a terminal has room for a few setups in a table."""
    parts = [report.setups[at : at + _WIDE] for at in range(0, len(report.setups), _WIDE)]
    return [_class_table(report, part) for part in parts]


def _class_table(report: Report, setups: Sequence[SetupReport]) -> Table:
    rows = [
        [kind, f"{count}", *(_whole(one.kinds[kind].right) for one in setups)]
        for kind, count in report.kinds.items()
    ]
    return Table(["class", "tasks", *(one.name for one in setups)], rows)


def _whole(one: Share) -> str:
    return f"{one.value:.0%}" if one.count else "-"


def _class_details(one: SetupReport) -> Folded:
    plot = Intervals(
        f"right answers of {one.name} by class",
        [_row(kind, measures.right) for kind, measures in one.kinds.items()],
    )
    rows = [
        [kind, _short(known.right), _short(known.valid), f"{known.repairs}", *_cost_cells(known)]
        for kind, known in one.kinds.items()
    ]
    head = ["class", "right", "valid calls", "repairs", *_COSTS]
    return Folded(f"{one.name}, by class", [plot, Table(head, rows)])


def _failed(failed: Sequence[Failed], address: str) -> Table:
    shown: list[Failed] = []
    seen: Counter[tuple[str, str]] = Counter()
    for one in failed:
        seen[one.setup, one.kind] += 1
        if seen[one.setup, one.kind] <= 2 and len(shown) < _SHOWN:
            shown.append(one)
    rows: list[list[Cell]] = [
        [one.task, one.setup, one.state, one.why, _link(one, address)] for one in shown
    ]
    if len(shown) < len(failed):
        rows.append([f"{len(failed) - len(shown)} more are in the JSON", "", "", "", ""])
    return Table(["task", "setup", "state", "why", "timeline"], rows, words=(1, 2, 3, 4))


def _link(one: Failed, address: str) -> Cell:
    if not address or not one.timeline:
        return one.timeline
    place = f"name={quote(one.timeline)}&block={one.block}"
    return Link(one.timeline, f"{address}/timeline?{place}")


def _conditions(report: Report) -> list[Part]:
    heat = "the model's own" if report.temperature is None else f"{report.temperature}"
    kinds = ", ".join(f"{kind} {count}" for kind, count in report.kinds.items())
    return [
        f"Model: {report.model}. {report.tasks} tasks, {times(report.repeats)} each. "
        f"At most {report.max_tokens} tokens a reply, temperature: {heat}. The seed of a trial "
        "follows from its task and its number, so that all setups have the same.",
        f"Tasks by class: {kinds}.",
        *(
            Folded(f"The prompt of {name}, for the first task", [Verbatim(text)])
            for name, text in report.prompts.items()
            if text
        ),
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
    head = ["setup", *names, "difference", "verdict"]
    common = "Differences are over the tasks that both have"
    about = f"{names[0]}: {_sample(one)}. {names[1]}: {_sample(other)}. {common}."
    return [Section("Comparison", [about, Table(head, rows, words=(4,)), *words])]


def _sample(one: Report) -> str:
    return f"{one.model}, {one.tasks} tasks, {times(one.repeats)} each"


def times(repeats: int) -> str:
    """Return how often something was done, in words."""
    return "once" if repeats == 1 else f"{repeats} times"


def _changed(left: Mapping[str, Sequence[bool]], right: Mapping[str, Sequence[bool]]) -> str:
    common = [name for name in left if left[name] and right.get(name)]
    lost = [name for name in common if all(left[name]) and not any(right[name])]
    won = [name for name in common if all(right[name]) and not any(left[name])]
    said = [("no longer right", lost), ("right now", won)]
    return "; ".join(f"{what}: {', '.join(names)}" for what, names in said if names)


# --- JUnit, for the programs that show test results ---


def junit(header: RunHeader, trials: Sequence[Trial]) -> bytes:
    """Return the trials as JUnit XML: a suite for each setup, a case for each trial."""
    top = ET.Element("testsuites", name=_xml(f"callblocks eval {header.model}"))
    for setup in header.setups:
        own = [trial for trial in trials if trial.setup == setup.name]
        counts = {
            "tests": len(own),
            "failures": sum(trial.state == "wrong" for trial in own),
            "errors": sum(trial.state in _ERRORS for trial in own),
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


# --- Confidence intervals of shares, and whether two shares can be told apart ---
#
# A share is that of all trials; its interval counts tasks. Repeats of a task are not independent: a
# model that fails a task once fails it again more often than another. So the interval is Wilson's,
# with the number of trials divided by the design effect: how much more the shares of tasks vary
# than coins of that probability would. With one repeat for each task that is Wilson's as it is.
#
# Two setups ran the same tasks, so their difference is taken task by task: what makes a task hard
# for both falls out. They are told apart where the interval of the mean difference leaves out zero.
# With several setups each is compared with the best, and the intervals are wider (Bonferroni).

LEVEL = 0.95


class Share(msgspec.Struct, frozen=True):
    """A share of trials with its 95 % interval; `count` is the number of trials."""

    value: float
    low: float
    high: float
    count: int


class Amount(msgspec.Struct, frozen=True):
    """A mean over tasks with its 95 % interval; one value has no interval, and none no mean."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    count: int = 0


def wilson(right: float, count: float, level: float = LEVEL) -> tuple[float, float]:
    """Return Wilson's interval of a share; everything is possible where nothing was tried."""
    if count <= 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + level) / 2)
    p = right / count
    middle = (p + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(p * (1 - p) / count + z * z / (4 * count * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def share(trials: Mapping[str, Sequence[bool]]) -> Share:
    """Return the share of right trials; they are given by task."""
    known = {name: row for name, row in trials.items() if row}
    count = sum(map(len, known.values()))
    if not count:
        return Share(0.0, 0.0, 1.0, 0)
    right = sum(sum(row) for row in known.values())
    value, effect = right / count, _design_effect(list(known.values()))
    low, high = wilson(right / effect, count / effect)
    return Share(value, low, high, count)


def _design_effect(rows: Sequence[Sequence[bool]]) -> float:
    """Return how much more the mean varies than that of independent trials; at least 1.

    Where all trials are alike nothing can be estimated, so that tasks count, and not trials. With
    one trial for each task there is nothing to compare: 1.
    """
    tasks, count = len(rows), sum(map(len, rows))
    p = sum(map(sum, rows)) / count
    if tasks < 2 or count == tasks or p in (0.0, 1.0):
        return count / tasks if p in (0.0, 1.0) else 1.0
    # The variance of the mean between tasks, against that of a coin.
    residuals = sum((sum(row) - p * len(row)) ** 2 for row in rows)
    between = residuals * tasks / (tasks - 1) / count**2
    return max(1.0, between / (p * (1 - p) / count))


def amount(values: Mapping[str, Sequence[float]]) -> Amount:
    """Return the mean over tasks of values that are given by task, with Student's interval."""
    means = [fmean(row) for row in values.values() if row]
    count = sum(map(len, values.values()))
    if not means:
        return Amount()
    mean = fmean(means)
    if len(means) == 1:
        return Amount(round(mean, 4), count=count)
    half = _student(len(means) - 1) * stdev(means) / math.sqrt(len(means))
    # Nothing that is measured here is less than zero.
    low, high = max(0.0, mean - half), mean + half
    return Amount(round(mean, 4), round(low, 4), round(high, 4), count)


def _student(freedom: int) -> float:
    """Return the two-sided quantile of Student's distribution: exact for 1 and 2 degrees, and
    from 3 on by the expansion of Cornish and Fisher, which is less than 3 % off.
    """
    if freedom == 1:
        return math.tan(math.pi * LEVEL / 2)
    if freedom == 2:
        return LEVEL * math.sqrt(2 / (1 - LEVEL**2))
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    terms = (
        (z**3 + z) / (4 * freedom),
        (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2),
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3),
    )
    return z + sum(terms)


def difference(
    one: Mapping[str, Sequence[bool]],
    other: Mapping[str, Sequence[bool]],
    comparisons: int = 1,
) -> tuple[float, float, float]:
    """Return the mean difference of two setups over their common tasks, with its interval."""
    names = [name for name in one if one[name] and other.get(name)]
    gaps = [fmean(one[name]) - fmean(other[name]) for name in names]
    if len(gaps) < 2:
        return (gaps[0] if gaps else 0.0), -1.0, 1.0
    mean = fmean(gaps)
    variance = sum((gap - mean) ** 2 for gap in gaps) / (len(gaps) - 1)
    # Where no task differs the sample has no variance: at least as wide as if one task more did.
    least = 1 / len(gaps) ** 2
    z = NormalDist().inv_cdf(1 - (1 - LEVEL) / 2 / comparisons)
    half = z * math.sqrt(max(variance / len(gaps), least / len(gaps)))
    return mean, mean - half, mean + half


def told_apart(
    one: Mapping[str, Sequence[bool]],
    other: Mapping[str, Sequence[bool]],
    comparisons: int = 1,
) -> bool:
    """Return whether the first is better than the other by more than chance."""
    return difference(one, other, comparisons)[1] > 0
