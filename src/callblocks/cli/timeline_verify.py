"""`callblocks timeline verify`: is everything as it was written?"""

from __future__ import annotations

import re
from typing import Any

import click

from callblocks.cli.exits import PROBLEMS
from callblocks.cli.paint import Paper
from callblocks.cli.progress import counted
from callblocks.cli.state import ARTIFACTS, state_folder
from callblocks.cli.timeline_store import Readable, existing, open_timelines, store_option
from callblocks.timeline.keeping.artifacts import Artifacts
from callblocks.timeline.keeping.verify_artifacts import verify_artifacts
from callblocks.timeline.stores.store import Head, Store
from callblocks.timeline.stores.verify import KNOWN_DIGITS, Finding, verify
from callblocks.views.timeline.findings import finding_rows
from callblocks.views.timeline.rows import summary_rows

__all__ = ("command",)

_LAST = re.compile(rf"([0-9]{{1,15}}):([0-9a-f]{{{KNOWN_DIGITS},64}})", re.I | re.A)


class _Last(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] generic only in click 8.4 and later
    """A number and the hash of the block that has it, or how that begins."""

    name = "last"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Head:
        found = _LAST.fullmatch(value)
        if found is None or not int(found[1]):
            words = f"a number, a colon and {KNOWN_DIGITS} to 64 digits of the hash of that block"
            self.fail(f"{value!r} is not {words}", param, ctx)
        return Head(int(found[1]), found[2])


@click.command("verify", short_help="Check that nothing was changed or lost.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@store_option
@click.option(
    "--artifacts",
    type=click.Path(exists=True, file_okay=False),
    metavar="FOLDER",
    help="Where the files are that blocks name.  [default: artifacts in the state folder]",
)
@click.option(
    "--last",
    type=_Last(),
    metavar="SEQ:HASH",
    help="An end that the timeline had once, as `timeline list` shows it: it must still be there.",
)
def command(
    names: tuple[str, ...], store: str | None, artifacts: str | None, last: Head | None
) -> None:
    """Check that nothing was changed or lost: each hash and number, and each file that is named.

    Without a name, all timelines of the store are checked. There is exit code 1 if something is
    wrong with one. That the end was cut off, and the store made to fit, only --last can tell.
    """
    if last is not None and len(names) != 1:
        raise click.UsageError("--last goes with the name of one timeline")
    paper, bad = Paper(), False
    kept = Artifacts(artifacts or state_folder() / ARTIFACTS)
    with open_timelines(store) as opened:
        for name in names:
            existing(opened, name)
        known = names or [one.name for one in opened.names()]
        if not known:
            paper.print(summary_rows([], paper.width))
        for name in known:
            count = opened.head(name).count
            findings = _check(opened, name, kept, last)
            paper.print(finding_rows(name, count, findings, paper.width))
            bad = bad or bool(findings)
    if bad:
        raise click.exceptions.Exit(PROBLEMS)


def _check(store: Store, name: str, kept: Artifacts, last: Head | None) -> list[Finding]:
    findings = verify(store, name, last)
    entries = Readable(store.entries(name))
    findings += verify_artifacts(counted(entries, store.head(name).count), kept)
    return sorted(findings, key=lambda finding: finding.seq)
