"""`callblocks timeline export`: a timeline in a file, to be kept, moved or read elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import click

from callblocks.cli.exits import PROBLEMS, say
from callblocks.cli.output import open_output
from callblocks.cli.timeline_store import (
    Readable,
    existing,
    name_argument,
    open_timelines,
    store_option,
)
from callblocks.model.blocks import Entry
from callblocks.timeline.stores.gaps import gap_of, with_gaps
from callblocks.timeline.stores.store import Store

__all__ = ("command",)

_NAMED = 10


@click.command("export", short_help="Write a timeline as JSONL, Markdown or HTML.")
@name_argument
@store_option
@click.option(
    "--format",
    "-f",
    "form",
    type=click.Choice(("jsonl", "markdown", "html")),
    default="jsonl",
    show_default=True,
    help="All of it, for `import`; or the chat, to be read.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, writable=True),
    metavar="FILE",
    help="Where to.  [default: standard output]",
)
def command(name: str, store: str | None, form: str, output: str | None) -> None:
    """Write a timeline as JSONL, Markdown or HTML.

    The artifacts that blocks name are not part of it: they are files in the state folder. Blocks
    that cannot be read or are missing are left out and named; there is exit code 1 then.
    """
    lost = _Lost([], [])
    with open_timelines(store) as opened:
        existing(opened, name)
        lines = Readable(_lines(opened, name, form, lost))
        with open_output(output) as out:
            out.writelines(lines)
        for words in lost.told():
            say(words)
        lines.check()
    if lost.damaged or lost.missing:
        raise click.exceptions.Exit(PROBLEMS)


class _Lost(NamedTuple):
    """What cannot be exported: blocks that cannot be read, and gaps."""

    damaged: list[int]
    missing: list[tuple[int, int]]

    def told(self) -> Iterator[str]:
        if self.damaged:
            words = "damaged_block: left out what cannot be read"
            yield f"{words}: {_some(map(str, self.damaged))}"
        if self.missing:
            numbers = (str(a) if a == b else f"{a} to {b}" for a, b in self.missing)
            yield f"chain_broken: these numbers are missing: {_some(numbers)}"

    def note(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Entries as they pass, and what there is to say of them."""
        for entry in entries:
            if gap := gap_of(entry):
                self.missing.append(gap)
            elif entry.block.type == "timeline.damaged":
                self.damaged.append(entry.seq)
            yield entry


def _some(numbers: Iterable[str]) -> str:
    first = list(islice(numbers, _NAMED + 1))
    return ", ".join(first[:_NAMED]) + (" …" if len(first) > _NAMED else "")


def _lines(store: Store, name: str, form: str, lost: _Lost) -> Iterator[bytes]:
    if form == "jsonl":
        from callblocks.timeline.stores.export import export_lines

        yield from export_lines(
            store,
            name,
            lost=lost.damaged.append,
            missing=lambda first, last: lost.missing.append((first, last)),
        )
        return
    from callblocks.views.timeline.chat import shown

    count = store.head(name).count
    entries = Readable(store.entries(name))
    noted = lost.note(with_gaps(entries, count=count))
    items = shown(noted, thoughts=form == "html")
    if form == "html":
        from callblocks.views.timeline.html import timeline_html

        page = timeline_html(name, items, count)
    else:
        from callblocks.views.timeline.markdown import timeline_markdown

        page = timeline_markdown(name, items)
    for piece in page:
        yield piece.encode("utf-8", "replace")
    entries.check()
