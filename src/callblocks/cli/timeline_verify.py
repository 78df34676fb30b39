"""`callblocks timeline verify`: is everything as it was written?"""

from __future__ import annotations

import click

from callblocks.cli.exits import PROBLEMS
from callblocks.cli.paint import Paper
from callblocks.cli.progress import counted
from callblocks.cli.state import ARTIFACTS, state_folder
from callblocks.cli.timeline_store import Readable, existing, open_timelines, store_option
from callblocks.timeline.keeping.artifacts import Artifacts
from callblocks.timeline.keeping.verify_artifacts import verify_artifacts
from callblocks.timeline.stores.store import Store
from callblocks.timeline.stores.verify import Finding, verify
from callblocks.views.timeline.findings import finding_rows
from callblocks.views.timeline.rows import summary_rows

__all__ = ("command",)


@click.command("verify", short_help="Check that nothing was changed or lost.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@store_option
@click.option(
    "--artifacts",
    type=click.Path(exists=True, file_okay=False),
    metavar="FOLDER",
    help="Where the files are that blocks name.  [default: artifacts in the state folder]",
)
def command(names: tuple[str, ...], store: str | None, artifacts: str | None) -> None:
    """Check that nothing was changed or lost: each hash and number, and each file that is named.

    Without a name, all timelines of the store are checked. There is exit code 1 if something is
    wrong with one.
    """
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
            findings = _check(opened, name, count, kept)
            paper.print(finding_rows(name, count, findings, paper.width))
            bad = bad or bool(findings)
    if bad:
        raise click.exceptions.Exit(PROBLEMS)


def _check(store: Store, name: str, count: int, kept: Artifacts) -> list[Finding]:
    findings = verify(store, name)
    entries = Readable(store.entries(name))
    findings += verify_artifacts(counted(entries, count), kept)
    return sorted(findings, key=lambda finding: finding.seq)
