"""`callblocks dialects`: the table of them, or all about one.

Dialects for people: a table of what each can do, and all about one of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict, get_args

import click
import msgspec

from callblocks.cli.exits import EXIT_CODES, Refusal
from callblocks.cli.options.read_options import ONE_DIALECT
from callblocks.cli.options.tool_setup import SAMPLE_TOOLS, Tools, tools_option
from callblocks.cli.terminal.paint import Paper
from callblocks.core.calls import Call, Result
from callblocks.core.errors import CallerError, UnknownTool, Unsupported, Unwritable
from callblocks.core.specs import ToolSpec
from callblocks.dialects import FAMILIES, aliases_of, dialects, groups_of
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.grammar.grammar import Calls, Kind
from callblocks.parsing.teaching import example_items
from callblocks.views.rows import Bit, Row, visible, visible_line, wrap

__all__ = (
    "GRAMMARS",
    "PARTS",
    "abilities",
    "about",
    "command",
    "known_as",
    "part_of",
    "record",
    "table",
)

_Part = Callable[[Dialect, Sequence[ToolSpec]], str]
_PARTS: Mapping[str, _Part] = {
    "syntax": lambda dialect, tools: dialect.syntax,
    "example": lambda dialect, tools: dialect.example(tools),
    "prompt": lambda dialect, tools: dialect.teach(tools),
}
GRAMMARS: tuple[Kind, ...] = get_args(Kind)
"""The parts that are grammars."""
PARTS = (*_PARTS, *GRAMMARS)
"""What can be printed of a dialect."""
_TITLES = {
    "syntax": "Syntax",
    "example": "Example",
    "prompt": "Prompt",
    "gbnf": "Grammar, GBNF",
    "lark": "Grammar, Lark",
}
_DIALECT_GAP = 2


def part_of(
    dialect: Dialect,
    part: str,
    tools: Sequence[ToolSpec],
    *,
    calls: Calls | None = None,
    tool: str | None = None,
) -> str:
    """One part as it is; raises where the dialect has no such thing.

    `calls` and `tool` are what a grammar demands.
    """
    for kind in GRAMMARS:
        if part == kind:
            return dialect.grammar(tools, kind, calls=calls, tool=tool)
    return _PARTS[part](dialect, tools)


def abilities(dialect: Dialect, tools: Sequence[ToolSpec]) -> dict[str, bool]:
    """Return the abilities of a dialect, found by trying each with some tools."""
    call = next(item for item in example_items(tools) if isinstance(item, Call))
    answered = [call, Result(id=call.id, output="some text")]
    return {
        "auto": dialect.in_auto,
        "reads": True,
        "writes": _works(lambda: dialect.write([call], tools)),
        "teaches": _works(lambda: dialect.teach(tools)),
        "constrains": _works(lambda: dialect.grammar(tools, "gbnf")),
        "results": _works(lambda: dialect.write(answered, tools)),
        "ids": dialect.keeps_ids,
    }


def table(dialects: Iterable[Dialect], tools: Sequence[ToolSpec]) -> list[Row]:
    """One dialect after the other: its name, what it can do, and what it looks like."""
    known = {dialect: abilities(dialect, tools) for dialect in dialects}
    heads = list(next(iter(known.values())))
    first = max(len(dialect.name) for dialect in known) + _DIALECT_GAP
    rows: list[Row] = [(("quiet", " " * first + "  ".join(heads)),)]
    for dialect, can in known.items():
        marks: list[Bit] = [
            ("mark" if can[head] else "quiet", f"{'✓' if can[head] else '·':^{len(head)}}  ")
            for head in heads
        ]
        rows.append((("strong", dialect.name.ljust(first)), *marks))
        rows.append((("plain", "  "), ("quiet", dialect.summary)))
        if names := known_as(dialect):
            rows.append((("plain", "  "), ("quiet", names)))
    return rows


def known_as(dialect: Dialect) -> str:
    """Its other names, those that stand for others too, and the models that write it."""
    said = [
        ("also", aliases_of(dialect.name)),
        ("one of", groups_of(dialect.name)),
        ("of", FAMILIES.get(dialect.name, ())),
    ]
    return "; ".join(f"{word} {', '.join(names)}" for word, names in said if names)


def record(dialect: Dialect, tools: Sequence[ToolSpec]) -> dict[str, Any]:
    """Return the table's row of a dialect as a JSON object."""
    return {
        "name": dialect.name,
        "summary": dialect.summary,
        "aliases": aliases_of(dialect.name),
        "groups": groups_of(dialect.name),
        "families": FAMILIES.get(dialect.name, ()),
        "abilities": abilities(dialect, tools),
    }


def about(
    dialect: Dialect,
    tools: Sequence[ToolSpec],
    width: int,
    *,
    calls: Calls | None = None,
    tool: str | None = None,
) -> list[Row]:
    """All about a dialect, under headings; what it does not have is said."""
    rows: list[Row] = [(("name", dialect.name), ("quiet", f"  {dialect.summary}"))]
    if names := known_as(dialect):
        rows += wrap((("quiet", f"  {names}"),), width, (("plain", "  "),))
    for part, title in _TITLES.items():
        try:
            text = visible(part_of(dialect, part, tools, calls=calls, tool=tool).strip("\n"))
        except CallerError as error:
            rows += _titled_section(title, f"  {visible_line(str(error))}")
            continue
        rows += _titled_section(title)
        for line in text.split("\n"):
            rows += wrap((("plain", f"  {line}"),), width, (("plain", "    "),))
    return rows + _codes(dialect, width)


def _titled_section(title: str, note: str = "") -> list[Row]:
    return [(), (("heading", title), ("quiet", note))]


def _codes(dialect: Dialect, width: int) -> list[Row]:
    if not dialect.codes:
        return []
    first = max(map(len, dialect.codes)) + _DIALECT_GAP
    hang: Row = (("plain", " " * (first + 2)),)
    rows = _titled_section("Problems")
    for code, meaning in dialect.codes.items():
        rows += wrap((("warning", f"  {code.ljust(first)}"), ("plain", meaning)), width, hang)
    return rows


def _works(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except CallerError:
        return False
    return True


@click.command(
    "dialects", short_help="List the dialects, or print all about one.", epilog=EXIT_CODES
)
@click.argument("name", type=ONE_DIALECT, required=False)
@tools_option("Tools to teach and constrain with.", SAMPLE_TOOLS)
@click.option("--part", type=click.Choice(PARTS), help="Print this part alone, as it is.")
@click.option(
    "--calls",
    type=click.Choice(get_args(Calls)),
    help="How many calls a grammar demands; required if a tool is named, else any.",
)
@click.option("--tool", metavar="NAME", help="The only tool that a grammar lets a model call.")
@click.option("--json", "as_json", is_flag=True, help="Names and abilities as JSON.")
def command(
    name: str | None,
    tools: Tools,
    part: str | None,
    calls: Calls | None,
    tool: str | None,
    as_json: bool,
) -> None:
    """List the dialects and what each can do, or print all about one.

    Each has a name, aliases, which servers may have for a parser of it, and families of models
    that write it. All about one is its syntax, an example, the prompt that teaches it to a model,
    and the grammars that hold a model to it. They use a few sample tools where none are given.
    """
    demands = _Demands(calls=calls, tool=tool)
    if (calls or tool) and (name is None or part not in (None, *GRAMMARS)):
        raise click.UsageError(
            "--calls and --tool are for grammars: name a dialect, and no other part"
        )
    if tool is not None and tool not in {known.name for known in tools}:
        raise click.BadParameter(str(UnknownTool(tool, [known.name for known in tools])))
    if as_json:
        if part or calls or tool:
            raise click.UsageError("--json prints names and abilities: no part, and no grammar")
        every = [record(dialects[one], SAMPLE_TOOLS) for one in ([name] if name else dialects)]
        encoded = msgspec.json.format(msgspec.json.encode(every[0] if name else every))
        sys.stdout.buffer.write(encoded + b"\n")
    elif part is not None:
        if name is None:
            raise click.UsageError("--part needs the NAME of a dialect")
        # Bytes, because a prompt or a grammar in a file is UTF-8, whatever the terminal is.
        sys.stdout.buffer.write(_raw(dialects[name], part, tuple(tools), demands).encode())
    elif name is None:
        paper = Paper()
        paper.print(table(dialects.values(), SAMPLE_TOOLS))
    else:
        paper = Paper()
        paper.print(about(dialects[name], tuple(tools), paper.width, **demands))


class _Demands(TypedDict):
    """Constraints of a grammar."""

    calls: Calls | None
    tool: str | None


def _raw(dialect: Dialect, part: str, tools: tuple[ToolSpec, ...], demands: _Demands) -> str:
    try:
        return part_of(dialect, part, tools, **demands).removesuffix("\n") + "\n"
    except (Unsupported, Unwritable) as error:
        raise Refusal(str(error)) from error
