"""`callblocks timeline show`: a timeline as a chat, block by block, or as the model gets it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click
import msgspec

from callblocks.cli.paging import page
from callblocks.cli.paint import Paper
from callblocks.cli.timeline_store import (
    Readable,
    existing,
    name_argument,
    open_timelines,
    store_option,
)
from callblocks.model.blocks import Entry
from callblocks.views.rows import Row
from callblocks.views.timeline.rows import chat_rows, entry_json, entry_rows

__all__ = ("command",)


@click.command("show", short_help="Show a timeline to a person.")
@name_argument
@store_option
@click.option(
    "--view",
    type=click.Choice(("chat", "raw", "model")),
    default="chat",
    show_default=True,
    help="What was said and done; every block; or what the model gets.",
)
@click.option("--after", metavar="N", type=click.IntRange(min=0), default=0, help="Blocks after N.")
@click.option("--turn", metavar="ID", help="Blocks of this turn.")
@click.option(
    "--budget",
    metavar="TOKENS",
    type=click.IntRange(min=1),
    help="The model's view folded to so many tokens.  [default: whole]",
)
@click.option("--expand", is_flag=True, help="Show each call and its result in the chat.")
@click.option("--json", "as_json", is_flag=True, help="One entry or part per line; no chat.")
def command(
    name: str,
    store: str | None,
    view: str,
    after: int,
    turn: str | None,
    budget: int | None,
    expand: bool,
    as_json: bool,
) -> None:
    """Show a timeline: on a terminal in colours, with a pager where it is long."""
    if as_json and view == "chat":
        raise click.UsageError("--json is for --view raw and --view model")
    if view == "model" and (after or turn):
        raise click.UsageError("the model's view is of the whole: no --after, no --turn")
    if budget and view != "model":
        raise click.UsageError("--budget is for --view model")
    with open_timelines(store) as opened:
        existing(opened, name)
        readable = Readable(opened.entries(name, after))
        entries = (one for one in readable if turn is None or one.block.turn_id == turn)
        if as_json:
            sys.stdout.buffer.writelines(_json_lines(entries, view, budget))
        else:
            paper = Paper()
            page(paper, _rows(entries, view, paper, expand, budget))
        readable.check()


def _json_lines(entries: Iterator[Entry], view: str, budget: int | None) -> Iterator[bytes]:
    if view == "raw":
        return map(entry_json, entries)
    from callblocks.views.model_view.view import render

    return (msgspec.json.encode(part) + b"\n" for part in render(entries, budget=budget))


def _rows(
    entries: Iterator[Entry], view: str, paper: Paper, expand: bool, budget: int | None
) -> Iterator[Row]:
    if view == "raw":
        return (row for entry in entries for row in entry_rows(entry, paper.width))
    if view == "model":
        from callblocks.views.model_view.view import render
        from callblocks.views.timeline.parts import part_rows

        return part_rows(render(entries, budget=budget), paper.width if paper.terminal else None)
    from callblocks.views.timeline.chat import shown

    return chat_rows(shown(entries), paper.width, expanded=expand)
