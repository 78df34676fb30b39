"""`callblocks timeline show`: a timeline as a chat, block by block, or as the model gets it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

import click
import msgspec

from callblocks.cli.exits import Refusal, say
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
from callblocks.timeline.stores.gaps import with_gaps
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
    """Show a timeline: on a terminal in colours, with a pager where it is long.

    Where nothing is to be shown, one line on standard error says so; a turn that the timeline does
    not have is exit code 1.
    """
    if as_json and view == "chat":
        raise click.UsageError("--json is for --view raw and --view model")
    if view == "model" and (after or turn):
        raise click.UsageError("the model's view is of the whole: no --after, no --turn")
    if budget and view != "model":
        raise click.UsageError("--budget is for --view model")
    with open_timelines(store) as opened:
        count = existing(opened, name).count
        readable = Readable(opened.entries(name, after))
        entries = _Seen(with_gaps(readable, after, count), turn)
        if as_json:
            sys.stdout.buffer.writelines(_json_lines(iter(entries), view, budget))
        else:
            paper = Paper()
            page(paper, entries.drawn(_rows(iter(entries), view, paper, expand, budget)))
        readable.check()
    if turn is not None and not entries.any:
        raise Refusal(f"{name} has no block of {turn}{f' after {after}' if after else ''}")
    if not entries.any:
        say(f"{name} ends with block {count}: there is none after {after}")
    elif not (as_json or entries.shown):
        say("nothing of it is to be read here; --view raw shows every block")


class _Seen:
    """The entries of a turn, or of all, with whether there was `any`, and something was `shown`."""

    def __init__(self, entries: Iterable[Entry], turn: str | None) -> None:
        self.any = False
        self.shown = False
        self._entries = entries
        self._turn = turn

    def __iter__(self) -> Iterator[Entry]:
        for entry in self._entries:
            mine = self._turn in (None, entry.block.turn_id)
            self.any |= mine
            # Nobody knows of which turn a block was that cannot be read.
            if mine or entry.block.type == "timeline.damaged":
                yield entry

    def drawn(self, rows: Iterator[Row]) -> Iterator[Row]:
        """The rows as they pass."""
        for row in rows:
            self.shown = True
            yield row


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
