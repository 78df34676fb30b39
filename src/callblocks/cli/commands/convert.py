"""`callblocks convert`: one dialect in, another out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Unpack

import click

from callblocks.cli.commands.bulk import BulkOptions, bulk_options, convert_corpus
from callblocks.cli.exits import EXIT_CODES, PROBLEMS, Refusal, say
from callblocks.cli.options.read_options import (
    AUTO,
    DIALECT,
    NO_LIMIT,
    ONE_DIALECT,
    model_option,
    reasoning_option,
)
from callblocks.cli.options.tool_setup import Tools, tools_option
from callblocks.cli.terminal.io import FILE, STDIN, BadByte, name_of, pieces
from callblocks.cli.terminal.paint import progress
from callblocks.core.errors import Unwritable
from callblocks.core.extras import needing
from callblocks.dialects import dialects
from callblocks.parser import parse
from callblocks.parsing.conversion import Unsaid, conversion
from callblocks.parsing.limits import Limits

__all__ = ("command",)


@click.command("convert", short_help="Write a text in another dialect.", epilog=EXIT_CODES)
@click.argument("files", metavar="[FILE] | IN... OUT", nargs=-1)
@click.option("--to", "target", type=ONE_DIALECT, required=True, help="The dialect to write.")
@click.option(
    "--from", "source", type=DIALECT, default=AUTO, show_default=True, help="The dialect to read."
)
@click.option(
    "--keep",
    is_flag=True,
    help="Write the rest all the same: such calls stay as they are, thoughts are left out.",
)
@tools_option("Tools to bind and order arguments by.")
@model_option
@reasoning_option
@bulk_options
@click.pass_context
def command(
    context: click.Context,
    files: tuple[str, ...],
    target: str,
    source: str,
    keep: bool,
    tools: Tools,
    model_hint: str,
    reasoning: tuple[tuple[str, str], ...],
    **options: Unpack[BulkOptions],
) -> None:
    """Write a text in another dialect, to standard output.

    FILE is a path, or - for standard input, which is also the default. Everything that the other
    dialect cannot say is named on standard error, and then nothing is written; with --keep, calls
    stay in the text as they were written, and thoughts are left out.

    With IN and OUT, or with --jobs or --cluster, many texts are written: IN is a file of JSON
    lines, Parquet or text, a folder of them, or an s3:// address, and OUT is a folder or an s3://
    address. A text that cannot be said stays as it was, and is counted in OUT/convert.json. Run
    it again after a crash: it goes on, and the files have the same bytes.
    """
    if len(files) > 1 or options["jobs"] or options["cluster"]:
        with needing("run", "callblocks convert with many files"):
            convert_corpus(files, target, source, keep, tools, model_hint, reasoning, options)
        return
    file = str(FILE.convert(files[0] if files else STDIN, None, context))
    text, limits = _read(file), Limits(calls=NO_LIMIT)
    parsed = parse(text, source, tools=tools, model=model_hint, reasoning=reasoning, limits=limits)
    made = conversion(parsed, text, dialects[target], tools, reasoning)
    faults = [one.what for one in made.unsaid if one.is_fault]
    for what in faults:
        # The way out is named as in Python: here it is an option.
        say(f"{name_of(file)}: {Unwritable(target, what.replace('`tools`', '--tools'))}")
    if made.text is not None and (keep or not faults):
        _write(file, made.text)
        _tell_kept(file, made.unsaid)
    if faults:
        raise click.exceptions.Exit(PROBLEMS)


def _write(file: str, text: str) -> None:
    try:
        written = text.encode()
    except UnicodeEncodeError as error:
        raise Refusal(f"{name_of(file)}: half a character cannot be written") from error
    sys.stdout.buffer.write(written)


def _tell_kept(file: str, unsaid: Sequence[Unsaid]) -> None:
    """Say what is no call in the new text either, and what else of the calls it does not say."""
    said = (("broken", "not converted, kept as text"), ("id", "of the calls not written"))
    for kind, words in said:
        what = [one.what for one in unsaid if one.kind == kind]
        if what:
            say(f"{name_of(file)}: {len(what)} {words}: {', '.join(what)}")


def _read(path: str) -> str:
    text: list[str] = []
    with progress(path) as advance:
        for piece in pieces(path, advance):
            if isinstance(piece, BadByte):
                where = f"byte 0x{piece.value:02x} at offset {piece.offset}"
                raise Refusal(f"{name_of(path)}: {where} is not UTF-8")
            text.append(piece)
    return "".join(text)
