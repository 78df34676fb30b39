"""`callblocks convert`: one dialect in, another out."""

from __future__ import annotations

import sys

import click

from callblocks.cli.dialect_name import AUTO, DIALECT, ONE_DIALECT
from callblocks.cli.exits import EXIT_CODES, Refusal, say
from callblocks.cli.files import FILE
from callblocks.cli.io import STDIN, BadByte, name_of, pieces
from callblocks.cli.progress import progress
from callblocks.cli.reading import NO_LIMIT
from callblocks.cli.tools_file import Tools, tools_option
from callblocks.dialects import dialects
from callblocks.model.errors import Unwritable
from callblocks.model.events import Malformed
from callblocks.parser import parse
from callblocks.parsing.limits import Limits

__all__ = ("command",)


@click.command("convert", short_help="Write a text in another dialect.", epilog=EXIT_CODES)
@click.argument("file", metavar="[FILE]", type=FILE, default=STDIN)
@click.option("--to", "target", type=ONE_DIALECT, required=True, help="The dialect to write.")
@click.option(
    "--from", "source", type=DIALECT, default=AUTO, show_default=True, help="The dialect to read."
)
@tools_option("Tools to bind and order arguments by.")
def command(file: str, target: str, source: str, tools: Tools) -> None:
    """Write a text in another dialect, to standard output.

    FILE is a path, or - for standard input, which is also the default. What the other dialect
    cannot say is named on standard error, and then nothing is written.
    """
    parsed = parse(_read(file), source, tools=tools, limits=Limits(calls=NO_LIMIT))
    try:
        text = dialects[target].write(parsed.items, tools)
        written = text.encode()
    except Unwritable as error:
        raise Refusal(f"{name_of(file)}: {error}") from error
    except UnicodeEncodeError as error:
        raise Refusal(f"{name_of(file)}: half a character cannot be written") from error
    sys.stdout.buffer.write(written)
    broken = [event.code for event in parsed.problems if isinstance(event, Malformed)]
    if broken:
        say(f"{name_of(file)}: {len(broken)} not converted, kept as text: {', '.join(broken)}")


def _read(path: str) -> str:
    text: list[str] = []
    with progress(path) as advance:
        for piece in pieces(path, advance):
            if isinstance(piece, BadByte):
                where = f"byte 0x{piece.value:02x} at offset {piece.offset}"
                raise Refusal(f"{name_of(path)}: {where} is not UTF-8")
            text.append(piece)
    return "".join(text)
