"""The commands of an operator: `timeline gc`, `timeline backup`, `timeline restore`, `journal`."""

from __future__ import annotations

import os
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import click

from callblocks.cli.exits import EXIT_CODES, PROBLEMS, Fault, say
from callblocks.cli.options.state_folder import (
    ARTIFACTS,
    JOURNAL,
    artifacts_option,
    open_timelines,
    state_folder,
    store_option,
)
from callblocks.cli.terminal.paint import Paper
from callblocks.core.call_text import show_call
from callblocks.runtime.journal import Journal, JournalEntry
from callblocks.timeline.artifacts.artifacts import ArtifactStore
from callblocks.timeline.artifacts.bucket_artifacts import open_artifacts
from callblocks.timeline.log.upkeep import Backup, back_up, collect_garbage, restore
from callblocks.views.rows import Kind, Row, visible_line, wrap

__all__ = (
    "backup_timelines",
    "collect_artifacts",
    "command",
    "restore_timelines",
)

_HOUR = 3600.0


@click.command("gc", short_help="Remove kept files that no timeline names.")
@click.option(
    "--store",
    "stores",
    metavar="FILE|URL",
    multiple=True,
    help="Where timelines are that name these files; again for each further store.  [default:"
    " that of CALLBLOCKS_STORE, or timelines.sqlite in the state folder]",
)
@artifacts_option
@click.option(
    "--grace",
    metavar="HOURS",
    type=click.FloatRange(min=2),
    default=24.0,
    show_default=True,
    help="Leave what was kept since, and delete what lay so long in the trash. No call may take"
    " longer.",
)
@click.option("--dry-run", is_flag=True, help="Count, and change nothing.")
def collect_artifacts(
    stores: tuple[str, ...], artifacts: str | None, grace: float, dry_run: bool
) -> None:
    """Remove kept files that no timeline names: first to a trash, and in a later run for good.

    Name every store whose timelines name files there. If one of them cannot be read whole, nothing
    is touched.
    """
    named = stores or (os.environ.get("CALLBLOCKS_STORE") or None,)
    with ExitStack() as stack:
        opened = [stack.enter_context(open_timelines(store)) for store in named]
        done = collect_garbage(opened, _kept(artifacts), grace * _HOUR, act=not dry_run)
    click.echo(
        f"{done.named} named, {done.young} too new, {done.buried} to the trash, {done.restored}"
        f" back from there, {done.purged} deleted ({done.freed:,} bytes)"
        f"{'; nothing was changed' if dry_run else ''}"
    )


@click.command("backup", short_help="Copy all timelines and the files that they name.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@store_option
@artifacts_option
def backup_timelines(folder: Path, store: str | None, artifacts: str | None) -> None:
    """Copy all timelines, as they are at one time, and the files that they name, to a new FOLDER.

    Writers go on meanwhile. There is exit code 1 if something could not be read; the rest is there.
    """
    with open_timelines(store) as opened:
        made = back_up(opened, _kept(artifacts), folder, say)
    _tell("copied", made)
    if made.missing or any(one.is_damaged for one in made.timelines):
        raise click.exceptions.Exit(PROBLEMS)


@click.command("restore", short_help="Write a backup into a store that is empty.")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@store_option
@artifacts_option
def restore_timelines(folder: Path, store: str | None, artifacts: str | None) -> None:
    """Write the backup in FOLDER into a store that has none of its timelines.

    All of it is verified before anything is written. A restore that was interrupted goes on.
    """
    with open_timelines(store, make=True) as opened:
        made = restore(opened, _kept(artifacts), folder)
    _tell("restored", made)
    left = [one.name for one in made.timelines if one.is_damaged]
    if left:
        say(f"left out what was damaged: {', '.join(left)}; timeline export shows what can be read")
        raise click.exceptions.Exit(PROBLEMS)


def _kept(artifacts: str | None) -> ArtifactStore:
    return open_artifacts(artifacts or state_folder() / ARTIFACTS)


def _tell(did: str, backup: Backup) -> None:
    blocks = sum(one.count for one in backup.timelines)
    click.echo(
        f"{did} {len(backup.timelines)} timelines with {blocks:,} blocks, and"
        f" {len(backup.artifacts):,} files"
    )


# --- `callblocks journal`: the changes that calls made, and those nobody knows the end of ---

_STATES: dict[str, Kind] = {
    "running": "mark",
    "indeterminate": "error",
    "done": "code",
    "failed": "warning",
}


@click.command(
    "journal", short_help="Show the changes that calls made or left open.", epilog=EXIT_CODES
)
@click.option("--limit", default=20, show_default=True, help="How many of the latest.")
@click.option("--settle", metavar="KEY", help="Drop an entry whose end nobody knows.")
def command(limit: int, settle: str | None) -> None:
    """Show the changes that calls made, newest first.

    A change is written down before it is made. One that is indeterminate was begun by a program
    that died: look whether it happened, then drop it with --settle. There is exit code 1 as long
    as there is one.
    """
    journal = Journal(state_folder() / JOURNAL)
    try:
        if settle is not None and not journal.forget(settle):
            raise Fault(f"no single indeterminate entry starts with {settle!r}")
        entries, open_ones = journal.entries(_within(limit)), journal.indeterminate()
    finally:
        journal.close()
    paper = Paper()
    if settle is not None:
        paper.print([(("quiet", f"settled {visible_line(settle)}"),)])
    elif not entries and limit > 0:
        paper.print([(("quiet", "No call has changed anything."),)])
    for entry in entries:
        paper.print(_rows(entry, paper.width))
    if open_ones:
        raise click.exceptions.Exit(PROBLEMS)


def _within(limit: int) -> int:
    """A number that the journal can count to."""
    return min(max(limit, 0), 1_000_000)


def _rows(entry: JournalEntry, width: int) -> list[Row]:
    state = _state(entry)
    when = datetime.fromtimestamp(entry.began).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    line = visible_line(show_call(entry.intent.tool, entry.intent.input)[0])
    head: Row = (
        ("quiet", f"{entry.intent.key[:12]}  {when}  "),
        (_STATES[state], f"{state:<14}"),
        ("plain", line),
    )
    return wrap(head, width, (("plain", " " * 35),))


def _state(entry: JournalEntry) -> str:
    if entry.outcome is None:
        return entry.state
    return "done" if entry.outcome.ok else "failed"
