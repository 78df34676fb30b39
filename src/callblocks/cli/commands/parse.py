"""`callblocks parse`: events as JSON lines, as a listing, or drawn into the text."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Unpack

import click

from callblocks.cli.exits import EXIT_CODES, PROBLEMS
from callblocks.cli.options.read_options import (
    AUTO,
    QuotedCalls,
    Read,
    ReadingOptions,
    make_parser,
    read,
    reading_options,
)
from callblocks.cli.terminal.io import file_heading, files_argument, json_lines, pieces
from callblocks.cli.terminal.paint import Paper, open_screen, progress
from callblocks.core.events import Malformed, Problem
from callblocks.dialects import dialect_of
from callblocks.parser import Parser
from callblocks.parsing.engine.parse_state import Attempt
from callblocks.views.rows import visible_line
from callblocks.views.text.explain import AttemptLog, Explained
from callblocks.views.text.listing import Listing

__all__ = (
    "command",
    "show",
)


@click.command(
    "parse",
    short_help="Find the calls in a text, and what is wrong with them.",
    epilog=EXIT_CODES,
)
@files_argument
@click.option("--json", "as_json", is_flag=True, help="One event per line, as soon as it is known.")
@click.option(
    "--explain",
    is_flag=True,
    help="Draw into the text what was read, by which marker, and every problem at its place. With "
    "--json, add a line for each dialect that was asked to read a marker: what it expected, and "
    "what it found.",
)
@reading_options
def command(
    files: tuple[str, ...], as_json: bool, explain: bool, **options: Unpack[ReadingOptions]
) -> None:
    """Find the calls in a text, and what is wrong with them.

    FILE is a path, or - for standard input, which is also the default. With several files each
    JSON line says first which file it is about.
    """
    paper = None if as_json else Paper()
    found = 0
    for path in files:
        parser = make_parser(options)
        if paper is None:
            writer = _json_writer(path, files, parser if explain else None)
        else:
            view = _explained(parser, options, paper) if explain else Listing(paper.width)
            writer = _rows_writer(path, files, paper, view)
        quoted = QuotedCalls(options)
        with progress(path, quiet=sys.stdout.isatty()) as advance:
            for one in read(pieces(path, advance), parser):
                found += sum(isinstance(event, Malformed | Problem) for event in one[1])
                quoted.feed(one)
                writer(one)
        writer(None)
        quoted.tell()
    if found:
        raise click.exceptions.Exit(PROBLEMS)


_Writer = Callable[[Read | None], None]


def _json_writer(path: str, files: tuple[str, ...], explained: Parser | None) -> _Writer:
    """Write events as they come; with a parser to explain, who was asked to read what, too."""
    name = path if len(files) > 1 else None
    out, attempts = sys.stdout.buffer, list[Attempt]()
    asked = AttemptLog(attempts)
    if explained is not None:
        explained.attempts = attempts

    def write(given: Read | None) -> None:
        if given is not None and given[1]:
            out.write(json_lines(given[1], name))
            groups = asked.groups(given[1][-1].span[1])
            records = [attempt.to_record() for _, _, group in groups for attempt in group]
            out.write(json_lines(records, name))
            out.flush()

    return write


def _explained(parser: Parser, options: ReadingOptions, paper: Paper) -> Explained:
    """A view that also knows who was asked to read what, and who was asked first."""
    parser.attempts = []
    model, first = options["model_hint"], dialect_of(options["model_hint"])
    why = ""
    if model and AUTO in options["dialect"]:
        why = f"{first} was asked first" if first else "no dialect is known"
        why = f"{why} for {visible_line(model)}"
    advice, has_tools = _advice(options), bool(options["tools"])
    return Explained(paper.width, parser.attempts, why, advice, has_tools=has_tools)


def _advice(options: ReadingOptions) -> str:
    """Name the missing options with which `auto` could read a bare call, or return ""."""
    ways = {"--tools": tuple(options["tools"]), "--model-hint": dialect_of(options["model_hint"])}
    missing = [way for way, given in ways.items() if not given]
    if not missing or AUTO not in options["dialect"]:
        return ""
    return f"with {' or '.join(missing)} it could be a call"


def _rows_writer(
    path: str, files: tuple[str, ...], paper: Paper, view: Explained | Listing
) -> _Writer:
    if len(files) > 1:
        paper.print(file_heading(path, first=path == files[0]))

    def write(given: Read | None) -> None:
        paper.print(view.close() if given is None else view.feed(*given))

    return write


# --- `callblocks show`: a text as a chat, live where it comes slowly and a person watches ---


@click.command(
    "show", short_help="Show a text as a chat: prose, and calls with results.", epilog=EXIT_CODES
)
@files_argument
@click.option("--expand", is_flag=True, help="Show each call and its result.")
@reading_options
def show(files: tuple[str, ...], expand: bool, **options: Unpack[ReadingOptions]) -> None:
    """Show a text as a chat: prose, and calls with their results in groups.

    FILE is a path, or - for standard input, which is also the default. On a terminal the chat
    grows while standard input arrives.
    """
    paper = Paper()
    for path in files:
        if len(files) > 1:
            paper.print(file_heading(path, first=path == files[0]))
        with (
            open_screen(path, paper, expanded=expand) as screen,
            progress(path, quiet=paper.terminal) as advance,
        ):
            for _, events in read(pieces(path, advance), make_parser(options)):
                screen.feed(events)
