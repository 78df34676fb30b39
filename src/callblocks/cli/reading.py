"""Options of every command that reads a text, and the reading itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, TypedDict, TypeVar

import click

from callblocks.cli.dialect_name import AUTO, DIALECT
from callblocks.cli.io import BadByte, Piece
from callblocks.cli.tools_file import Tools, tools_option
from callblocks.model.events import Event, Problem
from callblocks.parser import Parser
from callblocks.parsing.limits import Limits

__all__ = (
    "Read",
    "ReadingOptions",
    "make_parser",
    "model_option",
    "read",
    "reading_options",
    "reasoning_option",
)

F = TypeVar("F", bound=Callable[..., Any])
Read: TypeAlias = tuple[str, list[Event]]
"""A piece of text, and what it settled."""

NO_LIMIT = 1 << 62


model_option = click.option(
    "--model-hint",
    default="",
    metavar="NAME",
    help="The model that wrote it, as qwen3-coder: auto asks its dialect first.",
)


def _check_markers(
    ctx: click.Context, param: click.Parameter, value: tuple[tuple[str, str], ...]
) -> tuple[tuple[str, str], ...]:
    if not all(marker for pair in value for marker in pair):
        raise click.BadParameter("a marker must not be empty")
    return value


reasoning_option = click.option(
    "--reasoning",
    nargs=2,
    multiple=True,
    metavar="OPEN CLOSE",
    callback=_check_markers,
    help="Markers around what the model thinks, as <think> </think>; may be given again.",
)


class ReadingOptions(TypedDict):
    """What `reading_options` give to a command."""

    dialect: tuple[str, ...]
    tools: Tools
    model_hint: str
    strict: bool
    in_code_fences: bool | None
    reasoning: tuple[tuple[str, str], ...]
    in_reasoning: bool
    max_calls: int
    max_input: int
    max_depth: int


def reading_options(command: F) -> F:
    """Add the options of reading to a command."""
    standard = Limits()
    options = (
        click.option(
            "--dialect",
            "-d",
            multiple=True,
            type=DIALECT,
            default=(AUTO,),
            help="Read this dialect; may be given again.  [default: auto, all of them]",
        ),
        tools_option("Tools to bind and type arguments by."),
        model_option,
        click.option("--strict", is_flag=True, help="Repair nothing: what is broken is no call."),
        click.option(
            "--in-code-fences/--no-in-code-fences",
            default=None,
            help="Whether calls quoted in code fences are calls.  [default: not with auto]",
        ),
        reasoning_option,
        click.option(
            "--in-reasoning",
            is_flag=True,
            help="The text goes on with a thought that the prompt has opened.",
        ),
        _limit("--max-calls", standard.calls, "Calls in a text; 0: any."),
        _limit("--max-input", standard.input_size, "Characters of one call's input; 0: any."),
        _limit("--max-depth", standard.depth, "Nesting of an input; 0: any."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def make_parser(options: ReadingOptions) -> Parser:
    """A parser as the options want it."""
    _check_thought(options)
    limits = Limits(
        calls=options["max_calls"] or NO_LIMIT,
        input_size=options["max_input"] or NO_LIMIT,
        depth=options["max_depth"] or NO_LIMIT,
    )
    return Parser(
        named(options["dialect"]),
        tools=options["tools"],
        model=options["model_hint"],
        strict=options["strict"],
        in_code_fences=options["in_code_fences"],
        reasoning=options["reasoning"],
        in_reasoning=options["in_reasoning"],
        limits=limits,
    )


def _check_thought(options: ReadingOptions) -> None:
    """A thought that the prompt opened must have markers that can end it."""
    from callblocks.dialects import dialects

    names = options["dialect"]
    known = AUTO in names or any(dialects[name].reasoning for name in names)
    if options["in_reasoning"] and not known and not options["reasoning"]:
        raise click.UsageError(
            f"--in-reasoning needs --reasoning OPEN CLOSE: {', '.join(names)} has no markers of it"
        )


def named(dialects: Sequence[str]) -> str | list[str]:
    """What a parser takes for the names that were given."""
    if AUTO not in dialects:
        return list(dict.fromkeys(dialects))
    if len(set(dialects)) > 1:
        raise click.BadParameter("auto stands alone", param_hint="--dialect")
    return AUTO


def read(pieces: Iterable[Piece], parser: Parser) -> Iterator[Read]:
    """Feed pieces to a parser: each with its events, and at last what was waiting.

    Bytes that were not text are a problem with the code `invalid-utf8`, like any other.
    """
    end = 0
    for piece in pieces:
        if isinstance(piece, BadByte):
            detail = f"byte 0x{piece.value:02x} at byte offset {piece.offset} is not UTF-8"
            said = (parser.said, parser.said)
            yield "", [Problem("invalid-utf8", detail, said, (end - 1, end))]
        else:
            end += len(piece)
            yield piece, parser.feed(piece)
    yield "", parser.close()


def _limit(name: str, standard: int, about: str) -> Callable[[F], F]:
    return click.option(
        name,
        default=standard,
        metavar="N",
        callback=_check_limit,
        show_default=True,
        help=about,
    )


def _check_limit(ctx: click.Context, param: click.Parameter, value: int) -> int:
    if value < 0:
        raise click.BadParameter("a limit is not negative; 0 means none")
    return value
