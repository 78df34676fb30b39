"""`callblocks audit` and `stats`, and `convert` over many files: corpora in, tables out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

import click

from callblocks.cli.exits import EXIT_CODES, PROBLEMS, Fault, say
from callblocks.cli.options.read_options import (
    AUTO,
    DIALECT,
    ONE_DIALECT,
    model_option,
    named,
    reasoning_option,
)
from callblocks.cli.options.tool_setup import Tools, every_tool, open_workspace, tools_option
from callblocks.cli.terminal.paint import Paper
from callblocks.views.report_sections import Section, report_page, section_rows

if TYPE_CHECKING:
    from callblocks.bulk.execute import Done, Progress
    from callblocks.bulk.work import BulkJob, ToolNote

__all__ = ("BulkOptions", "audit", "bulk_options", "convert_corpus", "stats")

F = TypeVar("F", bound=Callable[..., Any])


class BulkOptions(TypedDict):
    """Values that `bulk_options` pass to a command."""

    jobs: int | None
    cluster: str
    field: str
    form: str | None
    part: int
    fresh: bool


def bulk_options(command: F) -> F:
    """Add the options of work on many files."""
    options = (
        click.option(
            "--jobs",
            "-j",
            type=click.IntRange(1, 1024),
            metavar="N",
            help="Processes for many files.  [default: one for each core]",
        ),
        click.option(
            "--cluster",
            default="",
            metavar="URL",
            help="Do it on the workers of this Dask scheduler, as tcp://host:8786.",
        ),
        click.option(
            "--field",
            default="",
            metavar="PATH",
            help="Where a record has its texts, as messages[].content.  [default: found out]",
        ),
        click.option(
            "--format",
            "form",
            type=click.Choice(("jsonl", "parquet", "text")),
            help="What the files are.  [default: by their names]",
        ),
        click.option(
            "--part",
            type=click.IntRange(min=1 << 10),
            default=16 << 20,
            show_default=True,
            metavar="BYTES",
            help="What a process takes of a file at once.",
        ),
        click.option("--fresh", is_flag=True, help="Forget what an earlier run left in OUT."),
    )
    for option in reversed(options):
        command = option(command)
    return command


_corpus = click.argument("paths", metavar="IN... OUT", nargs=-1)
_dialect = click.option(
    "--dialect",
    "-d",
    multiple=True,
    type=DIALECT,
    default=(AUTO,),
    help="Read this dialect; may be given again.  [default: auto, all of them]",
)
_tools = tools_option("Tools that were declared to the model.")


@click.command(
    "audit", short_help="Count the calls and problems of many transcripts.", epilog=EXIT_CODES
)
@_corpus
@_dialect
@_tools
@click.option(
    "--policy",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Count what this policy says of each call.",
)
@model_option
@reasoning_option
@bulk_options
def audit(
    paths: tuple[str, ...],
    dialect: tuple[str, ...],
    tools: Tools,
    policy: str | None,
    model_hint: str,
    reasoning: tuple[tuple[str, str], ...],
    **options: Unpack[BulkOptions],
) -> None:
    """Count which dialects, calls, problems, repairs and unknown tools a corpus holds.

    IN is a file of JSON lines, Parquet or text, a folder of them, or an s3:// address. OUT is a
    folder or an s3:// address: it gets audit.json and audit.html, and what a run that was killed
    has done, so that the next one goes on from there.
    """
    from callblocks.bulk.corpus_report import audit_sections

    notes = _notes(tools, with_ours=policy is not None)
    job = _job(dialect, model_hint, reasoning, notes, options, policy=policy)
    done = _run(paths, job, options, writes=False)
    _report("audit", paths, done, audit_sections(done.tally))


@click.command(
    "stats", short_help="Say what callblocks would have saved in logs.", epilog=EXIT_CODES
)
@_corpus
@_dialect
@_tools
@click.option(
    "--expected",
    type=ONE_DIALECT,
    help="The dialect that the program reads now.  [default: the one that reads most]",
)
@click.option(
    "--price",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="N",
    help="What a million tokens of output cost.",
)
@model_option
@reasoning_option
@bulk_options
def stats(
    paths: tuple[str, ...],
    dialect: tuple[str, ...],
    tools: Tools,
    expected: str | None,
    price: float,
    model_hint: str,
    reasoning: tuple[tuple[str, str], ...],
    **options: Unpack[BulkOptions],
) -> None:
    """Say what callblocks would have saved in these logs.

    It compares the calls that callblocks reads with those that a strict reader of one dialect
    gets: the calls that are repaired, those in another dialect, the texts that had to be written
    again, and the tokens of these. IN and OUT are as for `audit`.
    """
    from callblocks.bulk.corpus_report import stats_sections
    from callblocks.bulk.tally import saved

    job = _job(dialect, model_hint, reasoning, _notes(tools), options)
    done = _run(paths, job, options, writes=False)
    counted = saved(done.tally, expected or "")
    sections = stats_sections(done.tally, expected or "", price)
    _report("stats", paths, done, sections, saved=counted)


def convert_corpus(
    paths: tuple[str, ...],
    target: str,
    source: str,
    keep: bool,
    tools: Tools,
    model: str,
    reasoning: tuple[tuple[str, str], ...],
    options: BulkOptions,
) -> None:
    """Write the files of a corpus in another dialect, into the last of the paths."""
    from callblocks.bulk.corpus_report import convert_sections

    notes = _notes(tools)
    job = _job((source,), model, reasoning, notes, options, target=target, keep=keep)
    done = _run(paths, job, options, writes=True)
    _report("convert", paths, done, convert_sections(done), page=False)
    if done.tally.kept or done.tally.faulty:
        raise click.exceptions.Exit(PROBLEMS)


def _job(
    dialect: Sequence[str],
    model: str,
    reasoning: tuple[tuple[str, str], ...],
    tools: tuple[ToolNote, ...],
    options: BulkOptions,
    *,
    policy: str | None = None,
    target: str = "",
    keep: bool = False,
) -> BulkJob:
    from callblocks.bulk.records import check_field
    from callblocks.bulk.work import BulkJob
    from callblocks.core.errors import BadPolicy
    from callblocks.policy.policy import read_policy

    rules, source = "", named(dialect)
    if policy is not None:
        try:
            read_policy(policy)
        except BadPolicy as error:
            raise Fault(str(error)) from error
        with open(policy, encoding="utf-8") as file:
            rules = file.read()
    return BulkJob(
        target=target,
        source=(source,) if isinstance(source, str) else tuple(source),
        model=model,
        reasoning=reasoning,
        tools=tools,
        keep=keep,
        field=check_field(options["field"]),
        policy=rules,
    )


def _notes(tools: Tools, *, with_ours: bool = False) -> tuple[ToolNote, ...]:
    """Return what workers have to know of the tools; `with_ours` adds those that come with us."""
    from callblocks.bulk.work import ToolNote
    from callblocks.tools.registry import Registry

    if with_ours:
        with open_workspace(".") as root:
            known = every_tool(tools, root).tools
    else:
        known = tools.tools if isinstance(tools, Registry) else ()
    return tuple(ToolNote(tool.spec, tool.traits, tool.needs_approval) for tool in known)


def _run(paths: tuple[str, ...], job: BulkJob, options: BulkOptions, *, writes: bool) -> Done:
    import msgspec

    from callblocks.bulk.execute import default_jobs, run_plan
    from callblocks.bulk.records import make_plan

    if len(paths) < 2:
        raise click.UsageError("name what to read, and then the place for what is made of it")
    coded, out = msgspec.json.encode(job), paths[-1]  # parameters keep their order
    plan = make_plan(paths[:-1], coded, form=options["form"], part=options["part"])  # pyright: ignore[reportArgumentType] a choice of click
    bar = _ProgressLine(len(plan.sources))
    jobs = options["jobs"] or default_jobs()
    try:
        done = run_plan(
            plan,
            coded,
            out,
            writes=writes,
            jobs=jobs,
            cluster=options["cluster"],
            fresh=options["fresh"],
            tell=bar.tell,
        )
    finally:
        bar.end()
    if done.taken_over:
        say(f"{done.taken_over} of {sum(map(len, plan.units))} parts were done by an earlier run")
    return done


def _report(
    name: str,
    paths: tuple[str, ...],
    done: Done,
    sections: Sequence[Section],
    *,
    page: bool = True,
    **more: object,
) -> None:
    """Print a report, and leave it in the output place; exit with 1 where a part has failed."""
    import msgspec

    from callblocks.bulk.corpus_report import as_json
    from callblocks.bulk.storage import open_storage

    out = open_storage(paths[-1])
    values = {key: msgspec.to_builtins(value) for key, value in more.items()}
    out.write(f"{name}.json", as_json(done, **values))
    if page:
        html = report_page(f"callblocks {name}", ", ".join(paths[:-1]), sections)
        out.write(f"{name}.html", html.encode())
    paper = Paper()
    paper.print(section_rows(sections, paper.width))
    for part, why in done.failed.items():
        say(f"{part}: {why}")
    if done.failed:
        say("run it again: what is done stays done")
        raise click.exceptions.Exit(PROBLEMS)


class _ProgressLine:
    """How far a run is, on standard error: a line that changes, or one in ten seconds in a log."""

    def __init__(self, files: int) -> None:
        self._files = files
        self._on_terminal = sys.stderr.isatty()
        self._next = monotonic() + (0.0 if self._on_terminal else 10.0)
        self._shown = False

    def tell(self, progress: Progress) -> None:
        if monotonic() < self._next:
            return
        self._next = monotonic() + (0.2 if self._on_terminal else 10.0)
        words = progress_words(progress)
        if self._on_terminal:
            sys.stderr.write(f"\r\x1b[K{words}")
            sys.stderr.flush()
            self._shown = True
        else:
            say(words)

    def end(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def progress_words(progress: Progress) -> str:
    """Return how much is done, how fast, and how long the rest takes."""
    share = progress.done / progress.total if progress.total else 1.0
    words = f"{share:4.0%}  {progress.done / 1e6:,.0f} of {progress.total / 1e6:,.0f} MB"
    words += f"  {progress.rate / 1e6:,.1f} MB/s"
    if progress.left is None:
        return words
    minutes, seconds = divmod(round(progress.left), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{words}  {f'{hours} h ' if hours else ''}{minutes}:{seconds:02} left"
