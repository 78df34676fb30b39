"""`callblocks timeline export`: a timeline in a file, to be kept, moved or read elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

import click

from callblocks.cli.exits import PROBLEMS, say
from callblocks.cli.timeline_store import (
    Readable,
    existing,
    name_argument,
    open_timelines,
    store_option,
)
from callblocks.model.blocks import Entry
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

    The artifacts that blocks name are not part of it: they are files in the state folder. A
    block that cannot be read is left out and named; there is exit code 1 then.
    """
    lost: list[int] = []
    with open_timelines(store) as opened:
        existing(opened, name)
        lines = Readable(_lines(opened, name, form, lost))
        with _output(output) as out:
            out.writelines(lines)
        if lost:
            some = ", ".join(map(str, lost[:_NAMED])) + (" …" if len(lost) > _NAMED else "")
            say(f"damaged_block: left out what cannot be read: {some}")
        lines.check()
    if lost:
        raise click.exceptions.Exit(PROBLEMS)


def _lines(store: Store, name: str, form: str, lost: list[int]) -> Iterator[bytes]:
    if form == "jsonl":
        from callblocks.timeline.stores.export import export_lines

        yield from export_lines(store, name, lost=lost.append)
        return
    from callblocks.views.timeline.chat import shown

    entries = Readable(_noting(store.entries(name), lost))
    items = shown(entries)
    if form == "html":
        from callblocks.views.timeline.html import timeline_html

        page = timeline_html(name, items, store.head(name).count)
    else:
        from callblocks.views.timeline.markdown import timeline_markdown

        page = timeline_markdown(name, items)
    for piece in page:
        yield piece.encode("utf-8", "replace")
    entries.check()


def _noting(entries: Iterable[Entry], lost: list[int]) -> Iterator[Entry]:
    for entry in entries:
        if entry.block.type == "timeline.damaged":
            lost.append(entry.seq)
        yield entry


@contextmanager
def _output(path: str | None) -> Generator[BinaryIO]:
    """Where to write; a file is there when it is whole, and not before."""
    if path is None:
        yield sys.stdout.buffer
        return
    new = f"{path}.{os.getpid()}.new"
    try:
        with open(new, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(new)
        raise
