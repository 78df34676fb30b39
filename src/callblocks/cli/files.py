"""The files that a command reads, and what stands above each where there are several."""

from __future__ import annotations

import click

from callblocks.cli.io import STDIN, name_of
from callblocks.views.rows import Row
from callblocks.views.safe import visible_line

__all__ = ("FILE", "file_heading", "files_argument")

FILE = click.Path(exists=True, dir_okay=False, allow_dash=True, readable=True)

files_argument = click.argument("files", metavar="[FILE]...", nargs=-1, type=FILE, default=(STDIN,))
"""Any number of files; standard input where there is none."""


def file_heading(path: str, *, first: bool) -> list[Row]:
    """The name of a file, above what is in it."""
    row: Row = (("quiet", "── "), ("heading", visible_line(name_of(path))))
    return [row, ()] if first else [(), row, ()]
