"""`callblocks timeline import`: a timeline that was exported, checked before it is there."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from typing import BinaryIO

import click

from callblocks.cli.files import FILE
from callblocks.cli.io import STDIN
from callblocks.cli.paint import Paper
from callblocks.cli.timeline_store import open_timelines, shown_store, store_option
from callblocks.timeline.stores.importing import Imported, check_import, import_checked
from callblocks.views.rows import Row
from callblocks.views.safe import visible_line

__all__ = ("command",)


@click.command("import", short_help="Read a timeline that was exported.")
@click.argument("file", type=FILE)
@store_option
@click.option("--as", "name", metavar="NAME", help="Another name than the one it had.")
def command(file: str, store: str | None, name: str | None) -> None:
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
