"""`callblocks timeline list`: the timelines of a store."""

from __future__ import annotations

import sys

import click
import msgspec

from callblocks.cli.paint import Paper
from callblocks.cli.timeline_store import open_timelines, store_option
from callblocks.views.timeline.rows import summary_rows

__all__ = ("command",)


@click.command("list", short_help="List the timelines of a store.")
@store_option
@click.option("--json", "as_json", is_flag=True, help="One timeline per line.")
def command(store: str | None, as_json: bool) -> None:
    """List the timelines of a store: their blocks, and when they were last written."""
    with open_timelines(store) as opened:
        known = opened.names()
    if as_json:
        sys.stdout.buffer.writelines(msgspec.json.encode(one) + b"\n" for one in known)
        return
    paper = Paper()
    paper.print(summary_rows(known, paper.width))
