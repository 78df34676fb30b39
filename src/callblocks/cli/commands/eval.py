"""`callblocks eval`: how well a model calls tools, in which dialect; and tasks of one's own."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from callblocks.cli.exits import EXIT_CODES, PROBLEMS, Fault, say
from callblocks.cli.options.chat_options import MODEL_SPEC
from callblocks.cli.options.read_options import MODEL_DIALECT
from callblocks.cli.options.state_folder import existing, open_timelines, store_option
from callblocks.cli.options.tool_setup import Tools, every_tool, open_workspace, tools_option
from callblocks.cli.terminal.paint import Paper
from callblocks.core.extras import require

if TYPE_CHECKING:
    from callblocks.evals.report import Report, SetupReport
    from callblocks.evals.task import Check, Task
    from callblocks.evals.trials import Setup, Trial
    from callblocks.models.model import Model
    from callblocks.views.report_sections import Section

__all__ = ("command",)

_SERVED = "http://127.0.0.1:8765"
"""Where `callblocks serve` listens, unless it is told otherwise."""
_PLAIN = ("hermes", "generic_json", "tool-fence", "emoji-bracket", "pythonic")
"""What every model can be taught, beside the dialect of its family."""


@click.group(
    "eval",
    short_help="Measure how well a model calls tools, in each dialect.",
    invoke_without_command=True,
    epilog=EXIT_CODES,
)
@click.option("-m", "--model", "spec", type=MODEL_SPEC, help="The model; as for `chat`.")
@click.option(
    "--tasks",
    multiple=True,
    type=click.Path(exists=True),
    metavar="PATH",
    help="Tasks of your own, in TOML or Markdown: a file or a folder; may be given again."
    "  [default: those that come with callblocks]",
)
@click.option(
    "--bfcl", multiple=True, type=click.Path(exists=True), metavar="PATH", help="Tasks of BFCL."
)
@click.option(
    "--inspect",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="A dataset of inspect_ai, as JSON or CSV.",
)
@click.option(
    "--checks",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="A Python file with the functions that `check` of tasks names.",
)
@click.option("--class", "kinds", multiple=True, metavar="NAME", help="Only tasks of this class.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="So many tasks of each class.")
@click.option(
    "--dialect",
    "-d",
    multiple=True,
    type=MODEL_DIALECT,
    help="Try this dialect; may be given again.  [default: the family's, and the plain ones]",
)
@click.option(
    "--setup",
    "named",
    multiple=True,
    metavar="NAME",
    help="Try exactly this setup, by its name in reports: hermes, 'hermes + grammar', native; may"
    " be given again.",
)
@click.option(
    "--grammar",
    type=click.Choice(("no", "yes", "both")),
    help="Hold the model to the dialect's grammar.  [default: both, where the model can be]",
)
@click.option(
    "--native/--no-native",
    default=None,
    help="Try native calls.  [default: yes for a model behind an address]",
)
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True, metavar="N")
@click.option(
    "--jobs", "-j", type=click.IntRange(1), default=4, show_default=True, help="Trials at once."
)
@click.option("--max-tokens", type=click.IntRange(1), default=1024, show_default=True, metavar="N")
@click.option("--temperature", type=click.FloatRange(0), metavar="NUMBER")
@click.option(
    "--seconds",
    type=click.FloatRange(1),
    default=180.0,
    show_default=True,
    help="The most that a trial may take.",
)
@click.option(
    "--out", type=click.Path(file_okay=False), help="The folder for reports.  [default: eval-MODEL]"
)
@click.option("--fresh", is_flag=True, help="Forget what an earlier run left there.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--junit", type=click.Path(dir_okay=False), metavar="FILE", help="Write JUnit XML.")
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Exit with 1 unless the best setup is right in so many trials.",
)
@click.option("--write", is_flag=True, help="Put the best setup into the config file.")
@click.option(
    "--compare",
    nargs=2,
    type=click.Path(exists=True, dir_okay=False),
    metavar="A B",
    help="Compare two reports; nothing is run.",
)
@click.pass_context
def command(ctx: click.Context, compare: tuple[str, str] | None, **options: Any) -> None:
    """Measure how well a model calls tools: in which dialect, with a grammar or without, natively.

    Each task is run in each setup, on a timeline of its own. The folder --out gets report.json,
    report.html and the trials; run the command again after a crash, and it goes on.
    """
    if ctx.invoked_subcommand is not None:
        return
    require("eval", ctx.command_path)
    if compare:
        _compare(compare)
        return
    if options["spec"] is None:
        raise click.UsageError("name a model with -m, or two reports with --compare")
    tasks = _tasks(options)
    asyncio.run(_evaluate(tasks, options))


@command.command("new", short_help="Make tasks from the calls of a timeline.")
@click.argument("name")
@store_option
@tools_option("The tools that were called.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="A file.  [default: print]")
def new(name: str, store: str | None, tools: Tools, output: str | None) -> None:
    """Make a file of tasks from a timeline: what a person asked, and the calls that worked.

    A call that failed and was corrected stands with its last try alone. Read the file before it is
    a test: whether another answer would be right too, only you know.
    """
    from callblocks.evals.formats import tasks_of_timeline, write_tasks

    with open_timelines(store) as timelines, open_workspace(".") as root:
        existing(timelines, name)
        known = {tool.name: tool.spec for tool in every_tool(tools, root).tools}
        entries = list(timelines.entries(name))
        called = {entry.block.tool_id for entry in entries}
        used = {tool: spec for tool, spec in known.items() if tool in called}
        made = tasks_of_timeline(name, entries, used)
    if not made:
        raise Fault(f"{name}: no turn of it has calls of known tools; name them with -T")
    text = write_tasks(made)
    if output is None:
        click.echo(text, nl=False)
    else:
        Path(output).write_text(text, "utf-8")
        say(f"{output}: {len(made)} tasks")


def _tasks(options: Mapping[str, Any]) -> list[Task]:
    from callblocks.evals.formats import read_bfcl, read_inspect
    from callblocks.evals.task import builtin_tasks, distinct, read_tasks

    found = [task for path in options["tasks"] for task in read_tasks(path)]
    others = [read_bfcl(path) for path in options["bfcl"]]
    others += [read_inspect(path) for path in options["inspect"]]
    for read in others:
        found += read.tasks
        for why, count in read.left_out.items():
            say(f"{count} tasks are left out: {why}")
    found, notes = distinct(found or builtin_tasks())
    for note in notes:
        say(note)
    kinds: dict[str, int] = {}
    chosen: list[Task] = []
    for task in found:
        kinds[task.kind] = kinds.get(task.kind, 0) + 1
        wanted = not options["kinds"] or task.kind in options["kinds"]
        if wanted and kinds[task.kind] <= (options["limit"] or len(found)):
            chosen.append(task)
    if not chosen:
        raise Fault(f"no task has the class {', '.join(options['kinds'])}: {', '.join(kinds)}")
    return chosen


async def _evaluate(tasks: list[Task], options: Mapping[str, Any]) -> None:
    from callblocks.evals.report import make_report, winner
    from callblocks.evals.runner import Conditions, Evaluation
    from callblocks.evals.trials import read_trials

    opener = _Opener(options["spec"])
    setups = await _setups(opener, options)
    folder = Path(options["out"] or f"eval-{_slug(options['spec'])}")
    evaluation = Evaluation(
        tasks,
        setups,
        opener,
        folder,
        Conditions(
            repeats=options["repeats"],
            jobs=options["jobs"],
            max_tokens=options["max_tokens"],
            seconds=options["seconds"],
            temperature=options["temperature"],
        ),
        checks=_checks(options["checks"]),
    )
    with _Live(evaluation.total, [setup.name for setup in setups]) as live:
        trials = await evaluation.run(live.tell, live.restore, fresh=options["fresh"])
    header, _ = read_trials(folder / "trials.jsonl")
    report = make_report(header, trials)
    sections = _leave(folder, report)
    if options["junit"]:
        from callblocks.evals.report import junit

        Path(options["junit"]).write_bytes(junit(header, trials))
    _show(report, sections, as_json=options["as_json"])
    if options["write"]:
        _write_config(opener, winner(report), setups)
    _gate(report, options["fail_under"])


def _gate(report: Report, fail_under: float | None) -> None:
    """Exit with 1 where nothing was measured, the run is unfinished, or it is under the limit."""
    best = report.setups[0] if report.setups else None
    if report.missing:
        say(f"{report.missing} trials were not run: the server does not answer; run it again")
        raise click.exceptions.Exit(PROBLEMS)
    if best is None or not best.right.count:
        raise click.exceptions.Exit(PROBLEMS)
    if fail_under is not None and not best.is_measured:
        count = sum(best.states.values())
        say(f"{best.name}: {best.right.count} of {count} trials were measured, which says little")
        raise click.exceptions.Exit(PROBLEMS)
    if fail_under is not None and best.right.value * 100 < fail_under:
        say(f"{best.name} is right in {best.right.value:.1%}, which is under {fail_under:g} %")
        raise click.exceptions.Exit(PROBLEMS)


def _leave(folder: Path, report: Report) -> list[Section]:
    """Write the report as JSON and as a page, and return its sections."""
    import shlex

    import msgspec

    from callblocks.evals.report import report_sections, times
    from callblocks.views.report_sections import report_page

    content = msgspec.json.format(msgspec.json.encode(report), indent=1)
    (folder / "report.json").write_bytes(content + b"\n")
    serve = f"CALLBLOCKS_HOME={shlex.quote(str((folder / 'state').absolute()))} callblocks serve"
    sections = report_sections(report, serve, _SERVED)
    about = f"{report.tasks} tasks, {len(report.setups)} setups, {times(report.repeats)} each"
    page = report_page(f"How {report.model} calls tools", about, sections)
    (folder / "report.html").write_text(page, "utf-8")
    say(f"{folder / 'report.html'}: the report with plots and links to what failed")
    return sections


def _show(report: Report, sections: Sequence[Section], *, as_json: bool) -> None:
    import msgspec

    from callblocks.evals.report import FAILED
    from callblocks.views.report_sections import section_rows

    if as_json:
        sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")
        return
    paper = Paper()
    # Plots are for the page, and so is the list of what failed.
    shown = [one for one in sections if one.title != FAILED]
    paper.print(section_rows(shown, paper.width))


def _compare(paths: tuple[str, str]) -> None:
    from callblocks.evals.report import compare_sections, read_report
    from callblocks.views.report_sections import section_rows

    one, other = (read_report(path) for path in paths)
    paper = Paper()
    paper.print(section_rows(compare_sections(one, other, ("A", "B")), paper.width))


# --- The model and its setups ---


class _Opener:
    """Opens the model for text or for native calls, as the config file says."""

    def __init__(self, spec: str) -> None:
        from callblocks.models.model_config import read_config
        from callblocks.models.open_model import is_endpoint

        self.spec, self.config = spec, read_config()
        entry = self.config.models.get(spec)
        self.entry = entry
        self.address = spec if entry is None else entry.address
        self.is_endpoint = is_endpoint(self.address)

    def __call__(self, setup: Setup) -> Model:
        return self.open("native" if setup.native else "text")

    def open(self, mode: str) -> Model:
        from callblocks.models.model_config import NO_OVERRIDES, Overrides, open_named

        overrides = Overrides(mode=mode) if self.is_endpoint else NO_OVERRIDES  # pyright: ignore[reportArgumentType] one of two
        return open_named(self.spec, self.config, overrides).model


async def _setups(opener: _Opener, options: Mapping[str, Any]) -> list[Setup]:
    from callblocks.dialects import dialect_of
    from callblocks.evals.runner import can_constrain
    from callblocks.evals.trials import Setup
    from callblocks.session.model_choice import is_taught

    model = opener.open("text")
    try:
        form = await _grammar_form(model)
    finally:
        await model.close()
    if options["named"]:
        return list(dict.fromkeys(map(_named_setup, options["named"])))
    family = dialect_of(model.name) or ""
    own = (opener.entry.dialect if opener.entry else "") or (family if is_taught(family) else "")
    named = list(options["dialect"]) or list(dict.fromkeys(filter(None, (own, *_PLAIN))))
    wanted = options["grammar"] or ("both" if form == "gbnf" else "no")
    setups: list[Setup] = []
    for name in named:
        if wanted in ("no", "both"):
            setups.append(Setup(dialect=name))
        if wanted in ("yes", "both") and can_constrain(name):
            setups.append(Setup(dialect=name, grammar=True))
    native = opener.is_endpoint if options["native"] is None else options["native"]
    completes = opener.address.startswith("completion:")
    return setups + ([Setup(native=True)] if native and not completes else [])


def _named_setup(name: str) -> Setup:
    """Return the setup of a name, as reports have it."""
    from callblocks.evals.runner import can_constrain
    from callblocks.evals.trials import Setup
    from callblocks.models.model import NATIVE
    from callblocks.session.model_choice import check_dialect

    dialect, plus, what = (part.strip() for part in name.partition("+"))
    if name.strip() == NATIVE:
        return Setup(native=True)
    if not dialect or (plus and what != "grammar"):
        raise click.UsageError(
            f"no setup {name!r:.60}; one is 'hermes', 'hermes + grammar', native"
        )
    check_dialect(dialect)
    if plus and not can_constrain(dialect):
        raise click.UsageError(f"{dialect} has no grammar")
    return Setup(dialect=dialect, grammar=bool(plus))


async def _grammar_form(model: Model) -> str:
    """Return in which form the model's server takes grammars; "" where it takes none."""
    find = getattr(model, "find_grammar_form", None)
    return str(await find()) if find is not None else str(getattr(model, "grammar_form", "gbnf"))


def _checks(path: str | None) -> dict[str, Check]:
    """Return the functions of a file of checks; the file is run."""
    if path is None:
        return {}
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("callblocks_checks", path)
    if spec is None or spec.loader is None:
        raise Fault(f"{path}: this is no Python file")
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise Fault(f"{path}: {type(error).__name__}: {error}") from error
    found: dict[str, Callable[..., Any]] = vars(module)
    return {name: one for name, one in found.items() if callable(one) and not name.startswith("_")}


def _slug(spec: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", spec).strip("-") or "model"


# --- The winner in the config file ---


def _write_config(opener: _Opener, best: SetupReport | None, setups: Sequence[Setup]) -> None:
    """Set `dialect` or `mode` of the model in the config file; all else in it stays as it is."""
    from callblocks.models.model_config import config_path, parse_config

    if best is None:
        raise Fault("nothing was measured, so nothing is written")
    setup = next(one for one in setups if one.name == best.name)
    values: dict[str, str | bool] = {}
    if opener.is_endpoint:
        values["mode"] = "native" if setup.native else "text"
    if not setup.native:
        values |= {"dialect": setup.dialect, "grammar": setup.grammar}
    path = config_path()
    if path is None:
        raise Fault("there is no place for a config file here; name one in CALLBLOCKS_CONFIG")
    old = path.read_text("utf-8") if path.exists() else ""
    name = opener.spec if opener.entry else _slug(opener.spec).lower()
    made = set_values(old, name, values, "" if opener.entry else opener.spec)
    parse_config(made, str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    fresh.write_text(made, "utf-8")
    fresh.replace(path)
    words = ", ".join(f"{key} = {_written(value)}" for key, value in values.items())
    say(f"{path}: [models.{name}] {words}")


def set_values(text: str, name: str, values: Mapping[str, str | bool], address: str) -> str:
    """Return a config file with values in the table of a model; a new table has the address."""
    lines = text.splitlines()
    header = re.compile(rf'\s*\[models\.(?:{re.escape(name)}|"{re.escape(name)}")\]\s*(?:#.*)?')
    at = next((number for number, line in enumerate(lines) if header.fullmatch(line)), None)
    if at is None:
        if not address:
            raise Fault(
                f"the config file has no table [models.{name}]; set by hand: {dict(values)}"
            )
        lines += ["", f"[models.{name}]", f"address = {_written(address)}"]
        at = len(lines) - 2
    end = next(
        (n for n in range(at + 1, len(lines)) if lines[n].lstrip().startswith("[")), len(lines)
    )
    table = [line for line in lines[at + 1 : end] if line.split("=")[0].strip() not in values]
    while table and not table[-1].strip():
        table.pop()
    table += [f"{key} = {_written(value)}" for key, value in values.items()]
    rest = lines[end:]
    return "\n".join([*lines[: at + 1], *table, *([""] if rest else []), *rest]).lstrip("\n") + "\n"


def _written(value: str | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


# --- How far a run is: a table that changes on a terminal, a line in ten seconds elsewhere ---


class _Live:
    """Counts trials by setup as they end."""

    def __init__(self, total: int, setups: Sequence[str]) -> None:
        self._total, self._done, self._began = total, 0, monotonic()
        self._restored = 0
        self._counts = {name: [0, 0, 0] for name in setups}
        self._live: Any = None
        self._next = monotonic() + 10

    def __enter__(self) -> _Live:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            console = Console(stderr=True, markup=False, highlight=False)
            self._live = Live(console=console, refresh_per_second=4, transient=True)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def restore(self, trial: Trial) -> None:
        """Count a trial of an earlier run: it says nothing about how fast this one is."""
        self._restored += 1
        self._count(trial)

    def _count(self, trial: Trial) -> None:
        self._done += 1
        counts = self._counts[trial.setup]
        counts[0] += trial.state == "right"
        counts[1] += trial.is_measured
        counts[2] += not trial.is_measured

    def tell(self, trial: Trial) -> None:
        """Count a trial that has ended now."""
        self._count(trial)
        if self._live is not None:
            self._live.update(self._table())
        elif monotonic() >= self._next:
            self._next = monotonic() + 10
            say(self._line())

    def _line(self) -> str:
        rate = (self._done - self._restored) / max(monotonic() - self._began, 1e-9)
        left = round((self._total - self._done) / rate)
        words = f"{self._done} of {self._total} trials, {rate:.1f} a second"
        return f"{words}, {left // 60}:{left % 60:02} left"

    def _table(self) -> Any:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        bar = Table.grid(padding=(0, 1))
        bar.add_row(ProgressBar(self._total, self._done, width=30), self._line())
        table = Table()
        for name in ("setup", "right", "measured", "not counted"):
            table.add_column(name, justify="left" if name == "setup" else "right")
        for name, (right, measured, other) in self._counts.items():
            share = f"{right / measured:.0%}" if measured else "-"
            table.add_row(name, share, str(measured), str(other))
        return Group(bar, table)
