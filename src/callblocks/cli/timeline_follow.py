"""`callblocks timeline follow`: each block as it is written, by whatever process."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from callblocks.cli.paint import Paper
from callblocks.cli.timeline_store import existing, name_argument, open_timelines, store_option
from callblocks.model.blocks import Entry
from callblocks.timeline.stores.store import Store
from callblocks.views.timeline.rows import entry_json, entry_rows

__all__ = ("command",)

_LATEST = 10


@click.command("follow", short_help="Show each block as it is written.")
@name_argument
@store_option
@click.option(
    "--after",
    metavar="N",
    type=click.IntRange(min=0),
    help="Begin after this block; 0: with the first.  [default: the last ten]",
)
@click.option("--json", "as_json", is_flag=True, help="One entry per line.")
def command(name: str, store: str | None, after: int | None, as_json: bool) -> None:
    """Show each block as it is written, until Ctrl-C."""
    import asyncio

    with open_timelines(store) as opened:
        count = existing(opened, name).count
        begin = max(0, count - _LATEST) if after is None else after
        asyncio.run(_follow(opened, name, begin, _write if as_json else _printer()))


async def _follow(store: Store, name: str, after: int, show: Callable[[Entry], None]) -> None:
    async for entry in store.follow(name, after):
        show(entry)


def _write(entry: Entry) -> None:
    sys.stdout.buffer.write(entry_json(entry))
    sys.stdout.buffer.flush()


def _printer() -> Callable[[Entry], None]:
    paper = Paper()

    def show(entry: Entry) -> None:
        paper.print(entry_rows(entry, paper.width))

    return show
