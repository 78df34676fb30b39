"""`callblocks timeline export`: a timeline in a file, to be kept, moved or read elsewhere."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import BinaryIO, NamedTuple

import click

from callblocks.cli.exits import PROBLEMS, say
from callblocks.cli.options.state_folder import (
    Readable,
    existing,
    name_argument,
    open_timelines,
    shown_store,
    store_option,
)
from callblocks.cli.terminal.io import FILE, STDIN, open_output
from callblocks.cli.terminal.paint import Paper
from callblocks.core.blocks import Entry
from callblocks.timeline.log.store import Store
from callblocks.timeline.log.transfer import Imported, check_import, import_checked
from callblocks.timeline.log.verify import gap_of, with_gaps
from callblocks.views.rows import Row, visible_line

__all__ = (
    "export_timeline",
    "import_timeline",
)

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
def export_timeline(name: str, store: str | None, form: str, output: str | None) -> None:
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
    """Losses of an export: unreadable blocks, and gaps."""

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
        from callblocks.timeline.log.transfer import export_lines

        yield from export_lines(
            store,
            name,
            lost=lost.damaged.append,
            missing=lambda first, last: lost.missing.append((first, last)),
        )
        return
    from callblocks.views.chat.timeline_chat import shown

    count = store.head(name).count
    entries = Readable(store.entries(name))
    noted = lost.note(with_gaps(entries, count=count))
    items = shown(noted, thoughts=form == "html")
    if form == "html":
        from callblocks.views.html.timeline_page import timeline_html

        page = timeline_html(name, items, count)
    else:
        from callblocks.views.markdown import timeline_markdown

        page = timeline_markdown(name, items)
    for piece in page:
        yield piece.encode("utf-8", "replace")
    entries.check()


# --- `callblocks timeline import`: a timeline that was exported, checked before it is there ---


@click.command("import", short_help="Read a timeline that was exported.")
@click.argument("file", type=FILE)
@store_option
@click.option("--as", "name", metavar="NAME", help="Another name than the one it had.")
def import_timeline(file: str, store: str | None, name: str | None) -> None:
    """Read a timeline that was exported as JSONL, from FILE or - for standard input.

    All of it is checked before anything is written, and a timeline that is there is never
    touched. The hashes hang on the name: with --as the blocks get new ones.
    """
    with _open(file) as stream:
        # A file that is refused leaves no empty store behind.
        checked = check_import(stream, name)
        with open_timelines(store, make=True) as opened:
            imported = import_checked(opened, stream, checked)
    Paper().print(_rows(imported, shown_store(store)))


def _rows(imported: Imported, store: str) -> list[Row]:
    count = imported.head.count
    said = f"imported {imported.name}: {count} block{'' if count == 1 else 's'}, into {store}"
    rows: list[Row] = [(("plain", visible_line(said)),)]
    if imported.name != imported.source:
        words = f"its hashes, right under the name {imported.source}, are new under this one"
        rows.append((("mark", "ⓘ "), ("quiet", visible_line(words))))
    return rows


@contextmanager
def _open(path: str) -> Generator[BinaryIO]:
    """A file that can be read twice: a copy of what comes through a pipe."""
    with sys.stdin.buffer if path == STDIN else open(path, "rb") as stream:
        if path != STDIN and stream.seekable():
            yield stream
            return
        with tempfile.TemporaryFile() as copied:
            shutil.copyfileobj(stream, copied)
            copied.seek(0)
            yield copied
