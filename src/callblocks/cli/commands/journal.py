"""`callblocks journal`: the changes that calls made, and those nobody knows the end of."""

from __future__ import annotations

from datetime import datetime

import click

from callblocks.cli.exits import EXIT_CODES, PROBLEMS, Fault
from callblocks.cli.options.state_folder import JOURNAL, state_folder
from callblocks.cli.terminal.paint import Paper
from callblocks.core.call_text import show_call
from callblocks.runtime.journal import Journal, JournalEntry
from callblocks.views.rows import Kind, Row, visible_line, wrap

__all__ = ("command",)

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
