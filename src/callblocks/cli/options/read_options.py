"""Options of every command that reads a text, and the reading itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, TypedDict, TypeVar, cast

import click
from click.shell_completion import CompletionItem

from callblocks.cli.exits import say
from callblocks.cli.options.tool_setup import Tools, tools_option
from callblocks.cli.terminal.io import BadByte, Piece
from callblocks.core.events import CallReady, Event, Malformed, Problem
from callblocks.parser import Parser
from callblocks.parsing.limits import Limits
from callblocks.views.rows import visible_line
from callblocks.views.text.parsed_text import LONGEST, find_hint

__all__ = (
    "AUTO",
    "DIALECT",
    "MODEL_DIALECT",
    "ONE_DIALECT",
    "QuotedCalls",
    "Read",
    "ReadingOptions",
    "make_parser",
    "model_option",
    "read",
    "reading_options",
    "reasoning_option",
)

# --- The name of a dialect as an argument: checked, and completed by the shell ---

AUTO = "auto"


class DialectName(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] generic only in click 8.4 and later
    """One of the dialects, by any of its names, or `auto` where that is allowed.

    Case, `-`, `_` and `.` do not count in a name. For a `model` it is one that it can be taught.
    """

    name = "name"

    def __init__(self, *, auto: bool, model: bool = False) -> None:
        self._auto = auto
        self._model = model

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from callblocks.dialects import dialects, members_of
        from callblocks.parser import near_dialects

        known = self._known()
        if self._auto and value.lower() == AUTO:
            return AUTO
        members = members_of(value) if value in dialects else ()
        if not members or members[0] not in known:
            near = " or ".join(near_dialects(value, known))
            what = f"no dialect {value!r}{' that models write' if self._model else ''}"
            hint = f"did you mean {near}? " if near else ""
            self.fail(f"{what}; {hint}`callblocks dialects` lists them", param, ctx)
        # A name of several dialects stays as it is, so that all of them are read.
        return members[0] if len(members) == 1 else value

    @property
    def names(self) -> tuple[str, ...]:
        """All that may be given."""
        return tuple(self._known())

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [
            CompletionItem(name, help=about)
            for name, about in self._known().items()
            if name.startswith(incomplete)
        ]

    def _known(self) -> dict[str, str]:
        from callblocks.dialects import dialects

        every = {AUTO: "every dialect that can be told by its markers"} if self._auto else {}
        # What no model can be taught only displays calls.
        known = [one for one in dialects.values() if one.rules or not self._model]
        return every | {dialect.name: dialect.summary for dialect in known}


DIALECT = DialectName(auto=True)
ONE_DIALECT = DialectName(auto=False)
MODEL_DIALECT = DialectName(auto=True, model=True)


# --- Options of every command that reads a text, and the reading itself ---

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
    """Values that `reading_options` pass to a command."""

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
    """Return the parser's `dialect` argument for the names given; `auto` must stand alone."""
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


# --- A hint where a text has calls only where they do not count by default ---
#
# callblocks: 2 calls are quoted in code fences; --in-code-fences reads them
# callblocks: a call of get_weather would be read with --tools


_SHOWN = 3
"""Calls that the hint names."""


class QuotedCalls:
    """Watches a text as it is read; at its end it is looked through again, if no call was found."""

    def __init__(self, options: ReadingOptions) -> None:
        self._options = options
        self._pieces: list[str] = []
        self._room = LONGEST
        self._fences = options["in_code_fences"] is None and AUTO in options["dialect"]
        self._over = not self._fences and bool(options["tools"])

    def feed(self, read: Read) -> None:
        """Take a piece and its events."""
        piece, events = read
        self._room -= len(piece)
        found = any(isinstance(event, CallReady | Malformed | Problem) for event in events)
        self._over = self._over or found or self._room < 0
        if self._over:
            self._pieces.clear()
        else:
            self._pieces.append(piece)

    def tell(self) -> None:
        """Say how many calls are in code fences, or would be read with declared tools."""
        if self._over:
            return
        hint = find_hint(
            "".join(self._pieces),
            has_tools=bool(self._options["tools"]),
            in_fences=not self._fences,
            make=self._parser,
        )
        if hint is None:
            return
        one = len(hint.calls) == 1
        count = "a call" if one else f"{len(hint.calls)} calls"
        if hint.way == "tools":
            called = ", ".join(map(visible_line, dict.fromkeys(hint.calls[:_SHOWN])))
            say(f"{count} of {called} would be read with --tools")
        elif one:
            say("a call is quoted in a code fence; --in-code-fences reads it")
        else:
            say(f"{count} are quoted in code fences; --in-code-fences reads them")

    def _parser(self, **more: Any) -> Parser:
        """Make a parser with other options."""
        options = self._options.copy()
        options.update(cast("ReadingOptions", more))
        return make_parser(options)
