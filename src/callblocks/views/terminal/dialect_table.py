"""Dialects for people: a table of what each can do, and all about one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, get_args

from callblocks.core.calls import Call, Result
from callblocks.core.errors import CallerError
from callblocks.core.specs import ToolSpec
from callblocks.dialects import FAMILIES, aliases_of, groups_of
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.grammar.grammar import Calls, Kind
from callblocks.parsing.teaching import example_items
from callblocks.views.rows import Bit, Row, visible, visible_line, wrap

__all__ = ("GRAMMARS", "PARTS", "abilities", "about", "known_as", "part_of", "record", "table")

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
